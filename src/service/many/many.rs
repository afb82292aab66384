//! Drives the runs of inputs, so many at once. Does not know what a run is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::file_limit::allow_files;
use super::input::{Input, Wanted};
use super::inputs::Inputs;
use super::new_run::{Taken, begin, listed};
use super::not_begun::{NotBegun, OpenLine};
use super::one_run::end_of;
use super::recorded_run::resume;
use super::result::{ManyResult, RunEnd, Summary};
use super::terms::Terms;
use super::worker::{Common, Worker};
use crate::drive::accounts::Accounts;
use crate::drive::follower::Follower;
use crate::error::ServiceError;
use crate::secrets;
use monolith_core::session::Control;
use monolith_host::driver::{Shared, Turn};
use monolith_host::store::{DamagedRow, StoreError};
use monolith_host::telemetry::BillingFault;

/// Maximum number of concurrent bring-ups, without runs that wait for a tool server. Bring-up is mostly processor work: a
/// thousand at once would keep runs under way from taking their responses in time.
const TURNS: usize = 16;

/// Drives any number of runs in one process.
///
/// Runs share the queues of their contracts by name, a tool server where they reach it in the same way (unless the contract has `shared: false` for
/// it), and connections to models. Nothing is taken from the inputs before a worker is free, so inputs without end cost nothing.
///
/// ```
/// use std::path::Path;
/// use std::time::Duration;
///
/// use monolith_host::driver::Environment;
/// use monolith_host::store::Durability;
/// use monolith_service::drive::display::{Display, Quiet};
/// use monolith_service::exit::Exit;
/// use monolith_service::many::{Inputs, Limits, Many, Surface, Terms};
/// use monolith_service::service::Service;
///
/// struct Server;
///
/// impl Surface for Server {
///     fn display(&self) -> Box<dyn Display> {
///         Box::new(Quiet)
///     }
/// }
///
/// let state = tempfile::tempdir()?;
/// let home = state.path().display().to_string();
/// let variable = move |name: &str| (name == "MONOLITH_HOME").then(|| home.clone());
/// let service = Service::new("../../contracts".into(), Environment::new(variable));
/// let list = r#"{"contract": "demo.yaml"}"#.to_owned() + "\n";
/// let lines = std::io::Cursor::new(list.repeat(20));
/// let inputs = Inputs::lines(lines, service.cwd.clone(), Path::new("list"), None)?;
/// let terms = Terms {
///     durability: Durability::Normal,
///     grace: Duration::from_secs(10),
///     limits: Limits { max_runs: 4, ..Limits::default() },
///     service,
///     sets: Vec::new(),
///     surface: Box::new(Server),
///     task: None,
/// };
/// let many = Many::new(terms, inputs)?;
/// let runtime = tokio::runtime::Runtime::new()?;
/// let (mut results, mut most) = (0, 0);
/// runtime.block_on(many.drive(async |_| {
///     most = most.max(many.running());
///     results += 1;
/// }));
/// assert_eq!(results, 20);
/// assert!(most <= 4);
/// assert_eq!(runtime.block_on(many.summary()).exit(), Exit::OK);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Many {
    common: Arc<Common>,
    inputs: tokio::sync::Mutex<Inputs>,
    not_begun: Arc<NotBegun>,
    summary: Mutex<Summary>,
}

impl Many {
    /// Opens the accounting file and the store for the runs of those inputs, and raises the limit of open files for them.
    ///
    /// # Errors
    /// [`SystemFault::FileLimit`](crate::error::system::SystemFault::FileLimit), and those of the files.
    pub fn new(terms: Terms, inputs: Inputs) -> Result<Self, ServiceError> {
        let max_servers = allow_files(terms.limits.max_runs, terms.limits.max_inferences)?;
        let billing = terms.service.billing(terms.durability)?;
        let accounts = match &inputs {
            Inputs::Recorded(runs) => {
                let readable = runs.iter().filter_map(|run| run.as_ref().ok());
                Accounts::resuming(billing, readable.cloned())
            }
            Inputs::Folder(_) | Inputs::Read { .. } => Accounts::in_groups(billing),
        };
        let key = terms.service.redaction_key()?;
        let store = Arc::new(terms.service.open_store(terms.durability)?);
        let common = Common {
            accounts,
            key,
            leaving: CancellationToken::new(),
            open: Mutex::default(),
            shared: Shared::of_many(max_servers),
            store,
            terms,
        };
        Ok(Self {
            common: Arc::new(common),
            inputs: inputs.into(),
            not_begun: Arc::default(),
            summary: Mutex::default(),
        })
    }

