//! Blank text: white space and invisible characters. Knows code points only, no language.

/// Characters outside white space and controls that are shown as nothing (Unicode, `Default_Ignorable_Code_Point`), the marks of
/// interlinear annotations, the Braille pattern without dots and the note head that is none.
const UNSEEN: [(char, char); 19] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a text is blank: any number of white space, control and invisible characters.
#[must_use]
pub(crate) fn is_blank(text: &str) -> bool {
    let unseen = |c: char| UNSEEN.iter().any(|(from, to)| (*from..=*to).contains(&c));
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || unseen(c))
}

#[cfg(test)]
mod tests {
    use super::is_blank;

    #[test]
    fn invisible_text_is_blank_and_a_single_visible_character_is_not() {
        let check = |text: &str, expect: bool| assert_eq!(is_blank(text), expect, "{text:?}");
        check("", true);
        check(" \t\r\n\u{a0}\u{3000}\u{2028}", true);
        check("\u{200b}", true);
        check("\u{200b} \u{200c}\u{200d}\u{2060}\u{feff}\n", true);
        check("\0\u{1b}\u{7f}", true);
        check("\u{ad}\u{115f}\u{3164}\u{2800}\u{fe0f}\u{e0041}", true);
        check("\u{fff0}\u{fff9}\u{fffb}\u{1d159}", true);
        check("\u{fffd}", false);
        check("\u{200b}.", false);
        check("👩\u{200d}👩", false);
        check("\u{2010}", false);
        check("e\u{301}", false);
    }
}
