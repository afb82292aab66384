//! All runs of a list in one process: signals, progress, one result line for each as it ends, and the exit code. Decides nothing about a run.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::one_run::RunEnd;
use super::terms::Terms;
use crate::cli::commands::drive::Accounts;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::file_limit::allow_files;
use crate::cli::context::interrupts;
use crate::cli::context::runtime::runtime_of_many;
use crate::cli::context::signals::{Signal, Signals};
use crate::cli::ui::escape::line;
use crate::cli::ui::runs_progress::{RunsNow, RunsProgress};
use crate::driver::{Job, Runner, RunnerLimits};
use crate::session::Control;
use crate::store::{Durability, Store};
use crate::telemetry::BillingFault;

/// How often the progress is shown, and accounting is made to survive the loss of power.
const TICK: Duration = Duration::from_millis(250);
/// How long a second SIGTERM waits for what is being closed.
const AT_ONCE: Duration = Duration::from_millis(500);
/// How long the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// Where runs come from.
pub(in crate::cli) trait Source {
    type Job: Job<End = RunEnd>;

    /// The next run; called only when there is a slot for it.
    async fn next(&mut self) -> Option<Self::Job>;

    /// Whether there are more; one that is found so is not had again.
    fn has_more(&mut self) -> bool;

    /// How many are left, where that is known.
    fn left(&self) -> Option<usize>;

    /// Which are left, and the command that goes on with them.
    fn rest(&self) -> String;
}

/// Many runs of one command.
pub(in crate::cli) struct Fleet {
    accounts: Accounts,
    app: App,
    limits: RunnerLimits,
    store: Store,
}

/// What the runs have come to so far.
struct Results<'a> {
    app: &'a App,
    failed: bool,
    progress: RunsProgress,
    suspended: bool,
    /// The first time that accounting could not be made to survive the loss of power: the system reports it once.
    unsynced: Option<BillingFault>,
    /// The first line that could not be written.
    unwritten: Option<std::io::Error>,
}

