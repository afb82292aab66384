//! Integers that every JSON reader holds exactly, and their saturating sums.

/// The largest integer that every JSON reader holds exactly: 2^53 − 1. Nothing recorded is larger.
pub(crate) const MAX_EXACT: u64 = (1 << 53) - 1;

/// Adds counts that are recorded: saturating at [`MAX_EXACT`].
#[must_use]
pub(crate) fn exact_sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MAX_EXACT)
}

/// The first integer of a JSON text whose size passes [`MAX_EXACT`]; a number with a fraction or an exponent is none.
#[must_use]
pub(crate) fn inexact_integer(text: &str) -> Option<&str> {
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
        // An exponent begins after a digit; the letter e of a word does not.
        let goes_on = start.is_some() && matches!(byte, b'.' | b'e' | b'E' | b'+');
        if byte.is_ascii_digit() || byte == b'-' || goes_on {
            start = start.or(Some(at));
            continue;
        }
        if let Some(number) = start.take().and_then(|from| text.get(from..at))
            && is_inexact(number)
        {
            return Some(number);
        }
        in_string = byte == b'"';
    }
    let last = start.and_then(|from| text.get(from..));
    last.filter(|number| is_inexact(number))
}

fn is_inexact(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    // Digits that are no u64 are an integer beyond it.
    digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits
            .parse()
            .map_or(!digits.is_empty(), |n: u64| n > MAX_EXACT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_json_cannot_hold_are_found_outside_strings_only() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(inexact_integer(text), expect, "{text}");
        };
        check(r#"{"a":9007199254740991}"#, None);
        check(r#"{"a":9007199254740992}"#, Some("9007199254740992"));
        check(r#"{"a":-9007199254740991}"#, None);
        check(r#"{"a":-9007199254740992}"#, Some("-9007199254740992"));
        check(
            r#"{"a":[1,18446744073709551615]}"#,
            Some("18446744073709551615"),
        );
        check("123456789012345678901234", Some("123456789012345678901234"));
        check(
            "[0.12345678901234567890, 12345678901234567890e1, true, false]",
            None,
        );
        check(r#"{"a":"9007199254740992","b":1}"#, None);
        check(r#"{"a":"\"9007199254740992\\","b":1}"#, None);
    }
}
