//! The last steps of an item: its changes reach the work tree, or are taken back. Each returns an event.

use std::sync::Arc;

use super::answer::{Answer, Signals};
use super::common::{go_on, scan_for};
use super::steps::Subject;
use crate::error::ServiceError;
use monolith_core::message::Digest;
use monolith_core::work::{PathChange, WorkEventKind, WorkItem};
use monolith_host::work_tree::{Watch, WorkTree, WorkTreeError};

/// A publication. No earlier process has completed it: its item would have ended before.
pub(super) struct Publication {
    /// The tree hash of the tree that the item began from.
    pub(super) before: Option<Digest>,
    pub(super) changes: Arc<[PathChange]>,
    /// The tree hash of the work tree on which the tests were green; `None` if that is not known.
    pub(super) tested_on: Option<Digest>,
}

impl Subject {
    /// Publishes the changes, unless the tree moved. A stop does not interrupt it; it is left before it has begun only.
    pub(super) async fn publish(
        self,
        publication: Publication,
        signals: Signals,
    ) -> Result<Answer, ServiceError> {
        let (item, id) = (Arc::clone(&self.item), self.work_id.clone());
        let leaving = Signals {
            suspend: signals.suspend,
            ..Signals::default()
        };
        let watch = leaving.watch();
        let published = self
            .common
            .on_tree(move |tree| published(tree, (&*item, id.as_str()), &publication, &watch));
        Ok(match published.await? {
            Ok(event) => Answer::Event(event),
            Err(
                fault @ (WorkTreeError::RolledBack { .. } | WorkTreeError::RollBackFailed { .. }),
            ) => Answer::Event(WorkEventKind::PublishFailed {
                reason: fault.to_string(),
            }),
            Err(fault) => leaving.refused(fault),
        })
    }

    /// Takes back what a failed publication left. The file layer has done so, unless it could not.
    pub(super) async fn roll_back(
        self,
        changes: Arc<[PathChange]>,
    ) -> Result<Answer, ServiceError> {
        let id = self.work_id.clone();
        let restored = self
            .common
            .on_tree(move |tree| Ok(tree.thaw(id.as_str(), &changes)?.left));
        let event = match restored.await? {
            Ok(left) if left.is_empty() => WorkEventKind::RolledBack,
            Ok(left) => {
                let paths: Vec<String> = left.iter().map(ToString::to_string).collect();
                let reason = format!("something else has changed {}", paths.join(", "));
                WorkEventKind::RollBackFailed { reason }
            }
            Err(fault) => WorkEventKind::RollBackFailed {
                reason: fault.to_string(),
            },
        };
        Ok(Answer::Event(event))
    }
}

fn published(
    tree: &WorkTree,
    (item, id): (&WorkItem, &str),
    publication: &Publication,
    watch: Watch<'_>,
) -> Result<WorkEventKind, WorkTreeError> {
    let Publication {
        before,
        changes,
        tested_on,
    } = publication;
    let present = scan_for(tree, item, *before, watch)?.manifest;
    let others = changes.iter();
    let others = others.filter(|change| !change.fits(present.get(&change.path)));
    let paths: Vec<_> = others.map(|change| change.path.clone()).collect();
    if !paths.is_empty() {
        return Ok(WorkEventKind::Conflict { paths });
    }
    if item.test_command.is_some() && *tested_on != Some(present.hash()) {
        return Ok(WorkEventKind::Moved);
    }
    tree.publish(id, changes)?;
    // The changes are durable, whatever becomes of this scan.
    let after = scan_for(tree, item, *before, &go_on);
    let after = after.map_or_else(
        |_| present.with(changes).hash(),
        |scan| scan.manifest.hash(),
    );
    Ok(WorkEventKind::Published { after })
}
