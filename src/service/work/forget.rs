//! The files of a deleted item besides its rows: its receipt, its commits, its scratch tree, and kept contents that nothing else needs.
//! Deletes no row.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::needed_of;
use super::git::remove_commits;
use super::receipt_files::folder_of;
use super::run::lock;
use super::undeletable::judge_open_items;
use crate::error::ServiceError;
use crate::error::work::WorkFault;
use crate::service::Service;
use crate::view::item::kept_folder;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::{Durability, Store, StoreReader};
use monolith_host::work_tree::collect_contents;

/// The files of an item.
#[derive(Clone, Debug)]
struct ItemFiles {
    /// None for an item that has not ended.
    receipt_id: Option<String>,
    /// The work tree, if it is recorded.
    root: Option<PathBuf>,
    work_id: RunId,
}

/// The files of items that are about to be deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeletedItems(Vec<ItemFiles>);

impl DeletedItems {
    /// Finds the files of the items among these runs, while the store has their rows.
    ///
    /// # Errors
    /// One of them must stay, whatever was asked for.
    pub(crate) fn find(
        store: &Path,
        reader: &mut StoreReader,
        runs: &[RunId],
    ) -> Result<Self, ServiceError> {
        // The publication of one that was judged before may have begun meanwhile.
        judge_open_items(store, reader, (runs, true))?;
        let mut items = Vec::new();
        for run_id in runs {
            if reader.kind_of(run_id)? != Some(TranscriptKind::Work) {
                continue;
            }
            // An item that cannot be read is deleted all the same.
            let receipt = reader.receipt(run_id).ok().flatten();
            let begun = reader.invocation(run_id).ok().flatten();
            items.push(ItemFiles {
                receipt_id: receipt.map(|receipt| receipt.id()),
                root: begun.map(|begun| begun.base_dir),
                work_id: run_id.clone(),
            });
        }
        Ok(Self(items))
    }

    /// Removes the files of those items whose rows are gone.
    ///
    /// # Errors
    /// A file cannot be removed. The next deletion or run of items removes contents that are left.
    pub(crate) fn remove(self, service: &Service, gone: &[RunId]) -> Result<(), ServiceError> {
        let mut items = self.0;
        items.retain(|item| gone.contains(&item.work_id));
        if items.is_empty() {
            return Ok(());
        }
        let store = service.open_store(Durability::Full)?;
        for item in items {
            item.remove(service, &store)?;
        }
        let state = kept_folder(store.path());
        collect_contents(&state, || needed_of(&store)).map_err(WorkFault::from)?;
        Ok(())
    }
}

impl ItemFiles {
    fn remove(self, service: &Service, store: &Store) -> Result<(), ServiceError> {
        let Some(receipt_id) = self.receipt_id else {
            // In a tree that another process works on, the next run of items removes it.
            if let Some(root) = self.root
                && let Ok((tree, _)) = lock(service, store, &root)
            {
                tree.remove_scratch(self.work_id.as_str())
                    .map_err(WorkFault::from)?;
            }
            return Ok(());
        };
        let folder = folder_of(service, &receipt_id)?;
        if let Some(root) = &self.root {
            let refuse = |reason| WorkFault::Receipt {
                path: root.clone(),
                reason,
            };
            remove_commits(root, &receipt_id, &folder).map_err(refuse)?;
        }
        match fs::remove_dir_all(&folder) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => Err(WorkFault::Receipt {
                path: folder,
                reason: fault.to_string(),
            }
            .into()),
            _ => Ok(()),
        }
    }
}
