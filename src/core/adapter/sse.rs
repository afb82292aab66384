//! Server-sent events, cut from bytes as they arrive.
//!
//! Our own: what the registries offer adapts an async stream, and this module has no async; it replaces broken UTF-8, where a
//! broken argument text must be rejected and not repaired; and it has no bound on a line. Only what a response to a POST
//! needs is here: no reconnection, no ids.

use crate::message::BOM;

/// The most bytes of one line, and of the data of one event.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// One event that carries data.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// The `data` lines, joined by line feeds; bytes, because nothing promises that they are UTF-8.
    pub data: Vec<u8>,
    /// True if the server named the event `error`.
    pub is_error: bool,
}

/// A line or an event's data passed the splitter's bound.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// Cuts a byte stream into events. The events depend on the bytes only, never on how they were split.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing about the bytes so far"
)]
pub(super) struct SseSplitter {
    after_cr: bool,
    data: Option<Vec<u8>>,
    is_error: bool,
    line: Vec<u8>,
    max_line_bytes: usize,
    past_first_line: bool,
    saw_field: bool,
}

impl SseSplitter {
    /// A splitter that refuses a line, or an event's data, of more than `max_line_bytes`.
    pub(super) const fn new(max_line_bytes: usize) -> Self {
        Self {
            after_cr: false,
            data: None,
            is_error: false,
            line: Vec::new(),
            max_line_bytes,
            past_first_line: false,
            saw_field: false,
        }
    }

    /// Takes bytes off the front of `bytes` until an event is complete; none if `bytes` is used up before.
    ///
    /// After [`LineTooLong`] nothing is taken any more: the caller is done with the stream.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<SseEvent>, LineTooLong> {
        while !bytes.is_empty() {
            if self.after_cr {
                self.after_cr = false;
                if let Some(rest) = bytes.strip_prefix(b"\n") {
                    *bytes = rest;
                    continue;
                }
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + piece.len() > self.max_line_bytes {
                return Err(LineTooLong);
            }
            self.line.extend_from_slice(piece);
            *bytes = rest;
            if let Some((terminator, rest)) = rest.split_first() {
                *bytes = rest;
                self.after_cr = *terminator == b'\r';
                if let Some(event) = self.end_line()? {
                    return Ok(Some(event));
                }
            }
        }
        Ok(None)
    }

    /// The last event of a stream without its closing blank line. Servers leave that line out, and a
    /// connection may have been cut here: the caller distinguishes the two by whether the data is whole.
    pub(super) fn tail(mut self) -> Result<Option<SseEvent>, LineTooLong> {
        let last = self.end_line()?;
        Ok(last.or_else(|| self.dispatch()))
    }

    /// True if any line so far was a comment or a field of the format. Without one, this is no event stream.
    pub(super) fn saw_field(&self) -> bool {
        self.saw_field
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, LineTooLong> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.add_data(value)?,
            b"event" => self.is_error = value == b"error",
            // Servers of the llama.cpp family wrote errors as a separate field.
            b"error" if colon.is_some() => {
                self.is_error = true;
                self.add_data(value)?;
            }
            b"" | b"id" | b"retry" => {}
            _ => return Ok(None),
        }
        self.saw_field = true;
        Ok(None)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), LineTooLong> {
        match &mut self.data {
            Some(data) if data.len() + value.len() >= self.max_line_bytes => {
                return Err(LineTooLong);
            }
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let is_error = std::mem::take(&mut self.is_error);
        self.data.take().map(|data| SseEvent { data, is_error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(pieces: &[&[u8]]) -> Vec<(String, bool)> {
        let mut splitter = SseSplitter::new(MAX_LINE_BYTES);
        let mut events = Vec::new();
        for piece in pieces {
            let mut rest = *piece;
            while let Some(event) = splitter.next(&mut rest).unwrap() {
                events.push(event);
            }
        }
        events.extend(splitter.tail().unwrap());
        events
            .into_iter()
            .map(|event| (String::from_utf8(event.data).unwrap(), event.is_error))
            .collect()
    }

    fn check(text: &str, expect: &[(&str, bool)]) {
        let expect: Vec<_> = expect.iter().map(|(d, e)| ((*d).to_owned(), *e)).collect();
        assert_eq!(split(&[text.as_bytes()]), expect, "{text:?}");
        let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(split(&single), expect, "byte by byte: {text:?}");
    }

    #[test]
    fn every_line_end_cuts_the_same_events() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ": hi|data: a||event: error|data:b||id: 1|retry: 2|data|data:  c||"
                .replace('|', end);
            check(&text, &[("a", false), ("b", true), ("\n c", false)]);
        }
    }

    #[test]
    fn a_byte_order_mark_and_foreign_lines_are_no_data() {
        check("\u{feff}data: a\n\n", &[("a", false)]);
        check(" data: a\n\nhello: data\n\ndatax: b\n\n", &[]);
    }

    #[test]
    fn everything_before_the_end_of_the_stream_counts() {
        check("data: a", &[("a", false)]);
        check("data: a\n", &[("a", false)]);
        check("data: a\nevent: err", &[("a", false)]);
        check("error: {}\n\n", &[("{}", true)]);
        check("event: error\n\ndata: a\n\n", &[("a", false)]);
    }

    #[test]
    fn a_line_beyond_the_bound_is_refused_before_it_is_kept() {
        let long = vec![b'x'; MAX_LINE_BYTES + 1];
        let mut splitter = SseSplitter::new(MAX_LINE_BYTES);
        assert_eq!(splitter.next(&mut long.as_slice()), Err(LineTooLong));
        let half = format!("data: {}\n", "y".repeat(MAX_LINE_BYTES / 2));
        let mut splitter = SseSplitter::new(MAX_LINE_BYTES);
        assert_eq!(splitter.next(&mut half.as_bytes()), Ok(None));
        assert_eq!(splitter.next(&mut half.as_bytes()), Err(LineTooLong));
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_the_split(
            text in "(data:? ?[ab:]{0,3}|event: error|: c|\\r|\\n|\\r\\n|\u{feff}){0,24}",
            cuts in proptest::collection::vec(0_usize..200, 0..6),
        ) {
            let mut rest = text.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(split(&pieces), split(&[text.as_bytes()]));
        }
    }
}
