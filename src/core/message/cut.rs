//! Cuts an oversized result to its budget, with a marker. Does not know who reads it.

/// The truncation marker's default wording (semantics §6; 000 §1). `{original}` and `{kept}` are
/// bytes.
pub(crate) const DEFAULT_TRUNCATION_MARKER: &str =
    "[TRUNCATED] Original size {original} bytes; truncated to {kept} bytes.";

/// A text that fits a byte limit, and how it was made to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Text for the model; never longer than the limit.
    pub text: String,
    /// Bytes of the original that are in it; equal to the original's size where nothing was cut.
    pub kept: u64,
    /// True if anything was cut.
    pub truncated: bool,
}

/// Cuts a text to at most `limit` bytes, the marker included.
///
/// `prefix` holds at least the first `limit` bytes of the original, or all of it where it is shorter;
/// `original` is the original's whole size in bytes. Where it does not fit, the text is marker, line feed,
/// prefix, with `kept` the largest UTF-8 boundary for which the whole fits; a limit smaller than the
/// marker gives the marker cut to the limit.
#[must_use]
pub(crate) fn cut_to_limit(prefix: &str, original: u64, limit: u64, marker: &str) -> Cut {
    if original <= limit {
        return Cut {
            text: prefix.to_owned(),
            kept: original,
            truncated: false,
        };
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let rendered = |kept: usize| {
        marker
            .replace("{original}", &original.to_string())
            .replace("{kept}", &kept.to_string())
    };
    // The marker grows with the digits of `kept`, so the room for the prefix depends on the answer:
    // start from the marker at its shortest and step down to the first boundary that fits.
    let mut kept = char_prefix(prefix, limit.saturating_sub(rendered(0).len() + 1)).len();
    loop {
        let head = rendered(kept);
        if head.len() + 1 + kept <= limit {
            return Cut {
                text: format!("{head}\n{}", prefix.get(..kept).unwrap_or_default()),
                kept: u64::try_from(kept).unwrap_or(u64::MAX),
                truncated: true,
            };
        }
        if kept == 0 {
            return Cut {
                text: char_prefix(&head, limit).to_owned(),
                kept: 0,
                truncated: true,
            };
        }
        kept = char_prefix(prefix, kept - 1).len();
    }
}

/// The longest beginning of `text` that has at most `limit` bytes and ends at a character.
#[must_use]
pub fn char_prefix(text: &str, limit: usize) -> &str {
    // `str::floor_char_boundary` is younger than the oldest compiler that builds this.
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_fits_is_untouched() {
        let cut = cut_to_limit("abc", 3, 3, DEFAULT_TRUNCATION_MARKER);
        assert_eq!(
            (cut.text.as_str(), cut.kept, cut.truncated),
            ("abc", 3, false)
        );
    }

    #[test]
    fn a_limit_below_the_marker_gives_the_cut_marker() {
        let cut = cut_to_limit("abcdefghijkl", 12, 11, DEFAULT_TRUNCATION_MARKER);
        assert_eq!((cut.text.as_str(), cut.kept), ("[TRUNCATED]", 0));
        assert_eq!(
            cut_to_limit("abc", 3, 0, DEFAULT_TRUNCATION_MARKER).text,
            ""
        );
    }

    #[test]
    fn a_beginning_ends_at_a_character() {
        let check = |limit: usize, expect: &str| {
            assert_eq!(char_prefix("aé😀", limit), expect, "{limit}");
        };
        check(0, "");
        check(1, "a");
        check(2, "a");
        check(3, "aé");
        check(6, "aé");
        check(7, "aé😀");
        check(usize::MAX, "aé😀");
    }

    #[test]
    fn the_marker_states_both_sizes() {
        let long = "x".repeat(200);
        let cut = cut_to_limit(&long, 200, 100, DEFAULT_TRUNCATION_MARKER);
        let expect = format!(
            "[TRUNCATED] Original size 200 bytes; truncated to {} bytes.\n{}",
            cut.kept,
            "x".repeat(usize::try_from(cut.kept).unwrap_or(0))
        );
        assert_eq!(cut.text, expect);
        assert_eq!(cut.text.len(), 100);
    }

    proptest! {
        #[test]
        fn the_cut_is_the_largest_that_fits(text in "[aé€😀]{0,80}", limit in 0_u64..200) {
            let original = text.len() as u64;
            let cut = cut_to_limit(&text, original, limit, DEFAULT_TRUNCATION_MARKER);
            prop_assert!(cut.text.len() as u64 <= limit);
            if cut.truncated && cut.kept > 0 {
                let at = usize::try_from(cut.kept).unwrap();
                let next = text[at..].chars().next().map_or(0, char::len_utf8) as u64;
                let marker = DEFAULT_TRUNCATION_MARKER
                    .replace("{original}", &original.to_string())
                    .replace("{kept}", &(cut.kept + next).to_string());
                prop_assert!(marker.len() as u64 + 1 + cut.kept + next > limit);
            }
            if !cut.truncated {
                prop_assert_eq!(cut.text, text);
            }
        }
    }
}
