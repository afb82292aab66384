//! The plan of a publication: compares the changed paths with the work tree, and orders the steps. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use monolith_core::work::{PathChange, TreeNode, WorkPath};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::process::geteuid;

use super::error::WorkTreeError;
use super::folder::{hold, io_error, look, names, open_error, open_folder, parent_of, read_node};
use super::found::{Found, Kind};
use super::journal::FolderMode;
use super::ops::is_root;
use super::scratch_folder::is_left_out;
use super::withheld::Withheld;

/// A plan of changes that fits the work tree as it is now.
#[derive(Debug)]
pub(super) struct Plan<'c> {
    /// Folders that stay although the changes remove them: they hold files that are no part of the changes.
    pub kept: Vec<WorkPath>,
    pub modes: Vec<FolderMode>,
    /// The steps, in execution order.
    pub steps: Vec<Planned<'c>>,
}

/// A planned step.
#[derive(Debug)]
pub(super) enum Planned<'c> {
    Enter {
        new: &'c TreeNode,
        path: &'c WorkPath,
    },
    Leave {
        old: Found,
        path: &'c WorkPath,
    },
    RemoveFolder {
        old: Found,
        path: &'c WorkPath,
    },
    Swap {
        before: &'c TreeNode,
        new: &'c TreeNode,
        old: Found,
        path: &'c WorkPath,
    },
}

impl Planned<'_> {
    pub(super) fn path(&self) -> &WorkPath {
        match self {
            Self::Enter { path, .. }
            | Self::Leave { path, .. }
            | Self::RemoveFolder { path, .. }
            | Self::Swap { path, .. } => path,
        }
    }
}

/// The work tree's part in a plan.
struct Draft<'c> {
    by_path: BTreeMap<&'c WorkPath, &'c PathChange>,
    conflicts: BTreeSet<&'c WorkPath>,
    kept: BTreeSet<&'c WorkPath>,
    /// The present metadata of the changed paths that exist.
    now: BTreeMap<&'c WorkPath, Found>,
    root: BorrowedFd<'c>,
}

impl<'c> Plan<'c> {
    /// Plans changes of a work tree. `has_case` is false if its file system takes names that differ in case for one.
    ///
    /// # Errors
    /// [`WorkTreeError::Conflict`] with every path that is not as the changes begin, [`WorkTreeError::Moved`] with one that changes now,
    /// [`WorkTreeError::Refused`] with the first path that cannot be changed.
    pub(super) fn new(
        root: BorrowedFd<'c>,
        changes: &'c [PathChange],
        (has_case, withheld): (bool, &Withheld),
    ) -> Result<Self, WorkTreeError> {
        if !has_case {
            refuse_twins(changes)?;
        }
        let mut draft = Draft {
            by_path: changes
                .iter()
                .map(|change| (&change.path, change))
                .collect(),
            conflicts: BTreeSet::new(),
            kept: BTreeSet::new(),
            now: BTreeMap::new(),
            root,
        };
        for change in changes {
            if withheld.holds(root, &change.path)? {
                let reason = "it is part of monolith's own state, which items do not change";
                return Err(refused(&change.path, reason));
            }
            draft.compare(change)?;
        }
        for change in changes {
            draft.judge_parent(change)?;
        }
        // Children before the folders that hold them.
        for change in changes.iter().rev() {
            draft.judge_removal(change)?;
        }
        if !draft.conflicts.is_empty() {
            let paths = draft.conflicts.into_iter().cloned().collect();
            return Err(WorkTreeError::Conflict { paths });
        }
        let steps = draft.steps(changes);
        let modes = draft.modes(changes, &steps)?;
        let kept = draft.kept.into_iter().cloned().collect();
        Ok(Self { kept, modes, steps })
    }
}

impl<'c> Draft<'c> {
    /// Compares a path with the node that the change begins with.
    fn compare(&mut self, change: &'c PathChange) -> Result<(), WorkTreeError> {
        let path = &change.path;
        let names = path.as_bytes().split(|byte| *byte == b'/');
        if names.map(OsStr::from_bytes).any(is_left_out) {
            let reason = "changes in the folder of a repository or scratch tree are not published";
            return Err(refused(path, reason));
        }
        let present = match read_node(self.root, path) {
            Err(WorkTreeError::Moved { .. }) => {
                self.conflicts.insert(path);
                return Ok(());
            }
            present => present?,
        };
        if !change.fits(present.as_ref().map(|present| &present.node)) {
            self.conflicts.insert(path);
        }
        let Some(present) = present else {
            return Ok(());
        };
        let is_replaced = change.after.is_some() && present.found.kind != Kind::Folder;
        if is_replaced && !is_root() && present.found.uid != geteuid().as_raw() {
            let owner = present.found.uid;
            let reason = format!("it belongs to user {owner}, and only root can keep that");
            return Err(refused(path, &reason));
        }
        self.now.insert(path, present.found);
        Ok(())
    }

    /// A new path needs a folder that is there, or new, too.
    fn judge_parent(&mut self, change: &'c PathChange) -> Result<(), WorkTreeError> {
        let path = &change.path;
        let (Some(_), Some(parent)) = (&change.after, path.parent()) else {
            return Ok(());
        };
        let is_folder = if let Some(change) = self.by_path.get(&parent) {
            change.after.as_ref().is_some_and(TreeNode::is_folder)
        } else {
            let found = look(self.root, &parent).map_err(|fault| io_error(path, fault))?;
            found.is_some_and(|found| found.kind == Kind::Folder)
        };
        if !is_folder {
            self.conflicts.insert(path);
        }
        Ok(())
    }

