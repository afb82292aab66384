//! The lines that differ between two texts. Knows no file.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};

/// Lines around a change that are shown with it.
const AROUND: usize = 3;
/// Time limit of the search for the fewest changed lines. After it, more lines than necessary may appear as changed, never
/// fewer.
const PATIENCE: Duration = Duration::from_millis(300);

/// The difference of two texts, line by line. A line ends with a line feed; the last one may lack it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineDiff {
    /// Number of added lines.
    pub added: usize,
    /// The changed places, in order.
    pub hunks: Vec<Hunk>,
    /// Number of removed lines.
    pub removed: usize,
}

/// A changed place with the lines around it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its lines with their line feeds, each behind its sign: a blank, `-` or `+`.
    pub lines: Vec<String>,
    /// Lines of the new text.
    pub new_lines: usize,
    /// Lines of the new text before the hunk.
    pub new_offset: usize,
    /// Lines of the old text.
    pub old_lines: usize,
    /// Lines of the old text before the hunk.
    pub old_offset: usize,
}

impl LineDiff {
    /// Compares two texts.
    #[must_use]
    pub fn between(before: &str, after: &str) -> Self {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let diff = TextDiff::configure()
            .timeout(PATIENCE)
            .diff_slices(old.as_slice(), new.as_slice());
        let mut found = Self::default();
        for ops in diff.grouped_ops(AROUND) {
            let mut lines = Vec::new();
            for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
                match change.tag() {
                    ChangeTag::Insert => found.added += 1,
                    ChangeTag::Delete => found.removed += 1,
                    ChangeTag::Equal => {}
                }
                lines.push(format!("{}{}", change.tag(), change.value()));
            }
            let (old, new) = (
                whole(&ops, DiffOp::old_range),
                whole(&ops, DiffOp::new_range),
            );
            found.hunks.push(Hunk {
                lines,
                new_lines: new.len(),
                new_offset: new.start,
                old_lines: old.len(),
                old_offset: old.start,
            });
        }
        found
    }
}

impl fmt::Display for Hunk {
    /// The header of a unified diff.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |offset: usize, lines: usize| match lines {
            0 => format!("{offset},0"),
            1 => offset.saturating_add(1).to_string(),
            lines => format!("{},{lines}", offset.saturating_add(1)),
        };
        let old = range(self.old_offset, self.old_lines);
        let new = range(self.new_offset, self.new_lines);
        write!(f, "@@ -{old} +{new} @@")
    }
}

/// The lines that operations cover on one side.
fn whole(ops: &[DiffOp], side: impl Fn(&DiffOp) -> Range<usize>) -> Range<usize> {
    let first = ops.first().map_or(0, |op| side(op).start);
    let last = ops.last().map_or(first, |op| side(op).end);
    first..last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that a difference leads to from `before`.
    fn applied(before: &str, diff: &LineDiff) -> String {
        let lines: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut out, mut at) = (String::new(), 0);
        for hunk in &diff.hunks {
            out.push_str(&lines[at..hunk.old_offset].concat());
            at = hunk.old_offset + hunk.old_lines;
            for line in hunk.lines.iter().filter(|line| !line.starts_with('-')) {
                out.push_str(&line[1..]);
            }
        }
        out + &lines[at..].concat()
    }

    #[test]
    fn a_difference_leads_from_the_first_text_to_the_second() {
        let many = (0..40)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join("\n")
            + "\n";
        let other = many.replace("7\n", "seven\n");
        for (before, after) in [
            ("", "a\nb\n"),
            ("a\nb\n", ""),
            ("a\n", "a"),
            ("a\r\nb\rc\n", "a\nb\rd\n"),
            ("-a\n+b\n", "+b\n-a\n"),
            (many.as_str(), other.as_str()),
        ] {
            let diff = LineDiff::between(before, after);
            assert_eq!(applied(before, &diff), after, "{diff:?}");
        }
        assert_eq!(LineDiff::between("a\n", "a\n"), LineDiff::default());
    }

    #[test]
    fn a_hunk_has_the_header_of_a_unified_diff() {
        let check = |before: &str, after: &str, expect: &str| {
            let diff = LineDiff::between(before, after);
            let headers: Vec<String> = diff.hunks.iter().map(Hunk::to_string).collect();
            assert_eq!(headers, [expect], "{diff:?}");
        };
        check("", "a\nb\n", "@@ -0,0 +1,2 @@");
        check("a\n", "", "@@ -1 +0,0 @@");
        check("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@");
    }

    #[test]
    fn lines_keep_their_signs_and_feeds() {
        let diff = LineDiff::between("one\ntwo\n", "one\n2");
        assert_eq!((diff.added, diff.removed), (1, 1));
        assert_eq!(diff.hunks[0].lines, [" one\n", "-two\n", "+2"]);
    }
}
