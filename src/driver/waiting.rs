//! Which runs below a run wait for a person, so that its clock can stand still (semantics §1: a parked run is outside its timeouts). Asks
//! no one.

use std::collections::BTreeSet;

use tokio::sync::mpsc;

use crate::message::CallSeq;

/// A change: the call whose run waits now, or no longer does.
pub(super) type Change = (CallSeq, bool);

/// Where a run below reports whether all that it does is wait for a person.
#[derive(Debug)]
pub(super) struct WaitingReport {
    above: mpsc::UnboundedSender<Change>,
    call: CallSeq,
    waits: bool,
}

impl WaitingReport {
    pub(super) const fn new(above: mpsc::UnboundedSender<Change>, call: CallSeq) -> Self {
        Self {
            above,
            call,
            waits: false,
        }
    }

    /// Reports it, where it has changed.
    pub(super) fn set(&mut self, waits: bool) {
        if std::mem::replace(&mut self.waits, waits) != waits {
            // The run above may be gone already.
            let _ = self.above.send((self.call, waits));
        }
    }
}

/// The calls whose runs wait for a person.
#[derive(Debug)]
pub(super) struct Waiting {
    calls: BTreeSet<CallSeq>,
    changes: mpsc::UnboundedReceiver<Change>,
    reports: mpsc::UnboundedSender<Change>,
}

impl Default for Waiting {
    fn default() -> Self {
        let (reports, changes) = mpsc::unbounded_channel();
        Self {
            calls: BTreeSet::new(),
            changes,
            reports,
        }
    }
}

impl Waiting {
    /// Where that call's run reports.
    pub(super) fn report_of(&self, call: CallSeq) -> WaitingReport {
        WaitingReport::new(self.reports.clone(), call)
    }

    /// The next change. May be dropped while it waits.
    pub(super) async fn changed(&mut self) -> Option<Change> {
        self.changes.recv().await
    }

    /// Takes a change of a call that is under way.
    pub(super) fn take(&mut self, (call, waits): Change) {
        if waits {
            self.calls.insert(call);
        } else {
            self.calls.remove(&call);
        }
    }

    /// That call has ended.
    pub(super) fn ended(&mut self, call: CallSeq) {
        self.calls.remove(&call);
    }

    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }
}
