//! Whether a text is another one without some secrets. Knows none of them.

use super::redactor::{MARKER_BYTES, MARKER_HEAD};
use crate::contract::SECRET_MARKER;

/// Whether `recorded` is `whole` with markers in the place of parts of it, or `whole` itself. What a marker stands for is not known: it may
/// stand for anything.
pub(crate) fn is_scrubbed_form(recorded: &str, whole: &str) -> bool {
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

/// What stands between the markers of a text: one piece where it has none.
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

/// How many bytes the marker has that a text begins with.
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
}
