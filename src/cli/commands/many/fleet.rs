//! All runs of a list in one process: signals, progress, one result line for each as it ends, and the exit code. Decides nothing about a run.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ends::Ends;
use super::one_run::RunEnd;
use super::results::{Faults, Results};
use super::terms::Terms;
use crate::context::app::App;
use crate::context::interrupts;
use crate::context::runtime::runtime_of_many;
use crate::context::signals::{Signal, Signals};
use crate::ui::runs_progress::RunsNow;
use crate::ui::screen::Screen;
use monolith_core::session::Control;
use monolith_host::driver::{Job, Runner, RunnerLimits};
use monolith_host::store::{Durability, Store, StoreError};
use monolith_service::drive::accounts::Accounts;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::file_limit::allow_files;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// How often the progress is shown.
const TICK: Duration = Duration::from_millis(250);
/// How long a second SIGTERM waits for what is being closed.
const AT_ONCE: Duration = Duration::from_millis(500);
/// How long results wait for their reader where no run is open any more and the process was asked to end.
const UNREAD: Duration = Duration::from_secs(2);
/// How long the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// Where runs come from.
pub(crate) trait Source {
    type Job: Job<End = RunEnd>;

    /// The next run; called only when there is a worker for it.
    async fn next(&mut self) -> Option<Self::Job>;

    /// Whether there are more; one that is found so is not had again.
    fn has_more(&mut self) -> bool;

    /// How many are left, where that is known.
    fn left(&self) -> Option<usize>;

    /// Which have not begun, and the command that begins them; `has_more` is whether some were not had.
    fn rest(&self, has_more: bool) -> Option<String>;
}

/// Many runs of one command.
pub(crate) struct Fleet {
    accounts: Accounts,
    app: App,
    limits: RunnerLimits,
    store: Store,
}

impl Fleet {
    /// Runs under those terms, in the store of the caller.
    pub(crate) fn of(
        terms: &Terms,
        limits: RunnerLimits,
        durability: Durability,
    ) -> Result<Self, ServiceError> {
        Ok(Self {
            accounts: terms.accounts.clone(),
            app: terms.app.clone(),
            limits,
            store: terms.app.open_store(durability)?,
        })
    }

    /// Sees to it that so many runs may be open at once.
    ///
    /// # Errors
    /// [`SystemFault::FileLimit`].
    pub(crate) fn allowed(limits: RunnerLimits) -> Result<RunnerLimits, ServiceError> {
        let max_servers = allow_files(limits.max_runs, limits.max_inferences)?;
        Ok(RunnerLimits {
            max_servers,
            ..limits
        })
    }

    /// Drives all runs of the source. The exit code is 0 where all succeeded, 8 where one is suspended, else 1.
    pub(crate) fn drive(self, source: impl Source) -> Result<Exit, ServiceError> {
        let runtime = runtime_of_many()?;
        let store = Arc::new(self.store);
        let useless = CancellationToken::new();
        let fleet = Driving {
            ends: RefCell::default(),
            limits: self.limits,
            results: Results::new(&self.app, &self.accounts, useless.clone())?,
            store: &store,
            useless,
        };
        let driven = runtime.block_on(fleet.drive(source));
        let is_left = matches!(&driven, Ok(left) if left.how != How::Waited);
        runtime.shutdown_timeout(if is_left { Duration::ZERO } else { LINGER });
        let synced = self.accounts.sync_all();
        let ends = fleet.ends.take();
        let (mut failed, mut suspended) = (ends.failed, ends.has_suspended());
        let Faults {
            unsynced,
            unwritten,
        } = fleet.results.faults();
        let Driven { how, rest } = driven?;
        let (app, screen) = (&self.app, self.app.screen);
        let rest = rest.map(|rest| format!("note: {rest}\n"));
        failed |= rest.is_some();
        if let How::Abandoned { open } = how {
            suspended |= open > 0;
        }
        let unwritten = unwritten.map(|fault| SystemFault::ResultsUnwritten {
            reason: fault.to_string(),
            suspended,
        });
        let fault = unsynced.or(synced.err()).map(ServiceError::from);
        let fault = fault.or_else(|| unwritten.map(ServiceError::from));
        let rest = rest.unwrap_or_default();
        match how {
            How::Abandoned { open } => {
                let runs = counted(open, "run");
                let verb = if open == 1 { "is" } else { "are" };
                let resume = app.hint("resume --all");
                let left = format!("note: {runs} {verb} left unfinished; {resume} goes on\n");
                note_at_once(screen, left + &rest);
            }
            How::Unread => {
                let note = "note: the results that are left were not read, and are not written; monolith list has their runs\n";
                note_at_once(screen, note.to_owned() + &rest);
                return Ok(if suspended {
                    Exit::SUSPENDED
                } else {
                    Exit::FAILED
                });
            }
            How::Waited => {
                if fault.is_none() {
                    for next in ends.next(app) {
                        screen.note(&next);
                    }
                }
                if !rest.is_empty() {
                    screen.write_err(&rest);
                }
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        if let Some(cause) = store.poison() {
            let cause = cause.to_owned();
            return Err(StoreError::Poisoned { cause }.into());
        }
        Ok(if suspended {
            Exit::SUSPENDED
        } else if failed {
            Exit::FAILED
        } else {
            Exit::OK
        })
    }
}

/// Writes a note, and goes on all the same where that is not read either.
fn note_at_once(screen: Screen, note: String) {
    let (done, written) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().spawn(move || {
        screen.write_err(&note);
        // The process does not wait for it any longer.
        let _ = done.send(());
    });
    if thread.is_ok() {
        let _ = written.recv_timeout(AT_ONCE);
    }
}

/// What came of the work on a list.
struct Driven {
    how: How,
    /// Which runs were not begun because the process was asked to end, and how they are.
    rest: Option<String>,
}

/// How the work on a list ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// At once, with so many runs open.
    Abandoned { open: usize },
    /// The process was asked to end, no run is open any more, and the results that are left are not read.
    Unread,
    /// Every run that was begun has a result.
    Waited,
}

/// The runs of a list while they are driven.
struct Driving<'s> {
    ends: RefCell<Ends>,
    limits: RunnerLimits,
    results: Results,
    store: &'s Arc<Store>,
    /// Cancelled once no further run can come to a result: it is not read, or nothing can be recorded.
    useless: CancellationToken,
}

