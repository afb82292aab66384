//! Joins the halves of a surrogate pair that two pieces of a stream carry. Does not know what the pieces are.

use std::borrow::Cow;

/// The length of `\uXXXX`.
const ESCAPE_BYTES: usize = 6;

/// A document of a stream whose strings hold whole characters: a high half at the end of a string is moved to `halves`, and the
/// first of them goes before a low half at the beginning of a string.
pub(super) fn join_halves<'t>(text: &'t str, halves: &mut Vec<String>) -> Cow<'t, str> {
    if !["\\ud", "\\uD"].iter().any(|part| text.contains(part)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let here = at + found;
        let Some(escape) = text.get(here..here + ESCAPE_BYTES).and_then(unit) else {
            at = here + 2;
            continue;
        };
        let behind = here + ESCAPE_BYTES;
        let before = text.get(copied..here).unwrap_or_default();
        let rest = text.get(behind..).unwrap_or_default();
        at = behind;
        match escape {
            Half::High if rest.get(..ESCAPE_BYTES).and_then(unit) == Some(Half::Low) => {
                at = behind + ESCAPE_BYTES;
            }
            Half::High if rest.starts_with('"') => {
                out.push_str(before);
                halves.extend(text.get(here..behind).map(str::to_owned));
                copied = behind;
            }
            Half::Low
                if !halves.is_empty() && text.get(..here).is_some_and(|t| t.ends_with('"')) =>
            {
                out.push_str(before);
                out.push_str(&halves.remove(0));
                copied = here;
            }
            Half::High | Half::Low | Half::Neither => {}
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
    Neither,
}

/// Reads `\uXXXX`.
fn unit(escape: &str) -> Option<Half> {
    let digits = escape.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    Some(match unit {
        0xD800..=0xDBFF => Half::High,
        0xDC00..=0xDFFF => Half::Low,
        _ => Half::Neither,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expect: &[&str], left: &[&str]) {
        let mut halves = Vec::new();
        let joined = pieces.iter().map(|piece| join_halves(piece, &mut halves));
        let joined: Vec<_> = joined.collect();
        assert_eq!(joined, expect);
        assert_eq!(halves, left);
    }

    #[test]
    fn a_pair_in_two_pieces_is_joined_in_the_second() {
        check(
            &[r#"{"a":"x\ud83d"}"#, r#"{"a":""}"#, r#"{"a":"\uDE00y"}"#],
            &[r#"{"a":"x"}"#, r#"{"a":""}"#, r#"{"a":"\ud83d\uDE00y"}"#],
            &[],
        );
        check(
            &[
                r#"{"a":"\ud83d","b":"\ud83d"}"#,
                r#"{"a":"\ude00","b":"\ude01"}"#,
            ],
            &[
                r#"{"a":"","b":""}"#,
                r#"{"a":"\ud83d\ude00","b":"\ud83d\ude01"}"#,
            ],
            &[],
        );
    }

    #[test]
    fn nothing_else_changes() {
        for text in [
            r#"{"a":"\ud83d\ude00"}"#,
            r#"{"a":"\\ud83d"}"#,
            r#"{"a":"\ud83dx"}"#,
            r#"{"a":"\ude00"}"#,
            r#"{"a":"\u00e9\u"}"#,
            "\\",
            "\\ud8",
        ] {
            check(&[text], &[text], &[]);
        }
        check(&[r#"{"a":"\\\ud83d"}"#], &[r#"{"a":"\\"}"#], &[r"\ud83d"]);
    }
}