impl Fleet {
    /// Runs under those terms, in the store of the caller.
    pub(in crate::cli) fn of(
        terms: &Terms,
        limits: RunnerLimits,
        durability: Durability,
    ) -> Result<Self, CliError> {
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
    pub(in crate::cli) fn allowed(limits: RunnerLimits) -> Result<RunnerLimits, CliError> {
        allow_files(limits.max_runs, limits.max_inferences)?;
        Ok(limits)
    }

    /// Drives all runs of the source. The exit code is 0 where all succeeded, 8 where one is suspended, else 1.
    pub(in crate::cli) fn drive(self, source: impl Source) -> Result<Exit, CliError> {
        let runtime = runtime_of_many()?;
        let store = Arc::new(self.store);
        let results = RefCell::new(Results {
            app: &self.app,
            failed: false,
            progress: RunsProgress::new(self.app.screen),
            suspended: false,
            unsynced: None,
            unwritten: None,
        });
        let driven = runtime.block_on(drive(source, &store, self.limits, &self.accounts, &results));
        let left = matches!(driven, Ok(Driven::Left { .. }));
        runtime.shutdown_timeout(if left { Duration::ZERO } else { LINGER });
        let synced = self.accounts.sync_all();
        let Results {
            app,
            failed,
            progress,
            suspended,
            unsynced,
            unwritten,
        } = results.into_inner();
        progress.sum_up();
        if let Some(fault) = unsynced.or(synced.err()) {
            return Err(fault.into());
        }
        if let Some(fault) = unwritten {
            return Err(fault.into());
        }
        if suspended && !left {
            let resume = app.hint("resume --all");
            let note = format!("{resume} goes on with what is suspended");
            app.screen.note(&note);
        }
        let mut suspended = suspended;
        match driven? {
            Driven::All => {}
            Driven::Stopped { rest } => {
                app.screen.write_err(&format!("note: {rest}\n"));
                if !suspended {
                    return Ok(Exit::FAILED);
                }
            }
            Driven::Left { open } => {
                let resume = app.hint("resume --all");
                let note = format!("note: {open} runs are left as they are; {resume} goes on\n");
                app.screen.write_err(&note);
                suspended |= open > 0;
            }
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

/// How the work on a list ended.
enum Driven {
    /// Every run has a result.
    All,
    /// The process was asked to end before all of them were begun: which were not, and how they are.
    Stopped { rest: String },
    /// At once, with so many runs open.
    Left { open: usize },
}

async fn drive<S: Source>(
    source: S,
    store: &Arc<Store>,
    limits: RunnerLimits,
    accounts: &Accounts,
    results: &RefCell<Results<'_>>,
) -> Result<Driven, CliError> {
    let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
        reason: fault.to_string(),
    })?;
    interrupts::listened_twice();
    let runner = Runner::new(limits);
    let source = tokio::sync::Mutex::new((source, false));
    let next = async || {
        let mut source = source.lock().await;
        let job = source.0.next().await;
        source.1 |= job.is_none();
        job
    };
    let each = async |end: Result<RunEnd, tokio::task::JoinError>| match end {
        Ok(end) => results.borrow_mut().take(end),
        // A job catches the panics of its run: this one is of its result.
        Err(fault) => results.borrow_mut().lost(&fault.to_string()),
    };
    let mut driving = pin!(runner.drive_all(store, next, each));
    let mut tick = tokio::time::interval(TICK);
    let (mut interrupts, mut terminated, mut leaves_at) = (0_u32, false, None);
    loop {
        let wanted = tokio::select! {
            biased;
            () = &mut driving => break,
            () = until(leaves_at) => {
                return Ok(Driven::Left { open: runner.running() });
            }
            signal = signals.next() => match signal {
                Signal::Interrupt if interrupts == 0 => {
                    results.borrow().note("stopping: the runs are brought to their ends, which is final (SIGTERM suspends instead); Ctrl-C again ends them at once");
                    interrupts = 1;
                    Control::Stop
                }
                Signal::Interrupt => {
                    results.borrow().note("ending the runs");
                    Control::Abort
                }
                Signal::Terminate => {
                    if std::mem::replace(&mut terminated, true) {
                        leaves_at = Instant::now().checked_add(AT_ONCE);
                    } else {
                        results.borrow().note("suspending: what is in flight may still end; a second signal leaves at once");
                    }
                    Control::Suspend
                }
            },
            _ = tick.tick() => {
                if let Err(fault) = accounts.sync_all() {
                    results.borrow_mut().unsynced.get_or_insert(fault);
                }
                let left = source.try_lock().ok().and_then(|source| source.0.left());
                results.borrow_mut().progress.show(RunsNow {
                    left,
                    running: runner.running(),
                    waiting_requests: runner.waiting_requests(),
                });
                continue;
            }
        };
        runner.ask(wanted);
    }
    let mut source = source.lock().await;
    let is_exhausted = source.1 || !source.0.has_more();
    Ok(if is_exhausted {
        Driven::All
    } else {
        let rest = source.0.rest();
        Driven::Stopped { rest }
    })
}

impl Results<'_> {
    fn take(&mut self, end: RunEnd) {
        self.progress.clear();
        match end {
            RunEnd::Result(result) => {
                self.failed |= !result.success;
                self.suspended |= result.suspended;
                self.progress.ended(&result.label, result.entries);
                if let Err(fault) = result.write(self.app.screen) {
                    self.unwritten.get_or_insert(fault);
                }
                if let Some(note) = result.note.filter(|_| !self.app.accounting.quiet) {
                    self.app.screen.write_err(&note);
                }
            }
            RunEnd::Skipped(why) => {
                if !self.app.accounting.quiet {
                    let note = format!("note: skipped {}\n", line(&why));
                    self.app.screen.write_err(&note);
                }
            }
        }
    }

    fn lost(&mut self, why: &str) {
        self.failed = true;
        self.progress.clear();
        let text = format!("warning: a result is lost: {}\n", line(why));
        self.app.screen.write_err(&text);
    }

    fn note(&self, text: &str) {
        self.progress.clear();
        self.app.screen.note(text);
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
