//! The text of a file that is edited: its byte order mark, and the end of each line. Sees no file.
//!
//! A text that a model gives has `\n` at the end of its lines, whatever the file has. So `\n` and `\r\n` match each other, and a new line
//! ends as the line that it replaces, or the nearest one.

/// The byte order mark that editors of Windows put before a text.
const MARK: &str = "\u{feff}";
/// Most numbers of lines that an error lists.
const LISTED: usize = 10;

/// The mark before a text, and the text.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix(MARK) {
        Some(rest) => (MARK, rest),
        None => ("", text),
    }
}

/// Numbers of lines in words.
pub(super) fn listed(lines: &[usize]) -> String {
    let mut words: Vec<String> = lines.iter().take(LISTED).map(usize::to_string).collect();
    let last = match lines.len().checked_sub(LISTED).filter(|more| *more > 0) {
        Some(more) => Some(format!("{more} more")),
        None => words.pop(),
    };
    let last = last.unwrap_or_default();
    if words.is_empty() {
        return last;
    }
    format!("{} and {last}", words.join(", "))
}

/// The text of a file with `\n` at the end of each line, and how the lines end in the file.
#[derive(Debug)]
pub(super) struct FileText {
    /// One for each `\n` of the text: true if it is `\r\n` in the file.
    ends: Vec<bool>,
    mark: &'static str,
    text: String,
}

impl FileText {
    pub(super) fn of(text: &str) -> Self {
        let (mark, text) = split_mark(text);
        let (text, ends) = with_plain_ends(text);
        Self {
            ends,
            mark: if mark.is_empty() { "" } else { MARK },
            text,
        }
    }

    /// The text as the file has it.
    pub(super) fn whole(&self) -> String {
        let mut whole = String::with_capacity(self.mark.len() + self.text.len() + self.ends.len());
        whole.push_str(self.mark);
        let mut ends = self.ends.iter();
        for line in self.text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) if ends.next() == Some(&true) => {
                    whole.push_str(line);
                    whole.push_str("\r\n");
                }
                _ => whole.push_str(line),
            }
        }
        whole
    }

    /// The text without mark, each line ending in `\n`.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Strips the mark from a text that a model gives, if the file has one.
    pub(super) fn without_mark<'t>(&self, given: &'t str) -> &'t str {
        if self.mark.is_empty() {
            return given;
        }
        split_mark(given).1
    }

    /// The number of the line of a place, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> usize {
        count_ends(self.text.get(..at).unwrap_or_default()) + 1
    }

    /// Replaces as many bytes at each of these places, which do not overlap. Lines end as before there, or `as_written`.
    pub(super) fn replace(&mut self, places: &[usize], bytes: usize, new: &str, as_written: bool) {
        let (new, written) = with_plain_ends(new);
        let mut text = String::with_capacity(self.text.len());
        let mut ends: Vec<bool> = Vec::with_capacity(self.ends.len());
        // The end of the last place, and the number of lines that end before it.
        let (mut from, mut line) = (0, 0);
        for &at in places {
            let kept = self.text.get(from..at).unwrap_or_default();
            let old = self.text.get(at..at + bytes).unwrap_or_default();
            let first = line + count_ends(kept);
            let behind = first + count_ends(old);
            text.push_str(kept);
            ends.extend(self.ends.get(line..first).unwrap_or_default());
            text.push_str(&new);
            if as_written {
                ends.extend(&written);
            } else {
                let around = self.ends.get(behind).or(self.ends.last());
                let around = around.copied().unwrap_or_default();
                let of_old = self.ends.get(first..behind).unwrap_or_default();
                ends.extend(ends_of(&new, (old, of_old), around));
            }
            (from, line) = (at + bytes, behind);
        }
        text.push_str(self.text.get(from..).unwrap_or_default());
        ends.extend(self.ends.get(line..).unwrap_or_default());
        (self.text, self.ends) = (text, ends);
    }
}

fn count_ends(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The text with `\n` at the end of each line, and for each whether it was `\r\n`.
pub(super) fn with_plain_ends(text: &str) -> (String, Vec<bool>) {
    let mut plain = String::with_capacity(text.len());
    let mut ends = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(line) = line.strip_suffix("\r\n") {
            plain.push_str(line);
            plain.push('\n');
            ends.push(true);
        } else {
            plain.push_str(line);
            ends.extend(line.ends_with('\n').then_some(false));
        }
    }
    (plain, ends)
}

