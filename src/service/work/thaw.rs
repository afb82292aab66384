//! The changes of an item, taken back later: each path that nothing else has changed since.

use std::path::PathBuf;

use serde::Serialize;

use super::receipt_files::keep_all;
use super::receipts::{FoundReceipt, find_published, unfinished};
use super::run::lock;
use super::settle::settle;
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::exit::Exit;
use crate::service::Service;
use monolith_core::work::WorkPath;
use monolith_host::store::Durability;

/// The result of a thaw.
#[derive(Clone, Debug, Serialize)]
pub struct ThawReport {
    /// Folders that stay, because they hold other files.
    pub kept: Vec<WorkPath>,
    /// Paths that are not as the item left them. They stay as they are.
    pub left: Vec<WorkPath>,
    /// The receipt.
    pub receipt_id: String,
    /// Paths that are as they were before the item.
    pub restored: Vec<WorkPath>,
    /// The work tree.
    pub work_tree: PathBuf,
}

impl ThawReport {
    /// Returns the exit code: 0 if every path was restored.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        if self.left.is_empty() {
            Exit::OK
        } else {
            Exit::FAILED
        }
    }
}

/// Takes the changes of an item back.
///
/// # Errors
/// There is no such receipt, its item published nothing, or the work tree cannot be changed.
pub fn thaw(service: &Service, asked: &str) -> Result<ThawReport, ServiceError> {
    settle_left(service, asked)?;
    let found = find_published(service, asked)?;
    let FoundReceipt { receipt, .. } = &found;
    let published = receipt.capsule.as_ref();
    let published = published.filter(|_| receipt.published.is_some());
    let nothing = || WorkFault::NothingPublished {
        action: "thaw",
        id: receipt.id(),
    };
    let changes = &published.ok_or_else(nothing)?.changes;
    let root = found.work_tree()?;
    let store = service.open_store(Durability::Full)?;
    let (tree, _) = lock(service, &store, root)?;
    // A killed process may have published another item: its changes go no other way than these.
    if !settle(&store, &tree)?.is_empty() {
        keep_all(service, &mut store.reader()?, &tree)?;
    }
    let thawed = tree.thaw(receipt.work_id.as_str(), changes);
    let thawed = thawed.map_err(WorkFault::from)?;
    Ok(ThawReport {
        kept: thawed.kept,
        left: thawed.left,
        receipt_id: receipt.id(),
        restored: thawed.restored,
        work_tree: root.to_owned(),
    })
}

/// Ends an unfinished item of that id as published, if its process was killed after that: then its receipt is the newest.
fn settle_left(service: &Service, asked: &str) -> Result<(), ServiceError> {
    // An attempt that does not read has no receipt.
    let Ok(Some(work_id)) = unfinished(service, asked) else {
        return Ok(());
    };
    let store = service.open_store(Durability::Full)?;
    let mut reader = store.reader()?;
    let Some(begun) = reader.invocation(&work_id)? else {
        return Ok(());
    };
    // An item that another process drives, or whose tree is gone, has no receipt yet: an earlier one counts.
    if let Ok((tree, _)) = lock(service, &store, &begun.base_dir)
        && !settle(&store, &tree)?.is_empty()
    {
        keep_all(service, &mut reader, &tree)?;
    }
    Ok(())
}
