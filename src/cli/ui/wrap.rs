//! Lines that fit a terminal. Knows cells, escapes and gaps between columns; not what the words mean.
//!
//! A terminal breaks a long line anywhere, also inside a word, and continues it at its left edge. Here a line is broken between
//! words, and continues below the text that it belongs to. Only a word that is longer than a line is broken inside. A command,
//! a hash and a key are never broken here: if one is longer than a line, the terminal breaks it and copies it as one line.

use monolith_service::text::command::KEPT;
use unicode_width::UnicodeWidthChar as _;

/// Spaces that stand apart what belongs to two columns.
const GAP: usize = 2;
/// The part of a line that a column needs, as a divisor.
const NARROW: usize = 4;
/// Extra indent of the continuation of a line without columns.
const STEP: usize = 2;
/// Characters of the shortest hash that is written whole, and fewer than any key has.
const HASH: usize = 32;
/// Cells between two stops of a tabulator.
const TAB: usize = 8;

/// Wraps the text to at most `width` cells per line, except for a longer command, hash or key.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        if cells(line) <= width {
            out.push_str(line);
        } else {
            Broken::new(line, width, &mut out).line(line);
        }
        out.push_str(end);
    }
    out
}

/// The same of one text whose every character counts: no space of it is left out, and it is broken at the last cell only. `indent` is
/// where it begins.
pub(crate) fn filled(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut broken = Broken {
        at: indent,
        indent: if indent < width { indent } else { 0 },
        out: &mut out,
        width,
    };
    broken.characters(text);
    out
}

/// As much of a line as fits into so many cells.
pub(crate) fn cut(line: &str, width: usize) -> String {
    let mut at = 0;
    let fits = line.chars().take_while(|c| {
        at = after(at, *c);
        at <= width
    });
    fits.collect()
}

/// The line with no more than so many cells; what is left out is marked.
pub(crate) fn shortened(line: &str, width: usize) -> String {
    if cells(line) <= width {
        return line.to_owned();
    }
    format!("{}…", cut(line, width.saturating_sub(1)))
}

/// Returns a line's width in cells.
pub(crate) fn cells(line: &str) -> usize {
    let mut at = 0;
    for piece in pieces(line) {
        if let Piece::Text(c) = piece {
            at = after(at, c);
        }
    }
    at
}

/// Returns the cursor's column after that character.
fn after(at: usize, c: char) -> usize {
    match c {
        '\r' => 0,
        '\t' => (at / TAB + 1) * TAB,
        KEPT => at.saturating_add(1),
        c => at.saturating_add(c.width().unwrap_or(0)),
    }
}

/// A character, or a sequence that a terminal obeys and does not show.
#[derive(Clone, Copy)]
enum Piece<'t> {
    Escape(&'t str),
    Text(char),
}

/// Everything in a line, in its order.
fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match rest.strip_prefix("\u{1b}[") {
            // It ends with its first letter.
            Some(sequence) => {
                let last = sequence.find(|c: char| c.is_ascii_alphabetic());
                last.map_or(rest.len(), |last| "\u{1b}[".len() + last + 1)
            }
            None => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(if first == '\u{1b}' {
            Piece::Escape(piece)
        } else {
            Piece::Text(first)
        })
    })
}

/// A line that is being broken.
struct Broken<'o> {
    at: usize,
    /// Continuation indent.
    indent: usize,
    out: &'o mut String,
    width: usize,
}

impl<'o> Broken<'o> {
    fn new(line: &str, width: usize, out: &'o mut String) -> Self {
        Self {
            at: 0,
            indent: indent(line, width),
            out,
            width,
        }
    }