impl Driving<'_> {
    async fn drive<S: Source>(&self, source: S) -> Result<Driven, ServiceError> {
        let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
            reason: fault.to_string(),
        })?;
        interrupts::listened_twice();
        let (results, runner) = (&self.results, Runner::new(self.limits));
        let source = tokio::sync::Mutex::new((source, false));
        let next = async || {
            let mut source = source.lock().await;
            let job = source.0.next().await;
            source.1 |= job.is_none();
            job
        };
        let mut driving = Box::pin(async {
            let each = async |end| self.take(end).await;
            runner.drive_all(self.store, next, each).await;
            results.written().await;
        });
        let mut tick = tokio::time::interval(TICK);
        let (mut interrupts, mut terminated, mut leaves_at) = (0_u32, false, None);
        let (mut is_ending, mut is_useless) = (false, false);
        let mut ending = None;
        let mut reading = Reading::default();
        let how = loop {
            let wanted = tokio::select! {
                biased;
                () = &mut driving => break How::Waited,
                () = until(leaves_at) => {
                    break How::Abandoned { open: runner.running() };
                }
                signal = signals.next() => match signal {
                    Signal::Interrupt if interrupts == 0 => {
                        results.note("ending the runs for good: each is brought to its end (SIGTERM suspends instead); Ctrl-C again ends them at once");
                        interrupts = 1;
                        ending = Some("stopping");
                        self.ends.borrow_mut().stopping = true;
                        Control::Stop
                    }
                    Signal::Interrupt => {
                        ending = Some("ending");
                        results.note("ending the runs at once");
                        Control::Abort
                    }
                    Signal::Terminate => {
                        if std::mem::replace(&mut terminated, true) {
                            // A third signal puts nothing off.
                            leaves_at = leaves_at.or_else(|| Instant::now().checked_add(AT_ONCE));
                        } else {
                            ending = Some("suspending");
                            results.note("suspending: what is in flight may still end; a second signal leaves at once");
                        }
                        Control::Suspend
                    }
                },
                () = self.useless.cancelled(), if !is_useless => {
                    is_useless = true;
                    Control::Suspend
                }
                _ = tick.tick() => {
                    let left = source.try_lock().ok().and_then(|source| source.0.left());
                    results.show(RunsNow {
                        ending,
                        left,
                        running: runner.running(),
                        waiting_requests: runner.waiting_requests(),
                    });
                    if is_ending && runner.running() == 0 && reading.has_stopped(results.progress()) {
                        break How::Unread;
                    }
                    continue;
                }
            };
            is_ending = true;
            runner.broadcast(&wanted);
        };
        // What is left of the work ends here, and gives the source back.
        drop(driving);
        let mut source = source.lock().await;
        let has_more = !source.1 && source.0.has_more();
        let rest = source.0.rest(has_more);
        Ok(Driven { how, rest })
    }

    async fn take(&self, end: Result<RunEnd, tokio::task::JoinError>) {
        match end {
            Ok(end) => {
                if let RunEnd::Result(result) = &end {
                    self.ends.borrow_mut().take(result);
                }
                if self.store.poison().is_some() {
                    self.useless.cancel();
                }
                self.results.take(end).await;
            }
            // A job catches the panics of its run: this one is of its result.
            Err(fault) => {
                self.ends.borrow_mut().failed = true;
                let why = line(&fault.to_string());
                let text = format!("warning: a result is lost: {why}\n");
                self.results.warn(text).await;
            }
        }
    }
}

/// Whether somebody reads the results.
#[derive(Default)]
struct Reading {
    progress: u64,
    since: Option<Instant>,
}

impl Reading {
    /// Whether nothing was read for a while.
    fn has_stopped(&mut self, progress: u64) -> bool {
        let now = Instant::now();
        if self.since.is_none() || self.progress != progress {
            *self = Self {
                progress,
                since: Some(now),
            };
        }
        self.since
            .is_some_and(|since| now.duration_since(since) >= UNREAD)
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
