//! Folds what calls did to files of the workspace into what a run did to each. Looks at no file.

use std::collections::BTreeMap;

use crate::message::{Digest, FileChanges};

/// Tools inside monolith that change files; no other tool has such a name.
const CHANGING: [&str; 4] = ["apply_patch", "edit_file", "shell", "write_file"];

/// Returns true if calls of that tool state their changes.
pub(super) fn changes_files(tool: &str) -> bool {
    CHANGING.contains(&tool)
}

/// The changes of a run to files of its workspace, as far as its calls tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkChanges {
    files: BTreeMap<String, WorkChange>,
    incomplete: bool,
}

/// The changes of a run to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkChange {
    /// BLAKE3 of what it held before the run's first change; `None` if it was not there.
    pub before: Option<Digest>,
    /// BLAKE3 of what it held after the last one; `None` if it was there no longer.
    pub after: Option<Digest>,
    /// True if something else changed the file between two changes of the run.
    pub interleaved: bool,
    /// Lines that the run's changes added, over all of them.
    pub lines_added: u64,
    /// Lines that they removed.
    pub lines_removed: u64,
}

impl WorkChanges {
    /// Takes what one call did.
    pub(super) fn take(&mut self, changes: &FileChanges) {
        self.incomplete |= changes.incomplete;
        for change in &changes.files {
            let first = || WorkChange {
                before: change.before,
                after: change.before,
                interleaved: false,
                lines_added: 0,
                lines_removed: 0,
            };
            let file = self.files.entry(change.path.clone()).or_insert_with(first);
            file.interleaved |= file.after != change.before;
            file.after = change.after;
            file.lines_added = file.lines_added.saturating_add(change.lines_added);
            file.lines_removed = file.lines_removed.saturating_add(change.lines_removed);
        }
    }

    /// The paths of all files that calls changed, those included that are as the run had found them.
    pub fn touched(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every file that the run left otherwise than it had found it, by its path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &WorkChange)> {
        let changed = self
            .files
            .iter()
            .filter(|(_, file)| file.before != file.after);
        changed.map(|(path, file)| (path.as_str(), file))
    }

    /// Returns true if a call states that more changes may exist than are listed.
    pub(crate) const fn incomplete(&self) -> bool {
        self.incomplete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::FileChange;

    fn after(changes: &[(&str, Option<&str>, Option<&str>)]) -> WorkChanges {
        let mut all = WorkChanges::default();
        for (path, before, after) in changes {
            let (before, after) = (before.map(str::as_bytes), after.map(str::as_bytes));
            all.take(&FileChanges {
                files: FileChange::of(path, before, after).into_iter().collect(),
                incomplete: false,
            });
        }
        all
    }

    #[test]
    fn the_changes_of_a_file_are_one_from_the_first_to_the_last() {
        let all = after(&[
            ("a", Some("1\n"), Some("2\n")),
            ("b", None, Some("x\n")),
            ("a", Some("2\n"), Some("3\n4\n")),
            ("b", Some("x\n"), None),
            ("c", Some("y\n"), None),
        ]);
        let files: Vec<(&str, &WorkChange)> = all.files().collect();
        assert_eq!(files.len(), 2, "{files:?}");
        let (path, file) = files[0];
        assert_eq!((path, file.interleaved), ("a", false));
        assert_eq!(file.before, Some(Digest::of(b"1\n")));
        assert_eq!(file.after, Some(Digest::of(b"3\n4\n")));
        assert_eq!((file.lines_added, file.lines_removed), (3, 2));
        let (path, file) = files[1];
        assert_eq!((path, file.after), ("c", None));
    }

    #[test]
    fn what_something_else_changed_in_between_is_reported() {
        let all = after(&[("a", Some("1"), Some("2")), ("a", Some("other"), Some("3"))]);
        let (_, file) = all.files().next().unwrap();
        assert!(file.interleaved);
        assert_eq!(file.before, Some(Digest::of(b"1")));
    }
}
