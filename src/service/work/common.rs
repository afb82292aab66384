//! The resources that the items of a file share. Drives none of them.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use super::file::WorkFile;
use super::surface::WorkSurface;
use crate::drive::accounts::Accounts;
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::message::Digest;
use monolith_core::work::{EarlierSuccess, Receipt, WorkItem, WorkStatus};
use monolith_host::driver::{Environment, blocking};
use monolith_host::store::Store;
use monolith_host::work_tree::{Scan, ScanTerms, Watch, WorkTree, WorkTreeError};

/// A request to an item that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Ends it: nothing is published.
    Stop,
    /// Leaves it to another process.
    Suspend,
}

/// The resources that the items of a file share.
pub(super) struct Common {
    pub(super) accounts: Accounts,
    /// True if an item that succeeded before runs all the same.
    pub(super) again: bool,
    /// Successes that rule 4 is judged by.
    pub(super) earlier: Mutex<Vec<EarlierSuccess>>,
    /// The environment of the agents' runs.
    pub(super) environment: Environment,
    pub(super) file: WorkFile,
    /// Time that calls in flight have after a suspension.
    pub(super) grace: Duration,
    /// Set once no further item begins.
    pub(super) leaving: AtomicBool,
    /// The items that are under way, by their indexes.
    pub(super) open: Mutex<BTreeMap<usize, mpsc::Sender<Wanted>>>,
    /// The items that may work at once.
    pub(super) permits: Arc<Semaphore>,
    /// Settings that read no layer which was not read before.
    pub(super) service: Service,
    pub(super) store: Store,
    pub(super) surface: Box<dyn WorkSurface>,
    pub(super) tree: Arc<WorkTree>,
}

impl Common {
    /// True once no further item begins.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Asks every item under way for something; no further one begins.
    pub(super) fn broadcast(&self, wanted: Wanted) {
        self.leaving.store(true, Ordering::Relaxed);
        for item in self.open().values() {
            // One that is so far behind was asked often enough.
            let _ = item.try_send(wanted);
        }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, BTreeMap<usize, mpsc::Sender<Wanted>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The successes so far.
    pub(super) fn earlier(&self) -> MutexGuard<'_, Vec<EarlierSuccess>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the tree, on another thread.
    ///
    /// # Errors
    /// The process ends. What the file layer refuses is the result.
    pub(super) async fn on_tree<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkTree) -> Result<T, WorkTreeError> + Send + 'static,
    ) -> Result<Result<T, WorkTreeError>, ServiceError> {
        let tree = Arc::clone(&self.tree);
        blocking(move || Ok::<_, ServiceError>(work(&tree))).await
    }
}

/// The part of a tree that is an item's.
pub(super) fn terms_of(item: &WorkItem) -> ScanTerms<'_> {
    ScanTerms {
        excludes: &item.excludes,
        include_ignored: &item.include_ignored,
    }
}

/// Scans the work tree by the ignore rules of the tree that an item began from, which decide what is its own.
pub(super) fn scan_for(
    tree: &WorkTree,
    item: &WorkItem,
    before: Option<Digest>,
    watch: Watch<'_>,
) -> Result<Scan, WorkTreeError> {
    let by_rules = before.map(|kept| tree.scan_by(kept, terms_of(item), watch));
    match by_rules.transpose()?.flatten() {
        Some(scan) => Ok(scan),
        None => tree.scan(terms_of(item), watch),
    }
}

/// A watch that stops nothing.
pub(super) const fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The success that a receipt states; `None` for another end, and for one that did no work.
pub(super) fn success_of(receipt: &Receipt) -> Option<EarlierSuccess> {
    let is_success = receipt.end.status == WorkStatus::Success && receipt.published.is_some();
    is_success.then(|| EarlierSuccess {
        after: receipt.after,
        before: receipt.before,
        key: receipt.item.duplicate_key(receipt.contract_hash),
        receipt_id: receipt.id(),
    })
}
