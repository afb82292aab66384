//! Drives jobs from a source, so many at once. Does not know what a job is.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::job::Job;
use super::limits::RunnerLimits;
use super::live_runs::LiveRuns;
use super::slot::Slot;
use crate::driver::shared::Shared;
use crate::session::Control;
use crate::store::Store;

/// How many runs are brought up at once. That is mostly work of the processor: a thousand at once would keep what runs already from taking its
/// responses in time.
const BEGINNINGS: usize = 16;

/// Drives any number of runs in one process. Clones are the same one.
///
/// Runs share the queues of their contracts by name, a tool server where they reach it in the same way (unless the contract has `shared: false` for
/// it), and connections to models. Nothing is taken from the source before a slot is free, so a source without end costs nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith::{Durability, Runner, RunnerLimits, Store};
/// # use monolith::{ContractSpec, Environment, RedactionKey, RunRequest};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let text = std::fs::read_to_string("contracts/demo.yaml")?;
/// # let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// # let request = RunRequest {
/// #     spec,
/// #     contract_dir: "contracts".into(),
/// #     environment: Environment::new(|_| None),
/// #     redaction_key: RedactionKey::new([7; 32]),
/// #     invocation: None,
/// #     run_id: None,
/// # };
/// let folder = tempfile::tempdir()?;
/// let store = Arc::new(Store::open(&folder.path().join("runs.db"), Durability::Normal)?);
/// let runner = Runner::new(RunnerLimits { max_runs: 4, max_inferences: 2 });
///
/// let mut requests = std::iter::repeat_n(request, 20);
/// let (mut succeeded, mut most) = (0, 0);
/// runner
///     .drive_all(&store, async || requests.next(), async |end| {
///         most = most.max(runner.running());
///         if let Ok(Ok(finished)) = end {
///             let outcome = finished.run.outcome();
///             succeeded += usize::from(outcome.is_some_and(|end| end.class.is_success()));
///         }
///     })
///     .await;
/// assert_eq!(succeeded, 20);
/// assert!(most <= 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runner {
    beginnings: Arc<Semaphore>,
    limits: RunnerLimits,
    runs: Arc<LiveRuns>,
    shared: Shared,
    slots: Arc<Semaphore>,
}

impl Runner {
    /// A runner of these limits.
    #[must_use]
    pub fn new(limits: RunnerLimits) -> Self {
        let slots = limits.max_runs.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            beginnings: Arc::new(Semaphore::new(BEGINNINGS)),
            limits,
            runs: Arc::default(),
            shared: Shared::default(),
            slots: Arc::new(Semaphore::new(slots)),
        }
    }

    /// Does every job of the source, until that has none left and all have ended, or [`Self::ask`] was called and all have ended. `next` is
    /// called only when a slot is free; `each` takes what a job came to, and its slot stays taken until then. An `Err` is a job that panicked.
    ///
    /// Must be called inside a tokio runtime. Where the returned future is dropped, so are all jobs.
    pub async fn drive_all<J: Job>(
        &self,
        store: &Arc<Store>,
        mut next: impl AsyncFnMut() -> Option<J>,
        mut each: impl AsyncFnMut(Result<J::End, JoinError>),
    ) {
        let (feed, mut jobs) = mpsc::channel(1);
        let leaving = self.runs.leaving();
        let feeding = async move {
            loop {
                let slot = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    slot = Arc::clone(&self.slots).acquire_owned() => slot,
                };
                let beginning = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    beginning = Arc::clone(&self.beginnings).acquire_owned() => beginning,
                };
                let job = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    job = next() => job,
                };
                let (Some(job), Ok(slot)) = (job, slot) else {
                    return;
                };
                if feed.send((job, slot, beginning.ok())).await.is_err() {
                    return;
                }
            }
        };
        let driving = async {
            let mut tasks = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    Some(end) = tasks.join_next() => match end {
                        Ok((end, slot)) => {
                            each(Ok(end)).await;
                            drop(slot);
                        }
                        Err(panicked) => each(Err(panicked)).await,
                    },
                    Some((job, taken, beginning)) = jobs.recv() => {
                        let slot = Slot::new(
                            beginning,
                            self.limits,
                            Arc::clone(&self.runs),
                            self.shared.clone(),
                            Arc::clone(store),
                        );
                        tasks.spawn(async move { (J::run(job, slot).await, taken) });
                    }
                    else => return,
                }
            }
        };
        tokio::join!(feeding, driving);
    }

    /// Asks every open run for that; no further one is taken from the source.
    pub fn ask(&self, wanted: Control) {
        self.runs.ask(wanted);
    }

    /// How many runs are open.
    #[must_use]
    pub fn running(&self) -> usize {
        self.runs.count()
    }

    /// How many requests to models wait for others to end.
    #[must_use]
    pub fn waiting_requests(&self) -> usize {
        let waiting = [self.shared.inferences(), self.shared.probes()];
        waiting.into_iter().map(|queue| queue.depth()).sum()
    }

    /// How many calls wait in the queue of that name.
    #[must_use]
    pub fn waiting_calls(&self, queue: &str) -> usize {
        self.shared.queue(queue).depth()
    }
}
