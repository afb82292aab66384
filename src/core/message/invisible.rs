//! The characters that no terminal shows as they are, and texts with them escaped. The only list of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

/// Characters by Unicode properties: controls, formats (directions, joiners, tags), ignorable ones (variation selectors,
/// fillers, U+034F), every space except the plain one, private and unassigned characters. Four more are blank by shape alone:
/// U+2800, U+FFFC, U+1D159, U+16FE4.
static INVISIBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}\u{16FE4}--\x20]",
    )
    .ok()
});

/// True if a character is not shown as it is, or changes the reading of the text around it.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_control();
    }
    // The pattern is fixed and compiles; without it nothing foreign would be shown as it stands.
    INVISIBLE
        .as_ref()
        .is_none_or(|invisible| invisible.is_match(c.encode_utf8(&mut [0; 4])))
}

/// A text as one line: what no terminal shows is written out, line feeds and tabs too.
pub fn escaped_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Escapes the characters of a text that no terminal shows, except those to keep.
pub fn escaped(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if keep(c) || !is_invisible(c) {
            out.push(c);
            continue;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a String cannot fail.
            _ => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out
}

/// The most code points that a sentence names.
const MOST_POINTS: usize = 8;

/// Lists the characters of a text that no terminal shows, except those to keep, as `U+200B, U+202E (2 times)`; `None` if it has
/// none.
pub fn invisible_code_points(text: &str, keep: impl Fn(char) -> bool) -> Option<String> {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for c in text.chars().filter(|c| is_invisible(*c) && !keep(*c)) {
        *counts.entry(c).or_default() += 1;
    }
    if counts.is_empty() {
        return None;
    }
    let more = counts.len().saturating_sub(MOST_POINTS);
    let named = counts.iter().take(MOST_POINTS).map(|(c, count)| {
        let point = format!("U+{:04X}", u32::from(*c));
        match count {
            1 => point,
            count => format!("{point} ({count} times)"),
        }
    });
    let mut named: Vec<String> = named.collect();
    if more > 0 {
        named.push(format!("{more} others"));
    }
    Some(named.join(", "))
}

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

/// True if a text is blank: any number of white space, control and invisible characters.
#[must_use]
pub(crate) fn is_blank(text: &str) -> bool {
    let unseen = |c: char| UNSEEN.iter().any(|(from, to)| (*from..=*to).contains(&c));
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || unseen(c))
}

/// The bytes of a byte order mark.
pub const BOM: &[u8] = "\u{feff}".as_bytes();

/// Returns the text of a file without the byte order mark at its start. Every reader of an input file calls it.
#[must_use]
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{is_blank, *};

    #[test]
    fn only_a_mark_at_the_start_of_a_text_is_dropped() {
        for (text, expect) in [
            ("\u{feff}a", "a"),
            ("a\u{feff}", "a\u{feff}"),
            ("\u{feff}\u{feff}a", "\u{feff}a"),
            ("", ""),
        ] {
            assert_eq!(without_bom(text), expect, "{text:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_invisible_in_every_plane() {
        for c in "\u{0}\u{7f}\u{a0}\u{ad}\u{34f}\u{61c}\u{202e}\u{2800}\u{3164}\u{fe0f}\u{1d159}\u{e0041}".chars() {
            assert!(is_invisible(c), "{c:?}");
        }
        for c in "a é漢🦀हिน\"\\".chars() {
            assert!(!is_invisible(c), "{c:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_named_by_its_code_points() {
        let points = |text: &str| invisible_code_points(text, |c| c == '\n');
        assert_eq!(points("plain\n"), None);
        let some = points("a\u{202e}b\u{200b}\n\u{202e}\t");
        assert_eq!(some.as_deref(), Some("U+0009, U+200B, U+202E (2 times)"));
        let many: String = ('\u{e0041}'..='\u{e004b}').collect();
        let many = points(&many).unwrap();
        assert!(many.ends_with("U+E0048, 3 others"), "{many}");
    }

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