    /// A folder that holds more than the changes remove stays.
    fn judge_removal(&mut self, change: &'c PathChange) -> Result<(), WorkTreeError> {
        let path = &change.path;
        let is_folder = |node: &Option<TreeNode>| node.as_ref().is_some_and(TreeNode::is_folder);
        let is_removed = is_folder(&change.before) && !is_folder(&change.after);
        if !is_removed || self.conflicts.contains(path) {
            return Ok(());
        }
        let refuse = |fault| open_error(path, fault);
        let (parent, name) = parent_of(self.root, path).map_err(refuse)?;
        let folder = open_folder(parent, name).map_err(refuse)?;
        for name in names(folder).map_err(refuse)? {
            let child = [path.as_bytes(), b"/", name.as_bytes()].concat();
            let child = WorkPath::from_bytes(&child).ok();
            let gone = child
                .as_ref()
                .and_then(|child| self.by_path.get_key_value(child));
            let is_gone = gone.is_some_and(|(child, change)| {
                change.after.is_none() && !self.kept.contains(child)
            });
            if is_gone {
                continue;
            }
            if change.after.is_some() {
                self.conflicts.insert(path);
            } else {
                self.kept.insert(path);
            }
            break;
        }
        Ok(())
    }

    /// Removals first, children before their folder; then arrivals, a folder before its children.
    fn steps(&self, changes: &'c [PathChange]) -> Vec<Planned<'c>> {
        let is_folder = |node: &Option<TreeNode>| node.as_ref().is_some_and(TreeNode::is_folder);
        let mut steps = Vec::new();
        for change in changes.iter().rev() {
            let (path, after) = (&change.path, &change.after);
            let Some(old) = self.now.get(path).copied() else {
                continue;
            };
            if old.kind == Kind::Folder {
                if !is_folder(after) && !self.kept.contains(path) {
                    steps.push(Planned::RemoveFolder { old, path });
                }
            } else if after.is_none() || is_folder(after) {
                steps.push(Planned::Leave { old, path });
            }
        }
        for change in changes {
            let path = &change.path;
            let Some(new) = &change.after else {
                continue;
            };
            match (self.now.get(path).copied(), &change.before) {
                (Some(old), Some(before)) if old.kind != Kind::Folder && !new.is_folder() => {
                    steps.push(Planned::Swap {
                        before,
                        new,
                        old,
                        path,
                    });
                }
                (Some(old), _) if old.kind == Kind::Folder && new.is_folder() => {}
                _ => steps.push(Planned::Enter { new, path }),
            }
        }
        steps
    }

    /// Folders whose mode changes, and those that must be opened for their entries to change.
    fn modes(
        &self,
        changes: &'c [PathChange],
        steps: &[Planned<'c>],
    ) -> Result<Vec<FolderMode>, WorkTreeError> {
        let mut modes = BTreeMap::new();
        for change in changes {
            let mode = |node: &Option<TreeNode>| {
                let folder = node.as_ref().filter(|node| node.is_folder());
                folder.and_then(TreeNode::mode)
            };
            let (mut before, mut after) = (mode(&change.before), mode(&change.after));
            if change.before.is_none() && self.now.contains_key(&change.path) {
                before = after;
            }
            if self.kept.contains(&change.path) {
                after = before;
            }
            if before.is_some() || after.is_some() {
                let path = Some(change.path.clone());
                modes.insert(path, (before, after));
            }
        }
        for step in steps {
            let parent = step.path().parent();
            if modes.contains_key(&parent) {
                continue;
            }
            let refuse = |fault| open_error(step.path(), fault);
            let folder = match &parent {
                None => hold(self.root, OsStr::new(".")).map_err(refuse)?,
                Some(_) => parent_of(self.root, step.path()).map_err(refuse)?.0,
            };
            if !is_open(folder.as_fd()) {
                let mode = Found::of_open(&folder).map_err(refuse)?.mode;
                modes.insert(parent, (Some(mode), Some(mode)));
            }
        }
        let folders = modes.into_iter();
        let folders = folders.map(|(path, (before, after))| FolderMode {
            after,
            before,
            path,
        });
        Ok(folders.collect())
    }
}

/// True if this process may change the entries of a folder.
pub(super) fn is_open(folder: BorrowedFd<'_>) -> bool {
    let access = Access::WRITE_OK.union(Access::EXEC_OK);
    accessat(folder, ".", access, AtFlags::EACCESS).is_ok()
}

/// Refuses two new paths that a file system without case takes for one.
fn refuse_twins(changes: &[PathChange]) -> Result<(), WorkTreeError> {
    let mut seen = BTreeMap::new();
    for change in changes.iter().filter(|change| change.after.is_some()) {
        let path = &change.path;
        if let Some(other) = seen.insert(path.folded(), path) {
            let reason = format!("on this file system it is the same name as {other}; rename one");
            return Err(refused(path, &reason));
        }
    }
    Ok(())
}

fn refused(path: &WorkPath, reason: &str) -> WorkTreeError {
    WorkTreeError::Refused {
        path: path.clone(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use monolith_core::message::Digest;

    use super::*;

    #[test]
    fn names_that_differ_in_case_alone_are_refused_where_they_are_one() {
        let create = |text: &str| PathChange {
            path: text.parse().expect("a path"),
            before: None,
            after: Some(TreeNode::Link {
                target: Digest::ZERO,
            }),
        };
        assert!(refuse_twins(&[create("a"), create("b")]).is_ok());
        let error = refuse_twins(&[create("Read.me"), create("read.me")]).expect_err("twins");
        let text = error.to_string();
        assert!(
            text.starts_with("read.me: ") && text.contains("Read.me"),
            "{text}"
        );
    }
}
