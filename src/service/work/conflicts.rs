//! The items that another item reconciles: the versions of their files, and their description in its task. Runs nothing.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::error::work::WorkFault;
use monolith_core::message::Digest;
use monolith_core::work::{PathChange, Receipt, TreeNode};
use monolith_host::store::StoreReader;
use monolith_host::work_tree::ASIDE;

/// The receipts of these ids.
///
/// # Errors
/// [`WorkFault::NoReceipt`] if one was deleted.
pub(super) fn receipts_of(
    reader: &mut StoreReader,
    ids: &[String],
) -> Result<Vec<Receipt>, ServiceError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let receipts = reader.receipts()?;
    let found = ids.iter().map(|id| {
        let found = receipts.iter().find(|receipt| receipt.id() == *id);
        let none = || ServiceError::from(WorkFault::NoReceipt { asked: id.clone() });
        found.cloned().ok_or_else(none)
    });
    found.collect()
}

/// The files that the agent reads: each changed file of each item that conflicted, before and after.
pub(super) fn files_of(receipts: &[Receipt]) -> Vec<(PathBuf, Digest)> {
    let mut files = Vec::new();
    for receipt in receipts.iter().filter(|receipt| has_conflict(receipt)) {
        for change in changes_of(receipt) {
            for (version, node) in versions_of(change) {
                if let Some(TreeNode::File { content, .. }) = node {
                    let place = Path::new(&receipt.item.id).join(version);
                    let path = OsStr::from_bytes(change.path.as_bytes());
                    files.push((place.join(path), *content));
                }
            }
        }
    }
    files
}

/// The description of the items for the agent; empty if there are none.
pub(super) fn task_text(receipts: &[Receipt]) -> String {
    let mut text = String::new();
    if receipts.is_empty() {
        return text;
    }
    text.push_str(
        "\n\nThese items ended without success, so nothing of them is in this folder. Merge the changes of those that conflicted.",
    );
    for receipt in receipts {
        let (item, id) = (&receipt.item, receipt.id());
        let denial = receipt.end.denial.as_ref().map(ToString::to_string);
        let why = receipt.end.error.clone().or(denial).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n\nItem {} ({why}; receipt {id}): {}",
            item.id, item.description
        );
        if has_conflict(receipt) {
            for change in changes_of(receipt) {
                text.push_str(&change_text(receipt, change));
            }
        }
    }
    text
}

/// A change in words, with the files that have its versions.
fn change_text(receipt: &Receipt, change: &PathChange) -> String {
    let verb = match (&change.before, &change.after) {
        (None, _) => "creates",
        (_, None) => "deletes",
        (Some(_), Some(_)) => "changes",
    };
    let is_conflict = receipt.end.conflicts.contains(&change.path);
    let conflict = if is_conflict { " (conflict)" } else { "" };
    let mut text = format!("\n- {verb} {}{conflict}", change.path);
    for (version, node) in versions_of(change) {
        // Writing to a String cannot fail.
        let _ = match node {
            Some(TreeNode::File { .. }) => {
                let (item, path) = (&receipt.item.id, &change.path);
                write!(text, "; {version}: {ASIDE}/{item}/{version}/{path}")
            }
            Some(TreeNode::Folder { .. }) => write!(text, "; {version}: a folder"),
            Some(TreeNode::Link { .. }) => write!(text, "; {version}: a link"),
            None => Ok(()),
        };
    }
    text
}

fn has_conflict(receipt: &Receipt) -> bool {
    !receipt.end.conflicts.is_empty()
}

fn changes_of(receipt: &Receipt) -> impl Iterator<Item = &PathChange> {
    receipt.capsule.iter().flat_map(|capsule| &capsule.changes)
}

fn versions_of(change: &PathChange) -> [(&'static str, Option<&TreeNode>); 2] {
    [
        ("before", change.before.as_ref()),
        ("after", change.after.as_ref()),
    ]
}
