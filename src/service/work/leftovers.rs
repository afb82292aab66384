//! What earlier processes left of the items of a tree: attempts that are resumed, receipts that settle an item, and scratch trees that
//! nothing resumes any more.

use std::collections::BTreeMap;

use super::file::WorkFile;
use super::rows::open_items;
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::service::Service;
use monolith_core::message::RunId;
use monolith_core::work::Receipt;
use monolith_host::store::StoreReader;
use monolith_host::work_tree::WorkTree;

/// The attempts at these items that an earlier process left in this tree.
pub(super) fn left_items(
    file: &WorkFile,
    reader: &mut StoreReader,
) -> Result<BTreeMap<usize, RunId>, ServiceError> {
    let mut left = BTreeMap::new();
    for work_id in open_items(reader)? {
        let invocation = reader.invocation(&work_id)?;
        if invocation.is_none_or(|begun| begun.base_dir != file.root) {
            continue;
        }
        let work = reader.work(&work_id)?;
        let started = work.started();
        if let Some(index) = file.position(&started.item, started.contract_hash) {
            // The newest comes first.
            left.entry(index).or_insert(work_id);
        }
    }
    Ok(left)
}

/// The receipts of the items of the file that a left item reconciles already, by their ids.
pub(super) fn settled_items(
    file: &WorkFile,
    left: &BTreeMap<usize, RunId>,
    (reader, receipts): (&mut StoreReader, &[Receipt]),
) -> Result<BTreeMap<String, Receipt>, ServiceError> {
    let mut settled = BTreeMap::new();
    for work_id in left.values() {
        let work = reader.work(work_id)?;
        for id in work.reconciled() {
            let receipt = receipts.iter().find(|receipt| receipt.id() == *id);
            let receipt = receipt.filter(|receipt| is_of_file(file, receipt));
            settled.extend(receipt.map(|receipt| (receipt.item.id.clone(), receipt.clone())));
        }
    }
    Ok(settled)
}

/// True if the file has the item of a receipt, unchanged.
pub(super) fn is_of_file(file: &WorkFile, receipt: &Receipt) -> bool {
    let position = file.position(&receipt.item, receipt.contract_hash);
    position.is_some()
}

/// Removes the scratch trees of items that have ended, and of those that their files do not resume any more.
pub(super) fn remove_leftovers(
    (service, tree): (&Service, &WorkTree),
    left: &BTreeMap<usize, RunId>,
    reader: &mut StoreReader,
) -> Result<(), ServiceError> {
    let open = open_items(reader)?;
    for id in tree.scratches().map_err(WorkFault::from)? {
        let is_left = left.values().any(|work_id| work_id.as_str() == id);
        let is_kept = match open.iter().find(|work_id| work_id.as_str() == id) {
            Some(work_id) => is_left || is_resumable(service, reader, work_id)?,
            None => false,
        };
        if !is_kept {
            tree.remove_scratch(&id).map_err(WorkFault::from)?;
        }
    }
    Ok(())
}

/// True if running its file again resumes an item.
fn is_resumable(
    service: &Service,
    reader: &mut StoreReader,
    work_id: &RunId,
) -> Result<bool, ServiceError> {
    let Some(begun) = reader.invocation(work_id)? else {
        return Ok(false);
    };
    let work = reader.work(work_id)?;
    let started = work.started();
    Ok(match WorkFile::read(service, &begun.contract_file) {
        Ok(file) => {
            let position = file.position(&started.item, started.contract_hash);
            file.root == begun.base_dir && position.is_some()
        }
        // Somebody may be writing it.
        Err(_) => begun.contract_file.exists(),
    })
}
