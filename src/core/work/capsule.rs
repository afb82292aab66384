//! The capsule: the changes of one attempt, counted for admission.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{PathChange, TreeNode, WorkPath};
use crate::message::Digest;

/// The changes that one attempt made to its scratch tree, and its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capsule {
    /// Every path that differs from the snapshot, in order of its bytes.
    pub changes: Vec<PathChange>,
    /// The counts of state changes.
    pub deltas: Deltas,
    /// Changed paths that are no part of the tree: they are thrown away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<WorkPath>,
    /// Required output files that do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_outputs: Vec<WorkPath>,
    /// The tree hash of the snapshot with these changes.
    pub output_hash: Digest,
    /// Paths that calls changed, those included that ended as they began.
    pub touched: BTreeSet<WorkPath>,
}

/// The counts of state changes (004 rule 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deltas {
    /// Links, renames and folders.
    pub lambda: u64,
    /// Edit hunks; a created or deleted file is one.
    pub o: u64,
    /// Changes of mode, owner or grants.
    pub pi: u64,
    /// Items queued, and calls outside the tree.
    pub q: u64,
}

impl Deltas {
    /// The delta size.
    #[must_use]
    pub const fn size(&self) -> u64 {
        let sum = self.o.saturating_add(self.pi);
        sum.saturating_add(self.lambda).saturating_add(self.q)
    }

    /// Counts changed paths. `hunks` returns the edit hunks of a file whose content differs; `external` counts items queued and calls
    /// outside the tree.
    #[must_use]
    pub fn of_changes(
        changes: &[PathChange],
        mut hunks: impl FnMut(&PathChange) -> u64,
        external: u64,
    ) -> Self {
        let mut renames = Renames::among(changes);
        let mut deltas = Self {
            q: external,
            ..Self::default()
        };
        for change in changes {
            match (&change.before, &change.after) {
                (None, Some(file)) if renames.takes_new(file) => {
                    deltas.lambda = deltas.lambda.saturating_add(1);
                }
                (Some(file), None) if renames.takes_old(file) => {}
                _ => deltas.add(change, &mut hunks),
            }
        }
        deltas
    }

    fn add(&mut self, change: &PathChange, hunks: &mut impl FnMut(&PathChange) -> u64) {
        match (&change.before, &change.after) {
            (
                Some(TreeNode::File { content: old, .. }),
                Some(TreeNode::File { content: new, .. }),
            ) => {
                if old != new {
                    self.o = self.o.saturating_add(hunks(change).max(1));
                }
                self.add_mode(change);
            }
            (Some(TreeNode::Folder { .. }), Some(TreeNode::Folder { .. })) => self.add_mode(change),
            (before, after) => {
                // A path whose kind changed is a deletion and a creation.
                for node in [before, after].into_iter().flatten() {
                    match node {
                        TreeNode::File { .. } => self.o = self.o.saturating_add(1),
                        TreeNode::Folder { .. } | TreeNode::Link { .. } => {
                            self.lambda = self.lambda.saturating_add(1);
                        }
                    }
                }
            }
        }
    }

    fn add_mode(&mut self, change: &PathChange) {
        let mode = |node: &Option<TreeNode>| node.as_ref().and_then(TreeNode::mode);
        if mode(&change.before) != mode(&change.after) {
            self.pi = self.pi.saturating_add(1);
        }
    }
}

/// Deleted files whose content a created file has: the two are one rename.
struct Renames {
    /// Number of created files that are left to be paired, by content.
    new: BTreeMap<Digest, u64>,
    /// Number of deleted files that are left to be paired, by content.
    old: BTreeMap<Digest, u64>,
}

impl Renames {
    fn among(changes: &[PathChange]) -> Self {
        let (mut new, mut old) = (BTreeMap::new(), BTreeMap::new());
        for change in changes {
            let (counts, node) = match (&change.before, &change.after) {
                (None, Some(node)) => (&mut new, node),
                (Some(node), None) => (&mut old, node),
                _ => continue,
            };
            if let TreeNode::File { content, .. } = node {
                *counts.entry(*content).or_insert(0_u64) += 1;
            }
        }
        let pairs = |(content, count): (&Digest, &u64)| {
            let others: u64 = old.get(content).copied().unwrap_or_default();
            (*content, others.min(*count))
        };
        let pairs: BTreeMap<Digest, u64> = new.iter().map(pairs).collect();
        Self {
            new: pairs.clone(),
            old: pairs,
        }
    }

    fn takes_new(&mut self, node: &TreeNode) -> bool {
        take(&mut self.new, node)
    }

    fn takes_old(&mut self, node: &TreeNode) -> bool {
        take(&mut self.old, node)
    }
}

