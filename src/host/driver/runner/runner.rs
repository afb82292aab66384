//! Drives jobs from a source, so many at once. Does not know what a job is.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::job::Job;
use super::limits::RunnerLimits;
use super::live_runs::LiveRuns;
use super::worker::Worker;
use crate::driver::shared::Shared;
use crate::driver::turn::Turn;
use crate::store::Store;
use monolith_core::session::Control;

/// How many runs are brought up at once, those aside that wait for a tool server. That is mostly work of the processor: a thousand at once would
/// keep what runs already from taking its responses in time.
const TURNS: usize = 16;

/// Drives any number of runs in one process. Clones are the same one.
///
/// Runs share the queues of their contracts by name, a tool server where they reach it in the same way (unless the contract has `shared: false` for
/// it), and connections to models. Nothing is taken from the source before a worker is free, so a source without end costs nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use monolith_host::driver::{Runner, RunnerLimits};
/// use monolith_host::store::{Durability, Store};
/// # use monolith_core::contract::ContractSpec;
/// # use monolith_core::session::RedactionKey;
/// # use monolith_host::driver::{Environment, RunRequest};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let text = std::fs::read_to_string("../../contracts/demo.yaml")?;
/// # let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// # let environment = Environment::new(|_| None);
/// # let key = RedactionKey::new([7; 32]);
/// # let request = RunRequest::new(spec, "../../contracts", environment, key);
/// let folder = tempfile::tempdir()?;
/// let store = Arc::new(Store::open(&folder.path().join("runs.db"), Durability::Normal)?);
/// let runner = Runner::new(RunnerLimits { max_runs: 4, ..RunnerLimits::default() });
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
    limits: RunnerLimits,
    runs: Arc<LiveRuns>,
    shared: Shared,
    workers: Arc<Semaphore>,
    turns: Arc<Semaphore>,
}

impl Runner {
    /// A runner of these limits.
    #[must_use]
    pub fn new(limits: RunnerLimits) -> Self {
        let workers = limits.max_runs.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            limits,
            runs: Arc::default(),
            shared: Shared::of_many(limits.max_servers),
            turns: Arc::new(Semaphore::new(TURNS)),
            workers: Arc::new(Semaphore::new(workers)),
        }
    }

    /// Does every job of the source, until that has none left and all have ended, or [`Self::broadcast`] was called and all have ended. `next` is
    /// called only when a worker is free; `each` takes what a job came to, and its worker is free only then. An `Err` is a job that panicked.
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
                let free = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    free = Arc::clone(&self.workers).acquire_owned() => free,
                };
                let turn = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    turn = Arc::clone(&self.turns).acquire_owned() => turn,
                };
                let job = tokio::select! {
                    biased;
                    () = leaving.cancelled() => return,
                    job = next() => job,
                };
                let (Some(job), Ok(free), Ok(turn)) = (job, free, turn) else {
                    return;
                };
                let turn = Turn::of(Arc::clone(&self.turns), turn);
                if feed.send((job, free, turn)).await.is_err() {
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
                        Ok((end, taken)) => {
                            each(Ok(end)).await;
                            drop(taken);
                        }
                        Err(panicked) => each(Err(panicked)).await,
                    },
                    Some((job, taken, turn)) = jobs.recv() => {
                        let worker = Worker::new(
                            self.limits,
                            Arc::clone(&self.runs),
                            self.shared.clone(),
                            Arc::clone(store),
                            turn,
                        );
                        tasks.spawn(async move { (J::run(job, worker).await, taken) });
                    }
                    else => return,
                }
            }
        };
        tokio::join!(feeding, driving);
    }

    /// Sends that to every open run; no further one is taken from the source.
    pub fn broadcast(&self, control: &Control) {
        self.runs.broadcast(control);
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
