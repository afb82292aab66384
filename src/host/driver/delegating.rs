//! What a run below a run needs of the one that delegates to it. Begins none.

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
    /// How a run is driven.
    pub(super) drive: Drive,
    /// Whether it is to end: then a run that was begun is ended, and none is begun.
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
    /// Whether it was asked to come to an end.
    pub(super) stops: bool,
    pub(super) store: Store,
}

/// Where the run below is asked for something, and who sees it.
pub(super) struct ChildChannels {
    /// Ends the wait in a queue, and the bring-up.
    pub(super) cancel: CancellationToken,
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) observer: Box<dyn Observer>,
    /// Once the run above is suspended, none that waits for its turn is begun any more.
    pub(super) suspended: CancellationToken,
    /// Where it reports whether it waits for a person.
    pub(super) waiting: WaitingReport,
}

impl Delegating {
    /// Which run the run of that call is.
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

    /// Whether the run above has ended, or is to. What was asked for before that is void.
    pub(super) fn parent_has_ended(&mut self) -> bool {
        std::iter::from_fn(|| self.controls.try_recv().ok())
            .any(|asked| matches!(asked, Control::Parent))
    }
}

/// The runs below the run.
pub(super) struct Children {
    pub(super) below: Option<Below>,
    /// Where each is asked for something that goes on.
    pub(super) controls: BTreeMap<CallSeq, mpsc::Sender<Control>>,
    /// How each is driven.
    pub(super) drive: Drive,
    pub(super) max_inferences: Option<usize>,
    /// Whether the run above has ended, so that they are brought to their ends alone.
    pub(super) orphan: bool,
    pub(super) run_id: RunId,
    pub(super) store: Store,
    /// Those that wait for a person.
    pub(super) waiting: Waiting,
}

impl Children {
    /// That call's run has come to its end.
    pub(super) fn ended(&mut self, call: CallSeq) {
        self.controls.remove(&call);
    }

    /// What is asked of a run reaches all below it.
    pub(super) fn broadcast(&self, control: &Control) {
        for child in self.controls.values() {
            // One that is so far behind was asked to end often enough.
            drop(child.try_send(control.clone()));
        }
    }
}
