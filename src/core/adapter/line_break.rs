//! Where a line of a model's text ends. Knows characters only.

/// Whether a line ends there, for a person or for a program that reads the text.
pub(super) const fn is_line_break(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}
