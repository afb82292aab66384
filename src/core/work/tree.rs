//! The manifest of a tree of files, its hash, and the difference of two manifests. Reads no file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WorkPath;
use crate::message::{Digest, DigestContext};

static TREE_CONTEXT: DigestContext = DigestContext::new("monolith work tree v1");

/// The mode bits that a tree hash includes: permissions and set-id bits.
pub const MODE_BITS: u32 = 0o7777;

/// Every path of a tree below its root, sorted by bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Manifest {
    nodes: BTreeMap<WorkPath, TreeNode>,
}

/// One path of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum TreeNode {
    /// A folder.
    Folder {
        /// Mode bits within [`MODE_BITS`].
        mode: u32,
    },
    /// A regular file.
    File {
        /// BLAKE3 of the content.
        content: Digest,
        /// Mode bits within [`MODE_BITS`].
        mode: u32,
        /// Size in bytes.
        size: u64,
    },
    /// A symbolic link.
    Link {
        /// BLAKE3 of the target's bytes.
        target: Digest,
    },
}

/// One path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathChange {
    /// The node after; none for a deleted path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<TreeNode>,
    /// The node before; none for a created path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TreeNode>,
    /// The path.
    pub path: WorkPath,
}

impl PathChange {
    /// True if the change can be made where the tree has this node: the node before, or the folder that it would create. Two items
    /// may well need one new folder.
    #[must_use]
    pub fn fits(&self, present: Option<&TreeNode>) -> bool {
        let is_made = self.before.is_none() && present.is_some_and(TreeNode::is_folder);
        present == self.before.as_ref() || is_made && present == self.after.as_ref()
    }
}

impl TreeNode {
    /// True for a folder.
    #[must_use]
    pub const fn is_folder(&self) -> bool {
        matches!(self, Self::Folder { .. })
    }

    /// Mode bits; none for a link.
    #[must_use]
    pub const fn mode(&self) -> Option<u32> {
        match self {
            Self::Folder { mode } | Self::File { mode, .. } => Some(*mode),
            Self::Link { .. } => None,
        }
    }

    /// The digest of a file's content or of a link's target; none for a folder.
    #[must_use]
    pub const fn content(&self) -> Option<&Digest> {
        match self {
            Self::Folder { .. } => None,
            Self::File { content, .. } => Some(content),
            Self::Link { target } => Some(target),
        }
    }

    const fn letter(&self) -> &'static [u8] {
        match self {
            Self::Folder { .. } => b"d",
            Self::File { .. } => b"f",
            Self::Link { .. } => b"l",
        }
    }
}

impl FromIterator<(WorkPath, TreeNode)> for Manifest {
    fn from_iter<I: IntoIterator<Item = (WorkPath, TreeNode)>>(nodes: I) -> Self {
        Self {
            nodes: nodes.into_iter().collect(),
        }
    }
}

impl Manifest {
    /// Adds or replaces a path.
    pub fn insert(&mut self, path: WorkPath, node: TreeNode) {
        self.nodes.insert(path, node);
    }

    /// Removes a path.
    pub fn remove(&mut self, path: &WorkPath) -> Option<TreeNode> {
        self.nodes.remove(path)
    }

    /// The node at a path.
    #[must_use]
    pub fn get(&self, path: &WorkPath) -> Option<&TreeNode> {
        self.nodes.get(path)
    }

