//! The data that a child run needs of its parent run. Begins none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use monolith_core::contract::ExecutionContract;
use monolith_core::message::{CallSeq, Digest, RunId, Scrubber};
use monolith_core::session::{Control, Delegation};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::bring_up::Prepared;
use super::child_state::ChildLink;
use super::children::Below;
use super::clock::RunClock;
use super::observer::{Finished, Observer};
use super::queues::Queues;
use super::waiting::{Waiting, WaitingReport};
use crate::store::Store;

/// Drives a prepared run to its end. The loop of a run hands on itself: a run below is driven as the one above it is.
pub(super) type Drive = for<'a> fn(
    Prepared,
    &'a Store,
    mpsc::Receiver<Control>,
    &'a mut dyn Observer,
) -> BoxFuture<'a, Result<Finished, DriverError>>;

/// The run that delegates, as far as a run below it needs to know.
pub(super) struct Delegating {
    pub(super) below: Option<Below>,
    pub(super) clock: RunClock,
    pub(super) contract: Arc<ExecutionContract>,
    /// The driving function.
    pub(super) drive: Drive,
    /// True if it is to end: then it ends a run that was begun, and begins none.
    pub(super) ends: bool,
    pub(super) grace: Duration,
    /// Its last entry that is durable.
    pub(super) head: Digest,
    pub(super) max_inferences: Option<usize>,
    pub(super) queues: Arc<Queues>,
    /// The last call that an earlier process had authorised.
    pub(super) recorded: CallSeq,
    pub(super) run_id: RunId,
    pub(super) scrubber: Arc<dyn Scrubber>,
    /// True if it was asked to stop.
    pub(super) stops: bool,
    pub(super) store: Store,
}

/// The control channels of the child run, and its observer.
pub(super) struct ChildChannels {
    /// Ends the wait in a queue, and the bring-up.
    pub(super) cancel: CancellationToken,
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) observer: Box<dyn Observer>,
    /// Once the run above is suspended, none that waits for its turn is begun any more.
    pub(super) suspended: CancellationToken,
    /// The report to the parent about waiting for a person.
    pub(super) waiting: WaitingReport,
}

impl Delegating {
    /// Returns the identity of that call's run.
    pub(super) fn link(&self, delegation: &Delegation) -> ChildLink {
        ChildLink {
            call: Some(delegation.order.call),
            child: delegation.run_id.clone(),
            parent: self.run_id.clone(),
            was_begun: delegation.order.call <= self.recorded,
        }
    }
}

impl ChildChannels {
    /// Asks the run to come to an end: the first thing that it is asked for.
    pub(super) fn ask_to_stop(&self) {
        drop(self.control.try_send(Control::Stop));
    }

    /// Returns true if the parent run has ended, or is to end. Earlier requests are then void.
    pub(super) fn parent_has_ended(&mut self) -> bool {
        std::iter::from_fn(|| self.controls.try_recv().ok())
            .any(|asked| matches!(asked, Control::Parent))
    }
}

/// The runs below the run.
pub(super) struct Children {
    pub(super) below: Option<Below>,
    /// The control channel of each running child.
    pub(super) controls: BTreeMap<CallSeq, mpsc::Sender<Control>>,
    /// The driving function.
    pub(super) drive: Drive,
    pub(super) max_inferences: Option<usize>,
    /// True if the parent run has ended: then they are only brought to their ends.
    pub(super) orphan: bool,
    pub(super) run_id: RunId,
    pub(super) store: Store,
    /// The children that wait for a person.
    pub(super) waiting: Waiting,
}

impl Children {
    /// Marks that call's run as ended.
    pub(super) fn ended(&mut self, call: CallSeq) {
        self.controls.remove(&call);
    }

    /// Sends a request for a run to all its child runs.
    pub(super) fn broadcast(&self, control: &Control) {
        for child in self.controls.values() {
            // One that is so far behind was asked to end often enough.
            drop(child.try_send(control.clone()));
        }
    }
}
