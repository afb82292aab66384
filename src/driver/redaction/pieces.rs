//! What the strings of an answer say together: a stream brings a text in pieces, and a secret with it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Strings of a line that broke off which are held against what came before.
const MOST_LOOSE: usize = 64;

/// The strings at each place of an answer's JSON, one after the other over all lines, events and list items. Where the last line
/// broke off, each of its strings continues each place once more.
pub(super) fn joined(raw: &[u8]) -> Vec<String> {
    let mut places = BTreeMap::new();
    let mut broken = None;
    if let Ok(document) = serde_json::from_slice::<Value>(raw) {
        gather(&document, &mut String::new(), &mut places);
    } else {
        for line in raw.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            let line = line.strip_prefix(b"data:").unwrap_or(line).trim_ascii();
            if line.is_empty() {
                continue;
            }
            broken = match serde_json::from_slice::<Value>(line) {
                Ok(document) => {
                    gather(&document, &mut String::new(), &mut places);
                    None
                }
                Err(_) => Some(line),
            };
        }
    }
    let loose = broken.map(literals).unwrap_or_default();
    let mut joined: Vec<String> = Vec::new();
    for text in places.into_values() {
        joined.extend(
            loose
                .iter()
                .map(|literal| format!("{}{literal}", tail(&text))),
        );
        joined.push(text);
    }
    joined.extend(loose);
    joined
}

fn gather(value: &Value, place: &mut String, places: &mut BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(joined) = places.get_mut(place.as_str()) {
                joined.push_str(text);
            } else {
                places.insert(place.clone(), text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, place, places)),
        Value::Object(members) => {
            for (key, member) in members {
                let length = place.len();
                place.push('/');
                place.push_str(key);
                gather(member, place, places);
                place.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
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
