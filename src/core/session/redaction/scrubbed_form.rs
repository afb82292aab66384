//! A comparison of a text with another one without some secrets. Knows no secret.

use serde_json::Value;

use super::redactor::{MARKER_BYTES, MARKER_HEAD};
use crate::contract::SECRET_MARKER;

/// True if `recorded` is `whole` with markers instead of some of its parts, or `whole` itself. The text behind a marker is
/// unknown: it may be anything.
pub fn is_scrubbed_form(recorded: &str, whole: &str) -> bool {
    let pieces = between_markers(recorded);
    let [first, middle @ .., last] = pieces.as_slice() else {
        return recorded == whole;
    };
    let Some(mut rest) = whole.strip_prefix(first) else {
        return false;
    };
    for piece in middle {
        let Some((_, behind)) = rest.split_once(piece) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// The same of the texts of two JSON documents, member by member: a key that lost a secret stands elsewhere in the canonical form, and a number
/// that was one is a text.
pub fn is_scrubbed_json(recorded: &str, whole: &str) -> bool {
    match (serde_json::from_str(recorded), serde_json::from_str(whole)) {
        (Ok(recorded), Ok(whole)) => is_scrubbed_value(&recorded, &whole),
        _ => is_scrubbed_form(recorded, whole),
    }
}

fn is_scrubbed_value(recorded: &Value, whole: &Value) -> bool {
    match (recorded, whole) {
        (Value::String(recorded), Value::String(whole)) => is_scrubbed_form(recorded, whole),
        (Value::String(recorded), whole) => is_scrubbed_form(recorded, &whole.to_string()),
        (Value::Array(recorded), Value::Array(whole)) => {
            let mut both = recorded.iter().zip(whole);
            recorded.len() == whole.len() && both.all(|(one, other)| is_scrubbed_value(one, other))
        }
        (Value::Object(recorded), Value::Object(whole)) => {
            let is_it = |(key, value): (&String, &Value), (other, of): (&String, &Value)| {
                is_scrubbed_form(key, other) && is_scrubbed_value(value, of)
            };
            // Two keys that lost all that distinguishes them are one: the value of either may be left.
            let is_known = |one| whole.iter().any(|other| is_it(one, other));
            let is_left = |key: &String| recorded.keys().any(|one| is_scrubbed_form(one, key));
            recorded.iter().all(is_known) && whole.keys().all(is_left)
        }
        _ => recorded == whole,
    }
}

/// The text between the markers of a text: one piece where it has none.
fn between_markers(text: &str) -> Vec<&str> {
    let (mut pieces, mut piece, mut at) = (Vec::new(), 0, 0);
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('[')) {
        let start = at + next;
        match marker_length(text.get(start..).unwrap_or_default()) {
            Some(length) => {
                pieces.push(text.get(piece..start).unwrap_or_default());
                at = start + length;
                piece = at;
            }
            None => at = start + 1,
        }
    }
    pieces.push(text.get(piece..).unwrap_or_default());
    pieces
}

/// Returns the length in bytes of the marker at the start of a text.
fn marker_length(text: &str) -> Option<usize> {
    if text.starts_with(SECRET_MARKER) {
        return Some(SECRET_MARKER.len());
    }
    let marker = text.as_bytes().get(..MARKER_BYTES)?;
    let digits = marker.strip_prefix(MARKER_HEAD)?.strip_suffix(b"]")?;
    let hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    digits.iter().all(hex).then_some(MARKER_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_another_one_without_its_secrets_and_no_other() {
        let marker = format!("[REDACTED:{}]", "0a".repeat(16));
        for (recorded, whole, expected) in [
            ("as it is", "as it is", true),
            ("as it is", "as it was", false),
            ("", "", true),
            ("", "x", false),
            ("a <> b", "a secret b", true),
            ("a <> b <> c", "a 1 b 2 b 3 c", true),
            ("<>", "secret", true),
            ("<><>", "secret", true),
            ("a <> b", "a secret b more", false),
            ("a <> b", "more a secret b", false),
            ("a <> x <> c", "a 1 b 2 c", false),
            ("a <> b", "a <> b", true),
            ("ab<>bc", "abc", false),
            ("[REDACTED:0a] b", "a secret b", false),
            ("[a] [SECRET]", "[a] secret", true),
        ] {
            let [recorded, whole] = [recorded, whole].map(|text| text.replace("<>", &marker));
            assert_eq!(
                is_scrubbed_form(&recorded, &whole),
                expected,
                "{recorded} of {whole}"
            );
        }
    }

    #[test]
    fn json_without_its_secrets_is_the_other_member_by_member() {
        let marker = format!("[REDACTED:{}]", "0a".repeat(16));
        for (recorded, whole, expected) in [
            (r#"{"aa":2,"<>":1}"#, r#"{"aa":2,"zone-5":1}"#, true),
            (r#"{"<>":1,"aa":2}"#, r#"{"aa":2,"zone-5":1}"#, true),
            (r#"{"<>":1,"aa":2}"#, r#"{"aa":2,"zone-5":3}"#, false),
            (r#"{"n":"<>"}"#, r#"{"n":123456789}"#, true),
            (r#"{"n":7}"#, r#"{"n":8}"#, false),
            (r#"{"n":7}"#, r#"{"n":7,"m":"secret"}"#, false),
            (r#"{"<>":2}"#, r#"{"zone-5":1,"zone-6":2}"#, true),
            (r#"["a <>"]"#, r#"["a secret","b"]"#, false),
            ("a <>", "a secret", true),
        ] {
            let [recorded, whole] = [recorded, whole].map(|text| text.replace("<>", &marker));
            assert_eq!(
                is_scrubbed_json(&recorded, &whole),
                expected,
                "{recorded} of {whole}"
            );
        }
    }
}
