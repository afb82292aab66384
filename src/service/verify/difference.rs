//! Something that was recorded otherwise than it is. Finds none.

use monolith_core::message::char_prefix;

/// A field, what was recorded, and what is there.
pub(super) type Difference = Option<(String, String, String)>;

/// Bytes of a text that are shown, from where it is another one.
pub(super) const SHOWN_BYTES: usize = 120;

/// Two texts from where they differ.
pub(super) fn texts_differ(field: &str, expected: &str, actual: &str) -> (String, String, String) {
    let both = expected.char_indices().zip(actual.chars());
    let same = both.take_while(|((_, one), other)| one == other).last();
    let from = same.map_or(0, |((at, one), _)| at.saturating_add(one.len_utf8()));
    let shown = |text: &str| {
        let rest = text.get(from..).unwrap_or_default();
        char_prefix(rest, SHOWN_BYTES).to_owned()
    };
    (field.to_owned(), shown(expected), shown(actual))
}
