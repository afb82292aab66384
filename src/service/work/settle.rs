//! Items whose changes are in the work tree, completely, and whose process was killed before it noted that: each gets its end and its receipt.
//! Publishes nothing.

use std::panic::resume_unwind;
use std::thread;

use super::common::{go_on, scan_for};
use super::sealing::facts_of;
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::error::work::WorkFault;
use monolith_core::message::{Digest, RunId};
use monolith_core::work::{Receipt, WorkEffect, WorkEntryKind, WorkEvent, WorkEventKind};
use monolith_host::store::{Store, StoreError, WorkRecord};
use monolith_host::work_tree::WorkTree;

/// Ends the unfinished items whose publications are complete, whatever their file says now. Returns their receipts.
///
/// # Errors
/// The store cannot be written. The next process tries again.
pub(super) fn settle(store: &Store, tree: &WorkTree) -> Result<Vec<Receipt>, ServiceError> {
    let completed = tree.completed().map_err(WorkFault::from)?;
    if completed.is_empty() {
        return Ok(Vec::new());
    }
    let settling = || -> Result<Vec<Receipt>, ServiceError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime
            .enable_all()
            .build()
            .map_err(|fault| SystemFault::Runtime {
                reason: fault.to_string(),
            })?;
        runtime.block_on(Box::pin(settled(store, tree, completed)))
    };
    // The caller may stand on a thread of a runtime, which cannot wait for another one.
    let done = thread::scope(|scope| scope.spawn(settling).join());
    done.unwrap_or_else(|payload| resume_unwind(payload))
}

async fn settled(
    store: &Store,
    tree: &WorkTree,
    completed: Vec<String>,
) -> Result<Vec<Receipt>, ServiceError> {
    let mut receipts = Vec::new();
    for id in completed {
        let work_id = RunId::try_from(id.clone()).ok();
        let is_open =
            |work_id: &RunId| -> Result<bool, StoreError> { store.reader()?.is_open(work_id) };
        if let Some(work_id) = work_id
            && is_open(&work_id)?
        {
            let Some(receipt) = settled_item(store, tree, &work_id).await? else {
                // It takes its changes back, and has no end yet.
                continue;
            };
            receipts.push(receipt);
            tree.remove_scratch(&id).map_err(WorkFault::from)?;
        }
        tree.acknowledge(&id).map_err(WorkFault::from)?;
    }
    Ok(receipts)
}

/// Ends one item; `None` if it does something else by now.
async fn settled_item(
    store: &Store,
    tree: &WorkTree,
    work_id: &RunId,
) -> Result<Option<Receipt>, ServiceError> {
    let lock = store.lock_run(work_id)?;
    let (mut record, mut work) = WorkRecord::resume(store, work_id).await?;
    if work.under_way() != Some(&WorkEffect::Publish) {
        return Ok(None);
    }
    let item = work.started().item.clone();
    let of_item = work
        .capsule()
        .map_or(Digest::ZERO, |capsule| capsule.output_hash);
    // It is published, whatever becomes of this scan.
    let present = scan_for(tree, &item, work.before(), &go_on);
    let after = present.map_or(of_item, |scan| scan.manifest.hash());
    let at_ms = work.elapsed_ms();
    for event in [WorkEventKind::Resumed, WorkEventKind::Published { after }] {
        let Some(draft) = work.step(WorkEvent { at_ms, event }) else {
            break;
        };
        if draft.action.kind == WorkEntryKind::Seal {
            let facts = facts_of(tree, &work, false).map_err(WorkFault::from)?;
            let receipt = record.seal(&draft, &work, &facts).await?;
            lock.discard();
            return Ok(Some(receipt));
        }
        record.append(&draft).await?;
    }
    Ok(None)
}
