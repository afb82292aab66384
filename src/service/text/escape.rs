//! Text from models, tools and files as it may reach a terminal: no byte of it can move the cursor, change colours, hide or
//! reorder other text.

use std::fmt::Write as _;

use crate::text::command::KEPT;
use monolith_core::message::{escaped, escaped_line, is_invisible};

/// One line: line feeds and tabs are escaped too.
pub fn line(text: &str) -> String {
    escaped_line(text)
}

/// Several lines: line feeds and tabs stay.
pub fn text(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// Escapes advice: the commands in it stay unbroken.
pub fn help(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t' | KEPT))
}

/// JSON text, which stays the same JSON: what is unsafe is written as JSON itself escapes it.
pub fn json(text: &str) -> String {
    json_but(text, is_invisible)
}

/// JSON text as the same JSON, in which what steers a terminal or turns a line round is escaped: DEL, C1 and the controls of
/// direction. JSON itself escapes the other control characters.
pub fn piped_json(text: &str) -> String {
    let steers = |c: char| {
        matches!(
            c,
            '\u{7f}'..='\u{9f}'
                | '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
    };
    json_but(text, steers)
}

/// Returns JSON text with its unsafe characters escaped. Half of a surrogate pair, which is no character and which many readers
/// refuse, becomes U+FFFD.
fn json_but(text: &str, is_unsafe: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (length, is_half) = match c {
            '\\' => escape_at_start(rest),
            c => (c.len_utf8(), false),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        if is_half {
            out.push_str("\\ufffd");
        } else if matches!(c, '\\' | '\n') || !is_unsafe(c) {
            out.push_str(piece);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

/// The bytes of the escape that JSON text begins with, and true if it is half of a surrogate pair.
fn escape_at_start(text: &str) -> (usize, bool) {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    match (unit(0), unit(6)) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (12, false),
        (Some(0xD800..=0xDFFF), _) => (6, true),
        // An escaped backslash is whole: what follows it is no escape.
        _ => (2, false),
    }
}

/// One line of at most `most` characters; what is left out is marked.
pub fn brief(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    line(&short)
}

/// The same of a text of several lines, whose breaks are blanks.
pub fn flowing(text: &str, most: usize) -> String {
    brief(&unbroken(text), most)
}

/// The same between quotation marks, those in the text escaped.
pub fn quoted(text: &str, most: usize) -> String {
    let text = unbroken(text);
    let mut short: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    line(&format!("{short:?}"))
}

/// A text with a blank for each break of its lines.
fn unbroken(text: &str) -> String {
    let lines = text.split(['\n', '\r']);
    let lines = lines.map(|line| line.trim_matches([' ', '\t']));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// True if a text has characters that a terminal does not show.
pub fn hides(text: &str) -> bool {
    text.chars()
        .any(|c| !matches!(c, '\n' | '\r' | '\t') && is_invisible(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expect: &str) {
        assert_eq!(line(input), expect);
    }

    #[test]
    fn plain_text_in_any_script_stays() {
        check("naïve Ω 漢字 🦀 — “x”", "naïve Ω 漢字 🦀 — “x”");
    }

    #[test]
    fn nothing_that_moves_hides_or_reorders_gets_through() {
        check("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m");
        check("\u{9b}31m", "\\u{9b}31m");
        check("a\rb\u{8}\u{7f}", "a\\rb\\u{8}\\u{7f}");
        check("\u{202e}txt\u{2066}", "\\u{202e}txt\\u{2066}");
        check(
            "a\u{200b}b\u{feff}\u{e0041}",
            "a\\u{200b}b\\u{feff}\\u{e0041}",
        );
    }

    #[test]
    fn what_a_terminal_does_not_show_is_written_out() {
        for hidden in [
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{2003}',
            '\u{2064}',
            '\u{206a}',
            '\u{2800}',
            '\u{3000}',
            '\u{3164}',
            '\u{e000}',
            '\u{fe00}',
            '\u{fe0f}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{fffc}',
            '\u{16fe4}',
            '\u{1d159}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0100}',
            '\u{e01ef}',
            '\u{f0000}',
        ] {
            let text = format!("a{hidden}b");
            check(&text, &format!("a\\u{{{:x}}}b", u32::from(hidden)));
            assert!(hides(&text), "{text:?}");
        }
        for plain in ["a b", "naïve Ω 漢字 🦀", "हिन्दी ไทย עברית", "a\n\tb\r\n"]
        {
            assert!(!hides(plain), "{plain:?}");
        }
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let foreign = "a\u{7f}b\u{202e}c\u{e0041}d\n\u{1b}é";
        let plain = serde_json::to_string(foreign).unwrap();
        let shown = json(&plain);
        assert_eq!(shown, "\"a\\u007fb\\u202ec\\udb40\\udc41d\\n\\u001bé\"");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), foreign);
    }

    #[test]
    fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
        let text = r#"{"a":"\ud83d \uDE00 \ud83d\ude00 \\ud83d \ud83d\\ \n\"","\udc00":"é"}"#;
        let expect = r#"{"a":"\ufffd \ufffd \ud83d\ude00 \\ud83d \ufffd\\ \n\"","\ufffd":"é"}"#;
        assert_eq!(piped_json(text), expect);
        assert_eq!(json(text), expect);
        let read: serde_json::Value = serde_json::from_str(expect).unwrap();
        assert_eq!(read["a"], "\u{fffd} \u{fffd} 😀 \\ud83d \u{fffd}\\ \n\"");
    }

    #[test]
    fn only_a_text_keeps_its_lines() {
        check("a\n\tb", "a\\n\\tb");
        assert_eq!(text("a\n\tb\r"), "a\n\tb\\r");
    }

    #[test]
    fn a_cut_is_marked_and_never_inside_a_character() {
        assert_eq!(brief("äöü", 2), "äö…");
        assert_eq!(brief("äöü", 3), "äöü");
    }

    #[test]
    fn a_break_of_lines_is_a_blank_where_lines_are_made_one() {
        let check = |text: &str, most: usize, plain: &str, in_quotes: &str| {
            assert_eq!(flowing(text, most), plain);
            assert_eq!(quoted(text, most), in_quotes);
        };
        check("# A\r\n\n  b\n", 9, "# A b", "\"# A b\"");
        check("ab\ncd", 4, "ab c…", "\"ab c…\"");
        check("a\tb\u{1b}", 9, "a\\tb\\u{1b}", "\"a\\tb\\u{1b}\"");
        check("a\"\u{3164}", 9, "a\"\\u{3164}", "\"a\\\"\\u{3164}\"");
    }
}