/// The ends of the lines of a text that replaces an old one. Lines that stay at its start and its end keep theirs. Each of the others has
/// the end of the line that it replaces; further ones have that of the line before. `around` is that of a text within one line.
fn ends_of(new: &str, (old, old_ends): (&str, &[bool]), around: bool) -> Vec<bool> {
    let old: Vec<&str> = old.split('\n').collect();
    let new: Vec<&str> = new.split('\n').collect();
    let (had, has) = (old.len() - 1, new.len() - 1);
    let shorter = had.min(has);
    let same = |(a, b): &(&&str, &&str)| a == b;
    let pairs = old.iter().zip(&new).take(shorter);
    let first = pairs.take_while(same).count();
    let pairs = old.iter().rev().zip(new.iter().rev());
    let pairs = pairs.take(shorter + 1 - first);
    // The last of these parts has no end in it.
    let last = pairs.take_while(same).count().saturating_sub(1);
    let (begin, rest) = old_ends.split_at_checked(first).unwrap_or_default();
    let (middle, end) = rest
        .split_at_checked(had - last - first)
        .unwrap_or_default();
    let near = middle.last().or(begin.last()).or(end.first());
    let near = near.copied().unwrap_or(around);
    let mut ends = begin.to_vec();
    let made = (0..has - first - last).map(|at| middle.get(at).copied().unwrap_or(near));
    ends.extend(made);
    ends.extend(end);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_and_written_as_it_stands() {
        for text in [
            "",
            "a",
            "a\n",
            "a\r\nb\nc",
            "\u{feff}a\r\n",
            "\r\r\n\n\r",
            "\u{feff}",
        ] {
            assert_eq!(FileText::of(text).whole(), text);
        }
        assert_eq!(FileText::of("\u{feff}a\r\nb").text(), "a\nb");
    }

    #[test]
    fn a_new_line_ends_as_the_one_that_it_replaces() {
        let check = |text: &str, (old, new): (&str, &str), expect: &str| {
            let mut file = FileText::of(text);
            let at = file.text().find(old).unwrap();
            file.replace(&[at], old.len(), new, false);
            assert_eq!(file.whole(), expect, "{text:?} {old:?} {new:?}");
        };
        check("a\r\nb\r\n", ("a\nb", "x\ny\nz"), "x\r\ny\r\nz\r\n");
        check("a\r\nb\nc\r\n", ("a\nb\nc\n", "a\nB\nc\n"), "a\r\nB\nc\r\n");
        // A line between others ends as the one before; the others keep their ends.
        check(
            "a\r\nb\nc\r\n",
            ("a\nb\nc\n", "a\nx\nb\nc\n"),
            "a\r\nx\r\nb\nc\r\n",
        );
        check("a\r\nb\nc\r\n", ("b\n", "x\ny\n"), "a\r\nx\ny\nc\r\n");
        check("a\r\nb\r\n", ("b", "x\ny"), "a\r\nx\r\ny\r\n");
        check("a\r\nb", ("b", "x\ny"), "a\r\nx\r\ny");
        check("a", ("a", "x\ny"), "x\ny");
        check("a\nb\r\nc\n", ("a\nb\nc", "c"), "c\n");
    }

    #[test]
    fn every_place_is_replaced_with_the_ends_around_it() {
        let mut file = FileText::of("x\r\nx\nx");
        file.replace(&[0, 2, 4], 1, "a\nb", false);
        assert_eq!(file.whole(), "a\r\nb\r\na\nb\na\nb");
        file.replace(&[0], 1, "\r\n", true);
        assert_eq!(file.whole(), "\r\n\r\nb\r\na\nb\na\nb");
        assert_eq!((file.line_of(0), file.line_of(2)), (1, 3));
    }

    #[test]
    fn numbers_of_lines_are_listed_up_to_a_bound() {
        assert_eq!(listed(&[3]), "3");
        assert_eq!(listed(&[3, 9, 12]), "3, 9 and 12");
        let many: Vec<usize> = (1..=12).collect();
        assert_eq!(listed(&many), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
    }
}
