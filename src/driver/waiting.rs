//! Which runs below a run wait for a person, so that its clock can stand still (semantics §1: a parked run is outside its timeouts). Asks
//! no one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::message::CallSeq;

/// The calls whose runs wait for a person: at most one entry for each run below.
#[derive(Debug, Default)]
struct Calls {
    changed: Notify,
    waiting: Mutex<BTreeSet<CallSeq>>,
}

impl Calls {
    fn waiting(&self) -> MutexGuard<'_, BTreeSet<CallSeq>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a run below reports whether all that it does is wait for a person.
#[derive(Debug)]
pub(super) struct WaitingReport {
    above: Arc<Calls>,
    call: CallSeq,
}

impl WaitingReport {
    /// Reports it, where it has changed.
    pub(super) fn set(&self, waits: bool) {
        let has_changed = {
            let mut waiting = self.above.waiting();
            if waits {
                waiting.insert(self.call)
            } else {
                waiting.remove(&self.call)
            }
        };
        if has_changed {
            self.above.changed.notify_one();
        }
    }
}

/// What the runs below a run have reported.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    calls: Arc<Calls>,
}

impl Waiting {
    /// Where that call's run reports.
    pub(super) fn report_of(&self, call: CallSeq) -> WaitingReport {
        let above = Arc::clone(&self.calls);
        WaitingReport { above, call }
    }

    /// Waits for the next change. May be dropped while it waits.
    pub(super) async fn changed(&self) {
        self.calls.changed.notified().await;
    }

    /// That call has ended.
    pub(super) fn ended(&self, call: CallSeq) {
        self.calls.waiting().remove(&call);
    }

    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.calls.waiting().len()
    }
}
