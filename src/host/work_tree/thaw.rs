//! Takes an item's changes back later: path by path, where nothing else has changed them. Overwrites nobody's work.

use monolith_core::work::{PathChange, WorkPath};

use super::error::WorkTreeError;
use super::folder::read_node;
use super::journal::Purpose;
use super::locked_tree::WorkTree;

/// The outcome of a thaw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thawed {
    /// Folders that stay, for they hold files of others.
    pub kept: Vec<WorkPath>,
    /// Paths that are not as the item left them. They stay as they are.
    pub left: Vec<WorkPath>,
    /// Paths that are as they were before the item.
    pub restored: Vec<WorkPath>,
}

impl WorkTree {
    /// Takes an item's changes back, path by path, where the tree is still as the item left it.
    ///
    /// # Errors
    /// The errors of [`Self::publish`], except `Conflict`.
    pub fn thaw(&self, id: &str, changes: &[PathChange]) -> Result<Thawed, WorkTreeError> {
        let mut thawed = Thawed::default();
        let mut reverse = Vec::new();
        for change in changes {
            let now = match read_node(self.root(), &change.path) {
                Err(WorkTreeError::Moved { path }) => {
                    thawed.left.push(path);
                    continue;
                }
                now => now?.map(|now| now.node),
            };
            if now == change.after {
                reverse.push(PathChange {
                    after: change.before.clone(),
                    before: change.after.clone(),
                    path: change.path.clone(),
                });
            } else if now != change.before {
                thawed.left.push(change.path.clone());
            }
        }
        loop {
            match self.publish_as((id, Purpose::Thaw), &reverse) {
                Ok(published) => {
                    let is_kept = |change: &&PathChange| published.kept.contains(&change.path);
                    let restored = reverse.iter().filter(|change| !is_kept(change));
                    thawed.restored = restored.map(|change| change.path.clone()).collect();
                    thawed.kept = published.kept;
                    thawed.left.sort();
                    return Ok(thawed);
                }
                // A folder on the way is gone, or something writes there now: the others are restored.
                Err(WorkTreeError::Conflict { paths }) if !paths.is_empty() => {
                    reverse.retain(|change| !paths.contains(&change.path));
                    thawed.left.extend(paths);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
