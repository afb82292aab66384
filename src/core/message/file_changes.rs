//! A call's changes to workspace files. Plain data; looks at no file.

use serde::{Deserialize, Serialize};

use super::Digest;

/// A call's changes to workspace files, as far as known: facts, apart from what the tool says.
///
/// ```
/// use monolith_core::message::{FileChange, FileChanges};
///
/// let change = FileChange::of("plan.md", Some(b"Thursday\n"), Some(b"Friday\n")).ok_or("nothing changed")?;
/// assert_eq!((change.lines_added, change.lines_removed), (1, 1));
/// let changes = FileChanges { files: vec![change], incomplete: false };
/// assert!(!changes.is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChanges {
    /// Every file that holds something else than before, by its path.
    pub files: Vec<FileChange>,
    /// True if there may be more of them: the workspace has more files than are compared, or more were changed than are listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// A call's change to one file.
///
/// ```
/// use monolith_core::message::FileChange;
///
/// assert_eq!(FileChange::of("plan.md", Some(b"Friday\n"), Some(b"Friday\n")), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// BLAKE3 of what it holds now; absent where it is there no longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// BLAKE3 of what it held; absent where it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Lines that it has now and had not, counted without regard to their order.
    pub lines_added: u64,
    /// Lines that it had and has no longer, counted in the same way.
    pub lines_removed: u64,
    /// Its path in the workspace, with `/` between names.
    pub path: String,
}

impl FileChanges {
    /// True if no file changed, as far as known.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.files.is_empty() && !self.incomplete
    }
}

impl FileChange {
    /// Returns the change of a file from one content to another; `None` if nothing changed.
    #[must_use]
    pub fn of(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> Option<Self> {
        if before == after {
            return None;
        }
        let (lines_added, lines_removed) =
            lines_changed(before.unwrap_or_default(), after.unwrap_or_default());
        Some(Self {
            after: after.map(Digest::of),
            before: before.map(Digest::of),
            lines_added,
            lines_removed,
            path: path.to_owned(),
        })
    }
}

/// Counts the lines of the second text that the first lacks, repetitions included, and vice versa.
fn lines_changed(before: &[u8], after: &[u8]) -> (u64, u64) {
    let mut counts: std::collections::HashMap<&[u8], i64> = std::collections::HashMap::new();
    for line in before.split_inclusive(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() -= 1;
    }
    for line in after.split_inclusive(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    let (mut added, mut removed) = (0_u64, 0_u64);
    for count in counts.into_values() {
        if count > 0 {
            added = added.saturating_add(count.unsigned_abs());
        } else {
            removed = removed.saturating_add(count.unsigned_abs());
        }
    }
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_hashes_and_counts_lines() {
        let check = |before: Option<&str>, after: Option<&str>, expect: Option<(u64, u64)>| {
            let (before, after) = (before.map(str::as_bytes), after.map(str::as_bytes));
            let change = FileChange::of("a", before, after);
            let lines = change.as_ref().map(|of| (of.lines_added, of.lines_removed));
            assert_eq!(lines, expect, "{before:?} {after:?}");
            if let Some(change) = change {
                assert_eq!(change.before, before.map(Digest::of));
                assert_eq!(change.after, after.map(Digest::of));
            }
        };
        check(None, Some("a\nb\n"), Some((2, 0)));
        check(Some("a\nb\n"), None, Some((0, 2)));
        check(Some("a\nb\n"), Some("a\nc\n"), Some((1, 1)));
        check(Some("a\na\n"), Some("a\n"), Some((0, 1)));
        check(Some("a\nb\n"), Some("b\na\n"), Some((0, 0)));
        check(Some("a"), Some("a\n"), Some((1, 1)));
        check(None, Some(""), Some((0, 0)));
        check(Some("a\n"), Some("a\n"), None);
        check(None, None, None);
    }
}
