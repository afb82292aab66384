//! The edits that lead from the old content of a file to the new one, counted over lines of bytes. The same two contents have the same
//! number everywhere: a budget of work bounds the time, no clock does.

use std::collections::HashMap;
use std::io::{self, Read};

use similar::{Algorithm, DiffOp, capture_diff_slices};

use monolith_core::work::{PathChange, TreeNode};
use monolith_host::work_tree::WorkTree;

/// The most bytes of a content whose edits are looked for. Each line of a larger one counts.
const MOST_BYTES: u64 = 8 << 20;
/// Pairs of lines that may be compared for all files of an item.
const MOST_PAIRS: u64 = 1 << 28;
/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Counts edits, with a budget for all files of an item.
#[derive(Debug)]
pub(super) struct HunkCounter {
    /// Pairs of lines that may still be compared. Lines that are not compared count as changed.
    pairs: u64,
}

impl Default for HunkCounter {
    fn default() -> Self {
        Self { pairs: MOST_PAIRS }
    }
}

impl HunkCounter {
    /// The number of edits of a file whose content changed.
    ///
    /// # Errors
    /// A content cannot be read, or is not kept.
    pub(super) fn of_change(&mut self, tree: &WorkTree, change: &PathChange) -> io::Result<u64> {
        let (Some(before), Some(after)) = (&change.before, &change.after) else {
            return Ok(1);
        };
        if size_of(before).max(size_of(after)) > MOST_BYTES {
            let count = |node| lines_in(open(tree, node)?);
            return Ok(count(before)?.max(count(after)?));
        }
        let read = |node| {
            let mut bytes = Vec::new();
            open(tree, node)?.read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(bytes)
        };
        Ok(self.of_contents(&read(before)?, &read(after)?))
    }

    fn of_contents(&mut self, before: &[u8], after: &[u8]) -> u64 {
        let mut ids = HashMap::new();
        let mut numbered = |content| -> Vec<usize> {
            let number = |line| {
                let next = ids.len();
                *ids.entry(line).or_insert(next)
            };
            Lines(content).map(number).collect()
        };
        let (before, after) = (numbered(before), numbered(after));
        self.between(&before, &after)
    }

    /// The edits between two lists of lines. Lines that each list has once split them into parts.
    fn between(&mut self, before: &[usize], after: &[usize]) -> u64 {
        let (before, after) = without_common_ends(before, after);
        let anchors = anchors(before, after);
        let ends = anchors.into_iter().chain([(before.len(), after.len())]);
        let mut count = 0_u64;
        let (mut old, mut new) = (0, 0);
        for (old_end, new_end) in ends {
            let part = before.get(old..old_end).unwrap_or_default();
            let other = after.get(new..new_end).unwrap_or_default();
            count = count.saturating_add(self.within(part, other));
            (old, new) = (old_end.saturating_add(1), new_end.saturating_add(1));
        }
        count
    }

    /// The edits between two parts, the lines of the longer one if the budget is used up.
    fn within(&mut self, before: &[usize], after: &[usize]) -> u64 {
        let (before, after) = without_common_ends(before, after);
        let longer = before.len().max(after.len());
        if before.is_empty() || after.is_empty() {
            return u64::from(longer > 0);
        }
        let lines = before.len().saturating_add(after.len()) as u64;
        let Some(left) = self.pairs.checked_sub(lines.saturating_mul(lines)) else {
            return longer as u64;
        };
        self.pairs = left;
        let ops = capture_diff_slices(Algorithm::Myers, before, after);
        let is_equal = |op: &DiffOp| matches!(op, DiffOp::Equal { .. });
        ops.split(is_equal).filter(|ops| !ops.is_empty()).count() as u64
    }
}

/// The place of a line in a list.
#[derive(Clone, Copy)]
enum Place {
    At(usize),
    Never,
    Often,
}

/// Pairs of places of lines that each list has once, in the order of both lists: a longest such list.
fn anchors(before: &[usize], after: &[usize]) -> Vec<(usize, usize)> {
    let greatest = before.iter().chain(after).max().copied();
    let places = |lines: &[usize]| {
        let mut places = vec![Place::Never; greatest.unwrap_or_default().saturating_add(1)];
        for (at, line) in lines.iter().enumerate() {
            if let Some(place) = places.get_mut(*line) {
                *place = match *place {
                    Place::Never => Place::At(at),
                    Place::At(_) | Place::Often => Place::Often,
                };
            }
        }
        places
    };
    let (old, new) = (places(before), places(after));
    let pairs = old.iter().zip(&new).filter_map(|pair| match pair {
        (Place::At(old), Place::At(new)) => Some((*old, *new)),
        _ => None,
    });
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    longest_rising(&pairs)
}

