//! Which characters nobody sees as they stand. The one list of them.

use std::sync::LazyLock;

use regex::Regex;

/// By Unicode properties: controls, formats (directions, joiners, tags), what may be ignored (variation selectors, fillers,
/// U+034F), every space but the plain one, private and unassigned characters. Beside them four that are blank by shape alone:
/// U+2800, U+FFFC, U+1D159, U+16FE4.
static INVISIBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}\u{16FE4}--\x20]",
    )
    .ok()
});

/// Whether a character is not shown as it stands, or changes how the text around it reads.
pub(crate) fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_control();
    }
    // The pattern is fixed and compiles; without it nothing foreign would be shown as it stands.
    INVISIBLE
        .as_ref()
        .is_none_or(|invisible| invisible.is_match(c.encode_utf8(&mut [0; 4])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_invisible_in_every_plane() {
        for c in "\u{0}\u{7f}\u{a0}\u{ad}\u{34f}\u{61c}\u{202e}\u{2800}\u{3164}\u{fe0f}\u{1d159}\u{e0041}".chars() {
            assert!(is_invisible(c), "{c:?}");
        }
        for c in "a é漢🦀हिน\"\\".chars() {
            assert!(!is_invisible(c), "{c:?}");
        }
    }
}
