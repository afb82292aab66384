use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Flaw;
use crate::message::MAX_EXACT;

/// The stored text of one of our own recorded values: plain serialisation, which is RFC 8785 already because fields
/// are declared in sorted order, keys are ASCII and numbers are integers.
pub(super) fn text_of<T: Serialize>(value: &T) -> String {
    // Recorded types hold no map and no float, the two things that serialising can fail on.
    serde_json::to_string(value).unwrap_or_default()
}

/// Reads a recorded value back, and refuses a text that is not byte for byte what would be written for it.
pub(super) fn decode<T: Serialize + DeserializeOwned>(field: &str, text: &str) -> Result<T, Flaw> {
    let value: T = serde_json::from_str(text)
        .map_err(|fault| Flaw::tampered(field, "the text of a recorded value", fault))?;
    same(field, &text_of(&value), text)?;
    if let Some(number) = unsafe_integer(text) {
        return Err(Flaw::tampered(
            field,
            "only integers below 2^53 (RFC 8785)",
            number,
        ));
    }
    Ok(value)
}

/// Refuses a text that differs from its canonical dump, and shows both from the first difference on.
pub(super) fn same(field: &str, dump: &str, text: &str) -> Result<(), Flaw> {
    if dump == text {
        return Ok(());
    }
    let at = dump
        .bytes()
        .zip(text.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    let from = |whole: &str| {
        let tail = whole.as_bytes().get(at..).unwrap_or_default();
        let shown = String::from_utf8_lossy(tail.get(..40.min(tail.len())).unwrap_or_default());
        format!("{shown:?} at byte {at}")
    };
    Err(Flaw::tampered(
        field,
        format!("its canonical dump, {}", from(dump)),
        from(text),
    ))
}

/// The first integer of 2^53 or more that stands outside a string.
fn unsafe_integer(text: &str) -> Option<&str> {
    let (mut in_string, mut escaped, mut start) = (false, false, None);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            (in_string, escaped) = match (byte, escaped) {
                (b'\\', false) => (true, true),
                (b'"', false) => (false, false),
                _ => (true, false),
            };
            continue;
        }
        if byte.is_ascii_digit() {
            start = start.or(Some(at));
            continue;
        }
        if let Some(number) = start.take().and_then(|from| text.get(from..at))
            && number.parse().is_ok_and(|n: u64| n > MAX_EXACT)
        {
            return Some(number);
        }
        in_string = byte == b'"';
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_json_cannot_hold_are_found_outside_strings_only() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(unsafe_integer(text), expect, "{text}");
        };
        check(r#"{"a":9007199254740991}"#, None);
        check(r#"{"a":9007199254740992}"#, Some("9007199254740992"));
        check(
            r#"{"a":[1,18446744073709551615]}"#,
            Some("18446744073709551615"),
        );
        check(r#"{"a":"9007199254740992","b":1}"#, None);
        check(r#"{"a":"\"9007199254740992\\","b":1}"#, None);
    }
}