/// The longest selection of pairs whose second parts rise; the first parts do so already.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The index of the pair that ends a selection of each length with the least second part, and the one before each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    let new_of = |index: usize| pairs.get(index).map(|(_, new)| *new);
    for (index, (_, new)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| new_of(*end) < Some(*new));
        previous.push(length.checked_sub(1).and_then(|at| ends.get(at).copied()));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut chosen = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        chosen.extend(pairs.get(index).copied());
        next = previous.get(index).copied().flatten();
    }
    chosen.reverse();
    chosen
}

/// Two lists without the lines that both begin with, and those that both end with.
fn without_common_ends<'l>(before: &'l [usize], after: &'l [usize]) -> (&'l [usize], &'l [usize]) {
    let pairs = before.iter().zip(after);
    let same = pairs.take_while(|(old, new)| old == new).count();
    let (before, after) = (
        before.get(same..).unwrap_or_default(),
        after.get(same..).unwrap_or_default(),
    );
    let pairs = before.iter().rev().zip(after.iter().rev());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let without_end = |lines: &'l [usize]| {
        let end = lines.len().saturating_sub(same);
        lines.get(..end).unwrap_or_default()
    };
    (without_end(before), without_end(after))
}

/// The lines of a content, each with its end: LF, CR LF, or CR.
struct Lines<'c>(&'c [u8]);

impl<'c> Iterator for Lines<'c> {
    type Item = &'c [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let end = self.0.iter().position(is_end);
        let end = end.map_or(self.0.len(), |at| {
            let is_pair = self.0.get(at..).is_some_and(|end| end.starts_with(b"\r\n"));
            at.saturating_add(if is_pair { 2 } else { 1 })
        });
        let (line, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(line).filter(|line| !line.is_empty())
    }
}

/// The number of line ends, and at least 1. One of two bytes may count twice.
fn lines_in(mut file: impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut count = 1_u64;
    loop {
        let read = file.read(&mut buffer)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            return Ok(count);
        };
        let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
        let ends = part.iter().filter(is_end).count() as u64;
        count = count.saturating_add(ends);
    }
}

fn size_of(node: &TreeNode) -> u64 {
    match node {
        TreeNode::File { size, .. } => *size,
        TreeNode::Folder { .. } | TreeNode::Link { .. } => 0,
    }
}

fn open(tree: &WorkTree, node: &TreeNode) -> io::Result<std::fs::File> {
    let gone = || io::Error::other("an old content is not kept");
    let content = node.content().ok_or_else(gone)?;
    tree.content(*content)?.ok_or_else(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[u8], after: &[u8], count: u64) {
        assert_eq!(HunkCounter::default().of_contents(before, after), count);
        assert_eq!(HunkCounter::default().of_contents(after, before), count);
    }

    /// Numbered lines; those that `is_other` takes are different ones.
    fn numbered(count: usize, is_other: impl Fn(usize) -> bool) -> Vec<u8> {
        let line = |n| format!("{n}{}\n", if is_other(n) { " changed" } else { "" });
        (0..count).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn each_run_of_changed_lines_is_one_edit() {
        check(b"a\nb\nc\n", b"a\nb\nc\n", 0);
        check(b"a\nb\nc\nd\n", b"x\nb\nc\ny\n", 2);
        check(b"a\nb\nc\n", b"a\nx\ny\nc\n", 1);
        check(b"a\nb\n", b"a\n", 1);
        check(b"", b"a\n", 1);
        check(b"a\r\nb\r\nc\r\n", b"x\r\ny\r\nc\r\n", 1);
        check(b"a\rb\rc", b"x\rb\ry", 2);
        // No line is unique.
        check(b"}\n}\na\n}\na\n}\n", b"}\nx\na\n}\na\ny\n", 2);
    }

    #[test]
    fn a_byte_that_is_no_text_hides_no_edit() {
        let (before, after) = (numbered(100, |_| false), numbered(100, |n| n % 2 == 0));
        check(&before, &after, 50);
        let raw = |text: &[u8]| [b"\xff\0\n", text].concat();
        check(&raw(&before), &raw(&after), 50);
    }

    #[test]
    fn a_large_file_hides_no_edit() {
        let count = 200_000;
        let before = numbered(count, |_| false);
        assert!(before.len() > 1 << 20);
        check(&before, &numbered(count, |n| n % 1_000 == 0), 200);
    }

    #[test]
    fn lines_beyond_the_budget_count_as_changed() {
        let lines = |of: &[u8; 2]| -> Vec<u8> {
            let line = |n: usize| [of[n * n % 7 % 2], b'\n'];
            (0..20_000).flat_map(line).collect()
        };
        let (before, after) = (lines(b"ab"), lines(b"cd"));
        assert_eq!(HunkCounter::default().of_contents(&before, &after), 20_000);
    }

    #[test]
    fn a_content_too_large_to_compare_counts_its_lines() {
        assert_eq!(lines_in(&b"a\nb\nc"[..]).unwrap(), 3);
        assert_eq!(lines_in(&b""[..]).unwrap(), 1);
    }
}
