//! The strings of an answer joined: a stream brings a text in pieces, and so may split a secret. Does not know secrets.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Maximum number of strings in a broken-off line that are matched with earlier text.
const MOST_LOOSE: usize = 64;

/// The strings at each place of an answer's JSON, one after the other over all lines, events and list items. Where the last line
/// broke off, each of its strings continues each place once more.
pub(super) fn joined(raw: &[u8]) -> Vec<String> {
    let mut by_pointer = BTreeMap::new();
    let mut broken = None;
    if let Some(strings) = strings(raw) {
        add(&mut by_pointer, strings);
    } else {
        for line in raw.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            let line = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii();
            if line.is_empty() {
                continue;
            }
            broken = match strings(line) {
                Some(strings) => {
                    add(&mut by_pointer, strings);
                    None
                }
                None => Some(line),
            };
        }
    }
    let literal_texts = broken.map(literals).unwrap_or_default();
    let mut joined: Vec<String> = Vec::new();
    for text in by_pointer.into_values() {
        joined.extend(
            literal_texts
                .iter()
                .map(|literal| format!("{}{literal}", tail(&text))),
        );
        joined.push(text);
    }
    joined.extend(literal_texts);
    joined
}

fn add(by_pointer: &mut BTreeMap<String, String>, strings: Vec<(String, String)>) {
    for (pointer, text) in strings {
        by_pointer.entry(pointer).or_default().push_str(&text);
    }
}

/// The strings of one JSON document, each with its place; none if it is none. No value is built of it: every key is a key, a
/// second of its name too, and one that `serde_json` keeps for itself.
fn strings(document: &[u8]) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(document);
    let gather = StringCollector {
        pointer: &mut String::new(),
        found: &mut found,
    };
    gather.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(found)
}

/// Notes every string below `pointer`; the items of a list share a place.
struct StringCollector<'g> {
    pointer: &'g mut String,
    found: &'g mut Vec<(String, String)>,
}

impl<'de> DeserializeSeed<'de> for StringCollector<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StringCollector<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.found.push((self.pointer.clone(), text.to_owned()));
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { pointer, found } = self;
        while items
            .next_element_seed(StringCollector { pointer, found })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { pointer, found } = self;
        while let Some(key) = members.next_key::<String>()? {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(&key);
            members.next_value_seed(StringCollector { pointer, found })?;
            pointer.truncate(length);
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

/// The strings of a line that is no JSON, the last one as far as it goes.
fn literals(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    let mut found = Vec::new();
    let (mut open, mut escaped) = (None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (open, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                found.push(read(text.get(start..at).unwrap_or_default()));
                open = None;
            }
            (None, b'"') => open = Some(at + 1),
            _ => {}
        }
    }
    found.extend(open.and_then(|start| text.get(start..)).map(read));
    let skipped = found.len().saturating_sub(MOST_LOOSE);
    found.split_off(skipped)
}

fn read(literal: &str) -> String {
    serde_json::from_str(&format!("\"{literal}\"")).unwrap_or_else(|_| literal.to_owned())
}

/// The end of a text, longer than a secret is.
fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(16 << 10);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_text_are_one_text() {
        fn check(raw: &str, expect: &str) {
            let joined = joined(raw.as_bytes());
            assert!(
                joined.iter().any(|text| text.contains(expect)),
                "{joined:?}"
            );
        }
        check(
            "data: {\"d\":{\"c\":\"se\"}}\r\n\r\ndata: {\"d\":{\"c\":\"cret\"}}\n\n",
            "secret",
        );
        check("{\"m\":\"se\"}\n{\"m\":\"cret\"}\n", "secret");
        // A key that occurs twice, and one that a parser reserves.
        check("{\"m\":\"secret\",\"m\":\"\"}", "secret");
        check(
            "{\"m\":\"se\"}\n{\"m\":{\"$serde_json::private::RawValue\":\"1 secret\"}}\n",
            "1 secret",
        );
        check(
            "{\"m\":{\"$serde_json::private::RawValue\":\"\\\"sec\\\\u0072et\\\"\"}}",
            "sec\\u0072et",
        );
        check(
            "[{\"p\":[{\"t\":\"se\"}]},{\"p\":[{\"t\":\"cr\\u0065t\"}]}]",
            "secret",
        );
        check("data: {\"c\":\"se\"}\n\ndata: {\"c\":\"cre", "secre");
        check(
            "data: {\"c\":\"se\"}\n\ndata: {\"c\":\"cr\\\"et\",\"i\":",
            "secr\"et",
        );
        check(
            "data: {\"c\":\"se\"}\n\ndata: {\"c\":\"cret\"}\n\ndata: [DONE]\n",
            "secret",
        );
        check("{\"c\":\"half a docu", "half a docu");
    }
}
