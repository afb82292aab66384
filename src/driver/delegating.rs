//! What a run below a run needs of the one that delegates to it. Begins none.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::DriverError;
use super::below::Below;
use super::bring_up::Prepared;
use super::clock::RunClock;
use super::finished::Finished;
use super::observer::Observer;
use super::queues::Queues;
use crate::contract::ExecutionContract;
use crate::message::{Digest, RunId, Scrubber};
use crate::session::Control;
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
    pub(super) grace: Duration,
    /// Its last entry that is durable.
    pub(super) head: Digest,
    pub(super) max_inferences: Option<usize>,
    pub(super) queues: Arc<Queues>,
    pub(super) run_id: RunId,
    pub(super) scrubber: Arc<dyn Scrubber>,
    /// Whether it was asked to come to an end.
    pub(super) stops: bool,
    pub(super) store: Store,
}

/// Where the run below is asked for something, and who sees it.
pub(super) struct Seat {
    /// Ends the wait in a queue, and the bring-up.
    pub(super) cancel: CancellationToken,
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) observer: Box<dyn Observer>,
}
