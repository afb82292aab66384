//! Reads the answer of a stream of events, a line each. Does not know where lines come from.

use serde_json::Value;

use super::StreamTerms;

/// Text that some services send instead of a last event.
const END: &str = "[DONE]";

/// The answer of a stream as it grows.
#[derive(Debug)]
pub struct StreamReader<'t> {
    answer: Option<String>,
    pieces: String,
    terms: &'t StreamTerms,
}

impl<'t> StreamReader<'t> {
    /// Begins to read a stream.
    pub const fn new(terms: &'t StreamTerms) -> Self {
        Self {
            answer: None,
            pieces: String::new(),
            terms,
        }
    }

    /// Takes one line, without its end; whether it was the last that counts. A line that is no event is passed over.
    pub fn take(&mut self, line: &str) -> bool {
        let Some(event) = line.strip_prefix(&self.terms.line_prefix) else {
            return false;
        };
        let event = event.trim();
        if event == END {
            return true;
        }
        let Ok(Value::Object(event)) = serde_json::from_str(event) else {
            return false;
        };
        let kind = event.get(&self.terms.discriminator_field);
        let kind = kind.and_then(Value::as_str).unwrap_or_default();
        let text = |field: &str| {
            event
                .get(field)
                .filter(|value| !value.is_null())
                .map(|value| match value {
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                })
        };
        if kind == self.terms.done_value {
            self.answer = text(&self.terms.answer_field);
            return true;
        }
        if kind == self.terms.token_value {
            self.pieces.extend(text(&self.terms.token_field));
        }
        false
    }

    /// The answer: what the last event says that it is, else its pieces.
    pub fn finish(self) -> String {
        self.answer.unwrap_or(self.pieces)
    }

    /// Bytes of the answer so far.
    pub fn length(&self) -> usize {
        self.answer.as_ref().map_or(self.pieces.len(), String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(terms: &StreamTerms, lines: &[&str]) -> (String, usize) {
        let mut reader = StreamReader::new(terms);
        let mut lines = lines.iter();
        let taken = lines.by_ref().position(|line| reader.take(line));
        (reader.finish(), taken.map_or(0, |at| at + 1))
    }

    #[test]
    fn pieces_are_the_answer_unless_the_last_event_has_it_whole() {
        let terms = StreamTerms::default();
        let pieces = [
            r#"{"type":"token","content":"a"}"#,
            "",
            "no event",
            r#"{"type":"log","content":"never"}"#,
            r#"{"type":"token","content":"b"}"#,
            r#"{"type":"done"}"#,
            r#"{"type":"token","content":"late"}"#,
        ];
        assert_eq!(read(&terms, &pieces), ("ab".to_owned(), 6));
        let whole = [
            r#"{"type":"token","content":"a"}"#,
            r#"{"type":"done","answer":"all"}"#,
        ];
        assert_eq!(read(&terms, &whole), ("all".to_owned(), 2));
    }

    #[test]
    fn an_author_names_prefix_and_members() {
        let terms = StreamTerms {
            discriminator_field: "event".to_owned(),
            line_prefix: "data: ".to_owned(),
            token_field: "t".to_owned(),
            token_value: "delta".to_owned(),
            ..StreamTerms::default()
        };
        let lines = [
            r#"{"event":"delta","t":"without prefix"}"#,
            r#"data: {"event":"delta","t":"x"}"#,
            r#"data: {"event":"delta","t":7}"#,
            "data: [DONE]",
            r#"data: {"event":"delta","t":"late"}"#,
        ];
        assert_eq!(read(&terms, &lines), ("x7".to_owned(), 4));
    }
}
