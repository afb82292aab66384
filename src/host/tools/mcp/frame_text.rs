//! The text of a JSON-RPC frame. Does not know what it says.

use std::borrow::Cow;

/// The text of a frame without a byte order mark. Bytes that are not UTF-8, and halves of a surrogate pair, become the replacement
/// character: no string can hold them.
pub(super) fn of(frame: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(frame) {
        Cow::Borrowed(text) => without_half_pairs(text.trim_start_matches('\u{feff}')),
        Cow::Owned(text) => {
            let text = without_half_pairs(text.trim_start_matches('\u{feff}'));
            Cow::Owned(text.into_owned())
        }
    }
}

/// JSON text with the replacement character for each escaped half of a surrogate pair.
fn without_half_pairs(text: &str) -> Cow<'_, str> {
    let unit = |at: usize| {
        let digits = text.get(at..at.saturating_add(6))?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut whole, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('\\')) {
        at += next;
        at += match (unit(at), unit(at.saturating_add(6))) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push_str(text.get(copied..at).unwrap_or_default());
                whole.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn half_a_surrogate_pair_becomes_the_replacement_character() {
        let check = |text: &str, expect: &str| assert_eq!(of(text.as_bytes()), expect);
        check(r#"{"a":"b"}"#, r#"{"a":"b"}"#);
        check("\u{feff}{}", "{}");
        check(r#""\ud83d\ude00 \u0041""#, r#""\ud83d\ude00 \u0041""#);
        check(r#""\ud83d""#, r#""\ufffd""#);
        check(r#""\uDE00\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""é\ud800é\"""#, r#""é\ufffdé\"""#);
        assert_eq!(of(b"\"\xff\""), "\"\u{fffd}\"");
    }
}