    fn line(&mut self, line: &str) {
        let begins = line.len() - line.trim_start_matches(' ').len();
        let (leading, rest) = line.split_at(begins);
        // A line that begins outside the terminal begins at the continuation indent.
        if begins < self.width {
            self.characters(leading);
        } else {
            self.characters(&" ".repeat(self.indent));
        }
        let (mut gap, mut ahead) = ("", rest);
        for part in parts(rest) {
            let text = ahead;
            ahead = ahead.get(part.len()..).unwrap_or_default();
            if part.starts_with(' ') {
                gap = part;
                continue;
            }
            let (spaces, word) = (gap.len(), cells(part));
            gap = "";
            let begins = self.at + spaces;
            // A column that does not fit, and has few cells here, begins the next line.
            let is_narrow = begins + self.width / NARROW > self.width;
            let is_cut = is_narrow && begins + cells(text) > self.width;
            if spaces >= GAP && self.at > self.indent && is_cut {
                self.next_line();
            } else if self.at + spaces + word <= self.width {
                self.characters(&" ".repeat(spaces));
            } else if self.indent + word <= self.width && self.at > self.indent {
                self.next_line();
            } else if part.contains(KEPT) || is_copied(part) {
                self.unbroken(spaces, part);
                continue;
            } else if self.at + spaces < self.width {
                // Longer than a line: it begins here, and is broken at the last cell.
                self.characters(&" ".repeat(spaces));
            } else {
                self.next_line();
            }
            self.characters(part);
        }
        if self.at + gap.len() <= self.width {
            self.out.push_str(gap);
        }
    }

    /// Writes a copied word that is longer than a line, on a new line.
    fn unbroken(&mut self, spaces: usize, copied: &str) {
        if self.at > self.indent {
            self.next_line();
        } else {
            self.characters(&" ".repeat(spaces));
        }
        self.out.push_str(copied);
        self.at = self.at.saturating_add(cells(copied));
    }

    fn characters(&mut self, text: &str) {
        for piece in pieces(text) {
            match piece {
                Piece::Escape(escape) => self.out.push_str(escape),
                Piece::Text(c) => {
                    if after(self.at, c) > self.width && self.at > self.indent {
                        self.next_line();
                    }
                    self.out.push(c);
                    self.at = after(self.at, c);
                }
            }
        }
    }

    fn next_line(&mut self) {
        self.out.push('\n');
        self.out.push_str(&" ".repeat(self.indent));
        self.at = self.indent;
    }
}

/// True if a word is a hash (`d91f…`) or a key (`local+8b2bddc8+AWdR…`), even in quotes or before a full stop.
fn is_copied(word: &str) -> bool {
    let shown = pieces(word).filter_map(|piece| match piece {
        Piece::Text(c) => Some(c),
        Piece::Escape(_) => None,
    });
    let shown: String = shown.collect();
    // `scripted:88919a…` is a hash, too.
    let word = shown.rsplit(':').find(|part| !part.is_empty());
    let word = word.unwrap_or_default();
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && !"+/=".contains(c));
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    let is_hash = word.chars().all(|c| c.is_ascii_hexdigit());
    let is_key = || {
        let parts = word.splitn(3, '+').collect::<Vec<_>>();
        matches!(parts.as_slice(), [_, id, key] if !id.is_empty()
            && id.chars().all(|c| c.is_ascii_hexdigit())
            && key.chars().all(is_base64))
    };
    word.len() >= HASH && (is_hash || is_key())
}

