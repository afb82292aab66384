//! Patterns of tool names, as rules about calls have them. Does not know which tools there are.

/// True if a pattern matches a name: `*` matches any characters, even none; everything else matches itself.
///
/// Names are compared byte for byte, as calls are: a pattern takes no name that differs in case.
#[must_use]
pub(crate) fn pattern_takes(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    // `split` gives at least one part.
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        // The earliest place leaves the most for what follows.
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

/// True if the first pattern matches every name that the second matches.
///
/// The second is read as a name: its `*` can only have been taken by one of the first, which then takes whatever may stand there.
#[must_use]
pub(crate) fn pattern_covers(first: &str, second: &str) -> bool {
    pattern_takes(first, second)
}

/// True if a text is a pattern, not a name.
#[must_use]
pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains('*')
}

#[cfg(test)]
mod tests {
    use super::{pattern_covers, pattern_takes};

    #[test]
    fn a_star_stands_for_any_characters_and_the_rest_for_itself() {
        let check = |pattern: &str, takes: &[&str], not: &[&str]| {
            for name in takes {
                assert!(pattern_takes(pattern, name), "{pattern} {name}");
            }
            for name in not {
                assert!(!pattern_takes(pattern, name), "{pattern} {name}");
            }
        };
        check("read", &["read"], &["reader", "bread", "Read", ""]);
        check("*", &["", "read", "fs__read"], &[]);
        check("fs__*", &["fs__", "fs__read"], &["fs_read", "xfs__read"]);
        check("*__read", &["fs__read", "__read"], &["fs__reader"]);
        check(
            "a*b*c",
            &["abc", "a1b2c", "abbc", "abcbc"],
            &["acb", "ab", "abcd"],
        );
        // A part is not taken twice.
        check("ab*ba", &["abba", "abxba"], &["aba"]);
        check("**", &["", "x"], &[]);
        check("a**b", &["ab", "axb"], &["a"]);
    }

    #[test]
    fn a_pattern_covers_another_where_it_takes_all_that_one_takes() {
        let check = |first: &str, second: &str, expect: bool| {
            assert_eq!(pattern_covers(first, second), expect, "{first} {second}");
        };
        check("*", "fs__*", true);
        check("fs__*", "fs__read*", true);
        check("fs__*", "fs__read", true);
        check("read", "read", true);
        check("fs__read*", "fs__*", false);
        check("read", "*", false);
        check("*a", "*b", false);
    }
}
