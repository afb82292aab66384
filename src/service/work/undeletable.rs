//! The items that must stay: one whose change may be in its work tree without a receipt, and one that an unfinished item reconciles.
//! Deletes nothing.

use std::path::{Path, PathBuf};

use super::rows::{item_rows, open_items};
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::view::item::kept_folder;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::StoreReader;
use monolith_host::work_tree::has_journal;

/// Refuses to delete an item whose change may be in its work tree without a receipt; without `force`, each that has not ended.
///
/// # Errors
/// [`WorkFault::Unsettled`], [`WorkFault::Unended`]
pub(crate) fn judge_open_items(
    store: &Path,
    reader: &mut StoreReader,
    (runs, force): (&[RunId], bool),
) -> Result<(), ServiceError> {
    for run_id in runs {
        if reader.kind_of(run_id)? != Some(TranscriptKind::Work) || !reader.is_open(run_id)? {
            continue;
        }
        let kept = kept_folder(store);
        let has_journal = has_journal(&kept, run_id.as_str());
        let has_journal = has_journal.map_err(|fault| WorkFault::Receipt {
            path: kept.clone(),
            reason: fault.to_string(),
        })?;
        let work_id = run_id.clone();
        let file = file_of(reader, run_id);
        if has_journal {
            return Err(WorkFault::Unsettled { file, work_id }.into());
        }
        if !force {
            return Err(WorkFault::Unended { file, work_id }.into());
        }
    }
    Ok(())
}

/// The file of items that began an attempt, if it is recorded.
fn file_of(reader: &StoreReader, work_id: &RunId) -> Option<PathBuf> {
    let begun = reader.invocation(work_id).ok().flatten();
    begun.map(|begun| begun.contract_file)
}

/// An unfinished item that reconciles others.
#[derive(Clone, Debug)]
pub(crate) struct Reconciler {
    file: Option<PathBuf>,
    item: String,
    /// The attempts whose receipts it reads.
    pub(crate) reads: Vec<RunId>,
    /// Its own attempt.
    pub(crate) work_id: RunId,
}

impl Reconciler {
    /// Finds all of a store.
    ///
    /// # Errors
    /// The store cannot be read. What does not read keeps nothing from being deleted.
    pub(crate) fn all(reader: &mut StoreReader) -> Result<Vec<Self>, ServiceError> {
        let mut found = Vec::new();
        for work_id in open_items(reader)? {
            let Ok(work) = reader.work(&work_id) else {
                continue;
            };
            if work.reconciled().is_empty() {
                continue;
            }
            let mut reads = Vec::new();
            for other in item_rows(reader)? {
                if let Ok(Some(receipt)) = reader.receipt(&other)
                    && work.reconciled().contains(&receipt.id())
                {
                    reads.push(other);
                }
            }
            found.push(Self {
                file: file_of(reader, &work_id),
                item: work.started().item.id.clone(),
                reads,
                work_id,
            });
        }
        Ok(found)
    }

    /// The reason why an item that it reads must stay.
    pub(crate) fn needs(&self, run_id: &RunId) -> WorkFault {
        WorkFault::Reconciled {
            file: self.file.clone(),
            item: self.item.clone(),
            work_id: run_id.clone(),
        }
    }
}
