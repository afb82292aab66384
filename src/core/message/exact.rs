//! Integers that every JSON reader holds exactly, and their saturating sums.

/// The largest integer that every JSON reader holds exactly: 2^53 − 1. Nothing recorded is larger.
pub const MAX_EXACT: u64 = (1 << 53) - 1;

/// Adds counts that are recorded: saturating at [`MAX_EXACT`].
#[must_use]
pub(crate) fn exact_sum(a: u64, b: u64) -> u64 {
    a.saturating_add(b).min(MAX_EXACT)
}

/// The first integer of a JSON text whose size passes [`MAX_EXACT`]; a number with a fraction or an exponent is none.
#[must_use]
pub fn inexact_integer(text: &str) -> Option<&str> {
    // Most texts hold nothing that could be one: a look at every sixteenth byte shows that.
    if !has_digits_in_a_row(text.as_bytes()) {
        return None;
    }
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

/// Digits of [`MAX_EXACT`]: an integer with fewer is exact.
const DIGITS: usize = 16;

/// True if as many consecutive digits as an inexact integer has occur anywhere, in a string or not.
fn has_digits_in_a_row(text: &[u8]) -> bool {
    let digits = |part: &[u8]| part.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let back = |part: &[u8]| {
        let part = part.iter().rev();
        part.take_while(|byte| byte.is_ascii_digit()).count()
    };
    // So many digits in a row hold the last byte of one of the blocks that the text divides into.
    let mut blocks = text.chunks_exact(DIGITS).enumerate();
    blocks.any(|(at, block)| {
        block.last().is_some_and(u8::is_ascii_digit) && {
            let behind = text.get((at + 1) * DIGITS..).unwrap_or_default();
            back(block) + digits(behind) >= DIGITS
        }
    })
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

    /// However it lies to the blocks: no integer that is inexact is missed.
    #[test]
    fn an_inexact_integer_is_found_wherever_it_begins() {
        for before in 0..40 {
            for number in ["9007199254740992", "-18446744073709551615"] {
                for behind in 0..20 {
                    let text = format!("{}[{number}]{}", " ".repeat(before), " ".repeat(behind));
                    assert_eq!(inexact_integer(&text), Some(number), "{text}");
                }
            }
        }
    }

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
