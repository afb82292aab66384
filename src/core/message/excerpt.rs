//! A piece of foreign text, short and escaped, around one byte of it (semantics §4, rejection notice).

use super::char_prefix;
use super::invisible::is_invisible;

/// The most bytes of an excerpt, escapes included.
const MAX_BYTES: usize = 200;
/// Number of those bytes before the position, if enough follows it.
const BEFORE_BYTES: usize = 100;

/// The text around the byte `at` of `text`: at most 200 bytes, escaped as in a JSON string.
pub(crate) fn excerpt(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(char_prefix(text, at).len());
    let follows = fitting(after.chars(), MAX_BYTES).1;
    let most_before = BEFORE_BYTES.max(MAX_BYTES.saturating_sub(follows));
    let (first, used) = fitting(before.chars().rev(), most_before);
    let (last, _) = fitting(after.chars(), MAX_BYTES.saturating_sub(used));
    let first: Vec<String> = first.into_iter().rev().collect();
    first.concat() + &last.concat()
}

/// The first of these characters, escaped, as many as fit; and how many bytes they have.
fn fitting(chars: impl Iterator<Item = char>, most: usize) -> (Vec<String>, usize) {
    let mut used = 0;
    let mut fitting = Vec::new();
    for one in chars.map(escaped) {
        if used + one.len() > most {
            break;
        }
        used += one.len();
        fitting.push(one);
    }
    (fitting, used)
}

fn escaped(one: char) -> String {
    match one {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        one if is_invisible(one) => {
            let mut units = [0; 2];
            let units = one.encode_utf16(&mut units).iter();
            let units: Vec<String> = units.map(|unit| format!("\\u{unit:04x}")).collect();
            units.concat()
        }
        one => one.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_shown_whole_and_escaped() {
        assert_eq!(excerpt("", 7), "");
        assert_eq!(
            excerpt("{\"a\":\n\u{1b}\u{202e}é🦀", 3),
            "{\\\"a\\\":\\n\\u001b\\u202eé🦀"
        );
    }

    #[test]
    fn what_nobody_sees_is_escaped() {
        assert_eq!(
            excerpt("a\u{a0}b\u{2800}c\u{fe0f}d\u{e0041}", 0),
            "a\\u00a0b\\u2800c\\ufe0fd\\udb40\\udc41"
        );
    }

    #[test]
    fn two_hundred_bytes_around_the_place() {
        let digits: Vec<String> = (0..100).map(|n| format!("{n:04}")).collect();
        let digits = digits.concat();
        assert_eq!(excerpt(&digits, 200), digits[100..300]);
        assert_eq!(excerpt(&digits, 0), digits[..200]);
        assert_eq!(excerpt(&digits, 10), digits[..200]);
        assert_eq!(excerpt(&digits, 400), digits[200..]);
        assert_eq!(excerpt(&digits, 9_000), digits[200..]);
    }

    #[test]
    fn an_excerpt_never_passes_its_limit_and_cuts_no_character() {
        for text in ["\u{0}".repeat(90), "🦀".repeat(90), "\"é\n".repeat(90)] {
            for at in 0..=text.len() {
                let shown = excerpt(&text, at);
                assert!(shown.len() <= MAX_BYTES && shown.len() > 180, "{shown}");
            }
        }
    }
}