    /// Drives the run of each input, until there is none left and all have ended, or [`Self::broadcast`] was called and all have ended. `each`
    /// takes each result; the worker of its run is free only then.
    ///
    /// Must be called inside a multi-threaded tokio runtime. Where the returned future is dropped, so are all runs.
    pub async fn drive(&self, mut each: impl AsyncFnMut(ManyResult)) {
        let most = self.common.terms.limits.max_runs;
        let workers = Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS)));
        let turns = Arc::new(Semaphore::new(TURNS));
        let (feed, mut inputs) = mpsc::channel(1);
        let leaving = &self.common.leaving;
        let feeding = leaving.run_until_cancelled(async move {
            while let (Ok(place), Ok(free), Ok(turn)) = (
                feed.reserve().await,
                Arc::clone(&workers).acquire_owned().await,
                Arc::clone(&turns).acquire_owned().await,
            ) {
                let Some(input) = self.inputs.lock().await.next().await else {
                    return;
                };
                let turn = Turn::of(Arc::clone(&turns), turn);
                place.send((self.taken(input), free, turn));
            }
        });
        let driving = async {
            let mut tasks = JoinSet::new();
            loop {
                tokio::select! {
                    biased;
                    Some(ended) = tasks.join_next() => match ended {
                        Ok((result, free)) => {
                            each(self.sum_up(result)).await;
                            drop(free);
                        }
                        Err(panicked) => each(self.sum_up(lost(&panicked))).await,
                    },
                    Some((run, free, turn)) = inputs.recv() => {
                        let worker = Worker::new(Arc::clone(&self.common), turn);
                        // A file's secrets need not be known once its run has ended.
                        let driving = secrets::scoped(run.drive(worker));
                        tasks.spawn(async move { (driving.await, free) });
                    }
                    else => return,
                }
            }
        };
        tokio::join!(feeding, driving);
    }

    /// Sends a control to every open run; no further one begins.
    pub fn broadcast(&self, control: &Control) {
        if *control == Control::Stop {
            self.summed().stopping = true;
        }
        self.common.broadcast(control);
    }

    /// Suspends all runs once, where no further one can come to a result: results are not read, or nothing can be recorded.
    pub fn give_up(&self) {
        if !std::mem::replace(&mut self.summed().is_useless, true) {
            self.broadcast(&Control::Suspend);
        }
    }

    /// True once no further run begins.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.common.leaving.is_cancelled()
    }

    /// The number of inputs that were not taken, where that is known.
    #[must_use]
    pub fn left(&self) -> Option<usize> {
        self.inputs.try_lock().ok()?.left()
    }

    /// The number of open runs.
    #[must_use]
    pub fn running(&self) -> usize {
        self.common.running()
    }

    /// The number of requests to models that wait for others to end.
    #[must_use]
    pub fn waiting_requests(&self) -> usize {
        self.common.shared.waiting_requests()
    }

    /// The results so far, and the inputs that have begun no run. Called once nothing is driven any more.
    pub async fn summary(&self) -> Summary {
        let rest = self.inputs.lock().await.rest();
        let rest = self.not_begun.rest().or(rest);
        let summary = self.summed().clone();
        Summary {
            failed: summary.failed || rest.is_some(),
            rest,
            ..summary
        }
    }

    /// Lets the accounting of all results so far survive the loss of power. A surface calls it before it hands a result out, once for many
    /// of them: it waits for the disk.
    ///
    /// # Errors
    /// The file cannot be synchronised.
    pub fn sync(&self) -> Result<(), BillingFault> {
        self.common.accounts.sync_all()
    }

    /// Reports a store that can record nothing any more: its runs were suspended.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`].
    pub fn judge_store(&self) -> Result<(), StoreError> {
        self.common.store.poison().map_or(Ok(()), |cause| {
            let cause = cause.to_owned();
            Err(StoreError::Poisoned { cause })
        })
    }

    fn taken(&self, input: Input) -> TakenRun {
        let follower = self.common.follower();
        let mut number = 0;
        if let Wanted::New(Ok(line)) = &input.wanted {
            number = self.not_begun.opened(OpenLine {
                at: input.at(),
                is_unnamed: line.run_id.is_none(),
                live: follower.clone(),
            });
        }
        TakenRun {
            follower,
            input,
            not_begun: Arc::clone(&self.not_begun),
            number,
        }
    }

    fn sum_up(&self, result: ManyResult) -> ManyResult {
        self.summed().take(&result.end);
        if self.common.store.poison().is_some() {
            self.give_up();
        }
        result
    }

    fn summed(&self) -> MutexGuard<'_, Summary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run catches its panics: this one is of its result.
fn lost(panicked: &JoinError) -> ManyResult {
    ManyResult {
        end: RunEnd::Lost(panicked.to_string()),
        place: String::new(),
    }
}

/// The run of an input that was taken.
struct TakenRun {
    follower: Follower,
    input: Input,
    not_begun: Arc<NotBegun>,
    number: u64,
}

impl TakenRun {
    async fn drive(self, worker: Worker) -> ManyResult {
        let Self {
            follower,
            input,
            not_begun,
            number,
        } = self;
        let place = input.place;
        let end = match input.wanted {
            Wanted::New(line) => {
                let listed = listed(&place, line.as_ref().ok(), &worker.common);
                let taken = Taken {
                    follower,
                    line,
                    not_begun,
                    number,
                };
                begin(&place, taken, worker).await.asked_by(listed)
            }
            Wanted::Recorded(Ok(run_id)) => {
                let sets = worker.common.terms.sets.clone();
                resume(&place, run_id, sets, follower, worker).await
            }
            Wanted::Recorded(Err(DamagedRow { fault, .. })) => {
                let broken = ServiceError::from(fault).into();
                end_of(&worker.common, &place, Err(broken))
            }
        };
        ManyResult { end, place }
    }
}