/// Words and the spaces between them, in their order.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_gap = rest.starts_with(' ');
        let end = rest.find(|c: char| (c == ' ') != is_gap);
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Returns the indent at which a broken line continues: below its last column that begins in the left half, else one step
/// further in than its start.
fn indent(line: &str, width: usize) -> usize {
    let begins = line.len() - line.trim_start_matches(' ').len();
    let half = width / 2;
    let (mut at, mut column, mut before) = (0, None, "");
    for part in parts(line) {
        let ends_sentence = before.ends_with(['.', '!', '?']);
        let is_column = part.starts_with(' ') && part.len() >= GAP && at > 0 && !ends_sentence;
        at += cells(part);
        if is_column && at <= half {
            column = Some(at);
        }
        before = part;
    }
    column.unwrap_or_else(|| (begins + STEP).min(half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_service::text::command::command;

    fn check(text: &str, width: usize, expect: &str) {
        let shown = wrapped(text, width);
        assert_eq!(shown, expect);
        for line in shown.lines() {
            assert!(cells(line) <= width, "{line:?}");
        }
    }

    #[test]
    fn a_line_that_fits_stays_as_it_is() {
        check("one  two\n\n  three\n", 10, "one  two\n\n  three\n");
        check("0123456789", 10, "0123456789");
    }

    #[test]
    fn a_long_line_is_broken_between_words_and_goes_on_further_in() {
        check("one two three four", 10, "one two\n  three\n  four");
        check("  one two three\n", 10, "  one two\n    three\n");
    }

    #[test]
    fn a_row_goes_on_below_its_column() {
        check(
            "ok      name  a detail of many words",
            20,
            "ok      name  a\n        detail of\n        many words",
        );
        // A column for which three cells are left begins below.
        check(
            "ok      name     a detail of words",
            20,
            "ok      name\n        a detail of\n        words",
        );
        // Two spaces after a sentence are no column.
        check("One.  Two three four", 12, "One.  Two\n  three four");
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken_where_it_must_be() {
        check("at 0123456789abcdef", 8, "at 01234\n  56789a\n  bcdef");
        check("0123456789", 4, "0123\n  45\n  67\n  89");
    }

    #[test]
    fn a_wide_character_takes_two_cells_and_a_mark_none() {
        check("漢字漢字", 4, "漢字\n  漢\n  字");
        check("e\u{301}e\u{301}e\u{301}", 3, "e\u{301}e\u{301}e\u{301}");
        assert_eq!(cut("漢字漢字", 5), "漢字");
    }

    #[test]
    fn an_escape_takes_no_cell_and_is_never_broken() {
        check(
            "\u{1b}[2mone two\u{1b}[0m three",
            8,
            "\u{1b}[2mone two\u{1b}[0m\n  three",
        );
        check("\r\u{1b}[2Kshort", 5, "\r\u{1b}[2Kshort");
    }

    #[test]
    fn the_space_after_a_question_stays() {
        check("allow it? [y/N] ", 20, "allow it? [y/N] ");
        check("do you allow it? [y/N] ", 20, "do you allow it?\n  [y/N] ");
    }

    #[test]
    fn a_filled_text_loses_nothing() {
        assert_eq!(filled("a  b   c", 2, 6), "a  b\n     c");
        let text = "{\"command\": \"rm  -rf   /\"}";
        let joined = filled(text, 3, 9).replace("\n   ", "");
        assert_eq!(joined, text);
    }

    #[test]
    fn a_command_is_not_broken() {
        let text = format!("{} shows it", command("monolith show r"));
        let spaced = |shown: String| shown.replace(KEPT, " ");
        let at = |width| spaced(wrapped(&format!("why: {text}"), width));
        assert_eq!(at(80), "why: monolith show r shows it");
        assert_eq!(at(20), "why: monolith show r\n  shows it");
        assert_eq!(at(18), "why:\n  monolith show r\n  shows it");
        assert_eq!(at(10), "why:\n  monolith show r\n  shows it");
        // One that begins a line stays where it is.
        let indented = wrapped(&format!("    {text}"), 12);
        assert_eq!(
            spaced(indented),
            "    monolith show r\n      shows\n      it"
        );
    }

    #[test]
    fn a_hash_and_a_key_are_not_broken() {
        let hash = "d91f54324bc48eed4f3a38d3951edcd05d2148475ad1a14857828fee253f65fc";
        let key = "local+8b2bddc8+AWdRUNaCUTFV4Y/Z4op9kntaCUhgmfPkGiOFQ1+V/ydi";
        let check = |text: &str, expect: &str| assert_eq!(wrapped(text, 40), expect);
        for word in [hash, key] {
            check(
                &format!("signing key   {word}"),
                &format!("signing key   {word}"),
            );
            check(
                &format!("ok   chain   head \u{1b}[1m{word}\u{1b}[0m, and more"),
                &format!(
                    "ok   chain   head\n             \u{1b}[1m{word}\u{1b}[0m,\n             and more"
                ),
            );
        }
        // Another long word is broken as before, so that a line of arguments stays in the terminal.
        let other = wrapped(&format!("at {}", "x".repeat(64)), 40);
        assert!(other.lines().all(|line| cells(line) <= 40), "{other}");
    }

    #[test]
    fn the_narrowest_terminal_ends() {
        for width in 1..8 {
            let shown = wrapped("        a 漢 long-word  x\n", width);
            assert!(shown.ends_with('\n'), "{width}: {shown:?}");
        }
    }
}