    /// All paths in order of their bytes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&WorkPath, &TreeNode)> {
        self.nodes.iter()
    }

    /// Number of paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True without a path.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The tree hash: BLAKE3 with a key context over path, kind, mode and content of every path in order. The size of a file is part
    /// of its content.
    #[must_use]
    pub fn hash(&self) -> Digest {
        self.nodes
            .iter()
            .fold(Digest::ZERO, |before, (path, node)| {
                let mode = node.mode().unwrap_or_default().to_be_bytes();
                let content = node
                    .content()
                    .map_or(&[][..], |digest| digest.as_bytes().as_slice());
                TREE_CONTEXT.framed(&[
                    before.as_bytes(),
                    path.as_bytes(),
                    node.letter(),
                    &mode,
                    content,
                ])
            })
    }

    /// Every path that differs, in order of its bytes.
    #[must_use]
    pub fn changes_to(&self, after: &Self) -> Vec<PathChange> {
        let gone = self
            .nodes
            .iter()
            .filter(|(path, _)| !after.nodes.contains_key(*path));
        let gone = gone.map(|(path, node)| PathChange {
            path: path.clone(),
            before: Some(node.clone()),
            after: None,
        });
        let there = after
            .nodes
            .iter()
            .filter(|(path, node)| self.nodes.get(*path) != Some(*node));
        let there = there.map(|(path, node)| PathChange {
            path: path.clone(),
            before: self.nodes.get(path).cloned(),
            after: Some(node.clone()),
        });
        let mut changes: Vec<_> = gone.chain(there).collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// Returns the tree with the changes applied.
    #[must_use]
    pub fn with(&self, changes: &[PathChange]) -> Self {
        let mut tree = self.clone();
        for change in changes {
            match &change.after {
                Some(node) => tree.insert(change.path.clone(), node.clone()),
                None => drop(tree.nodes.remove(&change.path)),
            }
        }
        tree
    }

    /// Pairs of paths that one file cannot hold on a file system without case.
    #[must_use]
    pub fn case_collisions(&self) -> Vec<(&WorkPath, &WorkPath)> {
        let mut seen = BTreeMap::new();
        let mut pairs = Vec::new();
        for path in self.nodes.keys() {
            if let Some(earlier) = seen.insert(path.folded(), path) {
                pairs.push((earlier, path));
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> WorkPath {
        text.parse().expect("a path")
    }

    fn file(content: &str, mode: u32) -> TreeNode {
        TreeNode::File {
            content: Digest::of(content.as_bytes()),
            mode,
            size: content.len() as u64,
        }
    }

    fn tree(nodes: &[(&str, TreeNode)]) -> Manifest {
        let mut tree = Manifest::default();
        for (text, node) in nodes {
            tree.insert(path(text), node.clone());
        }
        tree
    }

    /// 004/3.result.7
    #[test]
    fn the_hash_covers_path_kind_mode_and_content() {
        let base = tree(&[("a", file("x", 0o644))]);
        let others = [
            tree(&[("b", file("x", 0o644))]),
            tree(&[("a", file("y", 0o644))]),
            tree(&[("a", file("x", 0o755))]),
            tree(&[(
                "a",
                TreeNode::Link {
                    target: Digest::of(b"x"),
                },
            )]),
            tree(&[("a", TreeNode::Folder { mode: 0o644 })]),
            tree(&[("a", file("x", 0o644)), ("b", file("x", 0o644))]),
            Manifest::default(),
        ];
        for other in &others {
            assert_ne!(base.hash(), other.hash(), "{other:?}");
        }
        assert_eq!(base.hash(), tree(&[("a", file("x", 0o644))]).hash());
    }

    #[test]
    fn a_difference_applied_to_the_first_tree_gives_the_second() {
        let before = tree(&[
            ("a", file("x", 0o644)),
            ("b", file("y", 0o644)),
            ("c", file("z", 0o644)),
        ]);
        let after = tree(&[
            ("a", file("x", 0o644)),
            ("b", file("y", 0o755)),
            ("d/e", file("z", 0o644)),
        ]);
        let changes = before.changes_to(&after);
        let names: Vec<_> = changes
            .iter()
            .map(|change| change.path.to_string())
            .collect();
        assert_eq!(names, ["b", "c", "d/e"]);
        assert_eq!(before.with(&changes), after);
        assert!(after.changes_to(&after).is_empty());
    }

    #[test]
    fn a_change_fits_the_node_before_and_a_folder_that_is_there_already() {
        let folder = |mode| Some(TreeNode::Folder { mode });
        let (old, new) = (Some(file("x", 0o644)), Some(file("y", 0o644)));
        for (before, after, present, fits) in [
            (&None, &folder(0o755), &None, true),
            (&None, &folder(0o755), &folder(0o755), true),
            (&None, &folder(0o755), &folder(0o700), false),
            (&None, &new, &new, false),
            (&old, &new, &old, true),
            (&old, &new, &new, false),
            (&old, &folder(0o755), &folder(0o755), false),
        ] {
            let (before, after, path) = (before.clone(), after.clone(), path("a"));
            let change = PathChange {
                after,
                before,
                path,
            };
            assert_eq!(
                change.fits(present.as_ref()),
                fits,
                "{change:?} {present:?}"
            );
        }
    }

    #[test]
    fn paths_that_differ_in_case_alone_are_found() {
        let tree = tree(&[("Read.me", file("x", 0o644)), ("read.me", file("y", 0o644))]);
        let pairs = tree.case_collisions();
        assert_eq!(pairs, [(&path("Read.me"), &path("read.me"))]);
    }
}