/// Takes one of the counted files with the content of `node`; false if there is none.
fn take(counts: &mut BTreeMap<Digest, u64>, node: &TreeNode) -> bool {
    let TreeNode::File { content, .. } = node else {
        return false;
    };
    let Some(count) = counts.get_mut(content).filter(|count| **count > 0) else {
        return false;
    };
    *count -= 1;
    true
}

impl Capsule {
    /// Distinct files touched (004 rule 1): changed paths and those of calls. A folder is no file.
    #[must_use]
    pub fn files_touched(&self) -> u64 {
        let is_folder = |change: &PathChange| {
            let nodes = [&change.before, &change.after];
            nodes.into_iter().flatten().all(TreeNode::is_folder)
        };
        let changed = self.changes.iter().filter(|change| !is_folder(change));
        let files: BTreeSet<_> = changed
            .map(|change| &change.path)
            .chain(&self.touched)
            .collect();
        files.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkPath {
        text.parse().expect("a path")
    }

    fn file(content: &[u8], mode: u32) -> TreeNode {
        TreeNode::File {
            content: Digest::of(content),
            mode,
            size: content.len() as u64,
        }
    }

    fn change(text: &str, before: Option<TreeNode>, after: Option<TreeNode>) -> PathChange {
        PathChange {
            path: path(text),
            before,
            after,
        }
    }

    fn deltas(changes: &[PathChange]) -> Deltas {
        Deltas::of_changes(changes, |_| 3, 0)
    }

    #[test]
    fn an_edited_file_counts_its_hunks_and_a_created_or_deleted_one_counts_once() {
        let edited = change("a", Some(file(b"x", 0o644)), Some(file(b"y", 0o644)));
        let created = change("b", None, Some(file(b"x", 0o644)));
        let deleted = change("c", Some(file(b"z", 0o644)), None);
        assert_eq!(
            deltas(&[edited]),
            Deltas {
                o: 3,
                ..Deltas::default()
            }
        );
        assert_eq!(
            deltas(&[created, deleted]),
            Deltas {
                o: 2,
                ..Deltas::default()
            }
        );
    }

    #[test]
    fn a_changed_mode_is_a_permission_and_a_link_or_folder_a_relation() {
        let mode = change("a", Some(file(b"x", 0o644)), Some(file(b"x", 0o755)));
        assert_eq!(
            deltas(&[mode]),
            Deltas {
                pi: 1,
                ..Deltas::default()
            }
        );
        let link = change(
            "l",
            None,
            Some(TreeNode::Link {
                target: Digest::of(b"a"),
            }),
        );
        let folder = change("d", None, Some(TreeNode::Folder { mode: 0o755 }));
        assert_eq!(
            deltas(&[link, folder]),
            Deltas {
                lambda: 2,
                ..Deltas::default()
            }
        );
    }

    #[test]
    fn a_renamed_file_is_one_relation_and_a_copy_is_a_new_file() {
        let old = change("a", Some(file(b"x", 0o644)), None);
        let new = change("b", None, Some(file(b"x", 0o644)));
        let copy = change("c", None, Some(file(b"x", 0o644)));
        let renamed = [old.clone(), new.clone()];
        assert_eq!(
            deltas(&renamed),
            Deltas {
                lambda: 1,
                ..Deltas::default()
            }
        );
        let copied = [old, new, copy];
        assert_eq!(
            deltas(&copied),
            Deltas {
                o: 1,
                lambda: 1,
                ..Deltas::default()
            }
        );
    }

    #[test]
    fn items_queued_and_calls_outside_the_tree_are_added() {
        assert_eq!(
            Deltas::of_changes(&[], |_| 3, 2),
            Deltas {
                q: 2,
                ..Deltas::default()
            }
        );
    }

    #[test]
    fn a_file_that_replaces_a_folder_is_two_changes() {
        let both = change(
            "a",
            Some(TreeNode::Folder { mode: 0o755 }),
            Some(file(b"x", 0o644)),
        );
        assert_eq!(
            deltas(&[both]),
            Deltas {
                o: 1,
                lambda: 1,
                ..Deltas::default()
            }
        );
    }

    /// 004/5.admission.7
    #[test]
    fn the_size_is_the_sum_of_the_four() {
        assert_eq!(
            Deltas {
                o: 1,
                pi: 2,
                lambda: 4,
                q: 8
            }
            .size(),
            15
        );
        assert_eq!(
            Deltas {
                o: u64::MAX,
                pi: 2,
                lambda: 4,
                q: 8
            }
            .size(),
            u64::MAX
        );
    }

    /// 004/5.admission.2
    #[test]
    fn files_touched_are_those_of_calls_and_of_the_difference_once_each() {
        let capsule = Capsule {
            changes: vec![
                change("a", None, Some(file(b"x", 0o644))),
                change("d", None, Some(TreeNode::Folder { mode: 0o755 })),
            ],
            touched: [path("a"), path("back-as-it-was")].into(),
            ..Capsule::default()
        };
        assert_eq!(capsule.files_touched(), 2);
    }
}
