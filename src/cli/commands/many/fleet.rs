//! All runs of a list in one process: signals, progress, one result line for each as it ends, and the exit code. Decides nothing about a run.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use super::results::Results;
use crate::commands::drive::{Watched, keep};
use crate::commands::workflow::keep_steps;
use crate::context::app::App;
use crate::context::fault::show_error;
use crate::context::interrupts;
use crate::context::runtime::runtime_of_many;
use crate::context::signals::{Signal, Signals, until};
use crate::ui::runs_progress::RunsNow;
use crate::ui::screen::Screen;
use monolith_core::contract::{StepId, WorkflowDefinition};
use monolith_core::message::RunId;
use monolith_core::session::Control;
use monolith_service::drive::display::Display;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::unanswered::approve_hint;
use monolith_service::error::ServiceError;
use monolith_service::error::input::InputFault;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::many::{Inputs, Limits, Many, Rest, Summary, Surface, Terms};
use monolith_service::text::command::shell_word;
use monolith_service::text::numbers::counted;
use monolith_service::workflow::ended::WorkflowResult;

/// Interval between progress updates.
const TICK: Duration = Duration::from_millis(250);
/// Time that a second SIGTERM leaves for closing.
const AT_ONCE: Duration = Duration::from_millis(500);
/// Time that results wait for their reader once no run is open and the process was asked to end.
const UNREAD: Duration = Duration::from_secs(2);
/// Time that the process waits for file operations that were given up.
const LINGER: Duration = Duration::from_secs(1);

/// Limits on the concurrent work of its runs.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Many runs: number open at once (default: 256)
    #[arg(long, value_name = "N")]
    pub(crate) max_runs: Option<NonZeroUsize>,
    /// Many runs: model requests at once (default: 64)
    #[arg(long, value_name = "N")]
    pub(crate) max_inferences: Option<NonZeroUsize>,
}

impl LimitArgs {
    /// The limits that are given, each with its option.
    pub(crate) fn named(self) -> impl Iterator<Item = (&'static str, NonZeroUsize)> {
        let given = [
            ("--max-runs", self.max_runs),
            ("--max-inferences", self.max_inferences),
        ];
        given
            .into_iter()
            .filter_map(|(option, limit)| Some((option, limit?)))
    }

    /// Refuses limits that nothing would keep: they are of many runs, which `option` asks for.
    pub(crate) fn refused_unless(self, option: &'static str) -> Result<(), InputFault> {
        match (self.max_runs, self.max_inferences) {
            (None, None) => Ok(()),
            _ => Err(InputFault::LimitOfOne { option }),
        }
    }
}

impl From<LimitArgs> for Limits {
    fn from(given: LimitArgs) -> Self {
        let usual = Self::default();
        Self {
            max_runs: given.max_runs.map_or(usual.max_runs, NonZeroUsize::get),
            max_inferences: given
                .max_inferences
                .map_or(usual.max_inferences, NonZeroUsize::get),
        }
    }
}

/// A person watches all runs, not one of them.
impl Surface for App {
    fn display(&self) -> Box<dyn Display> {
        Watched::among_many(self.screen)
    }

    fn keep(&self, ended: &Ended) {
        // The run has ended all the same.
        if let Err(fault) = keep(self, ended) {
            show_error(self.screen, &fault);
        }
    }

    fn keep_steps(
        &self,
        workflow: &WorkflowDefinition,
        result: &WorkflowResult,
        sessions: &BTreeMap<StepId, PathBuf>,
    ) -> Result<(), ServiceError> {
        keep_steps(self, &workflow.id, result, sessions)
    }
}

/// Drives the runs of all inputs; `again` has the words with which the same list is begun again. The exit code is 0 where all succeeded, 8
/// where one is suspended, else 1.
pub(crate) fn drive(
    app: &App,
    terms: Terms,
    inputs: Inputs,
    json: bool,
    again: &str,
) -> Result<Exit, ServiceError> {
    let many = Arc::new(Many::new(terms, inputs)?);
    let runtime = runtime_of_many()?;
    let results = Results::new(app, json, &many)?;
    let driven = runtime.block_on(with_signals(&many, &results));
    let is_left = matches!(&driven, Ok((how, _)) if *how != How::Waited);
    runtime.shutdown_timeout(if is_left { Duration::ZERO } else { LINGER });
    let synced = many.sync();
    let faults = results.faults();
    let (how, summary) = driven?;
    let mut exit = summary.exit();
    if let How::Abandoned { open: 1.. } = how {
        exit = Exit::SUSPENDED;
    }
    let rest = summary
        .rest
        .as_ref()
        .map(|rest| rest_note(app, rest, again));
    let rest = rest.unwrap_or_default();
    let unwritten = faults.unwritten.map(|fault| SystemFault::ResultsUnwritten {
        reason: fault.to_string(),
        suspended: exit == Exit::SUSPENDED,
    });
    let fault = faults.unsynced.or(synced.err()).map(ServiceError::from);
    let fault = fault.or_else(|| unwritten.map(ServiceError::from));
    match how {
        How::Abandoned { open } => {
            let runs = counted(open, "run");
            let verb = if open == 1 { "is" } else { "are" };
            let resume = app.hint("resume --all");
            let left = format!("note: {runs} {verb} unfinished; continue with {resume}\n");
            note_at_once(app.screen, left + &rest);
        }
        How::Unread => {
            let note = "note: the output is no longer read, so the remaining results were not written; monolith list shows their runs\n";
            note_at_once(app.screen, note.to_owned() + &rest);
            return Ok(if exit == Exit::SUSPENDED {
                exit
            } else {
                Exit::UNWRITTEN
            });
        }
        How::Waited => {
            if fault.is_none() {
                for next in next_steps(app, &summary) {
                    app.screen.note(&next);
                }
            }
            if !rest.is_empty() {
                app.screen.write_err(&rest);
            }
        }
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    many.judge_store()?;
    Ok(exit)
}

/// The inputs that have begun no run, and the command that begins them.
fn rest_note(app: &App, rest: &Rest, again: &str) -> String {
    match rest {
        Rest::List {
            again: is_again,
            from,
            place,
        } => {
            let begins = app.hint(&format!("{again} --from {}", shell_word(from)));
            let twice = if *is_again {
                ", and repeats later runs that started without a run_id"
            } else {
                ""
            };
            format!(
                "note: not started: the rest of the list, from {place} on; {begins} starts it{twice}\n"
            )
        }
        Rest::Runs(left) => {
            let (left, resume) = (counted(*left, "run"), app.hint("resume --all"));
            format!("note: not resumed: {left}; continue with {resume}\n")
        }
    }
}

/// Returns the next commands, one line for each kind of end.
fn next_steps(app: &App, summary: &Summary) -> Vec<String> {
    let hint = |verb: &str, run_id: &RunId, rest: &str| {
        let name = app.brief_name(run_id.as_str());
        app.hint(&format!("{verb} {name}{rest}"))
    };
    let waiting = summary.first_waiting.iter().map(|(run_id, call)| {
        let answers = approve_hint(app, run_id, &app.brief_name(run_id.as_str()));
        match summary.waiting {
            0 | 1 => format!("a run is waiting for approval of {call}: {answers} answers it"),
            waiting => format!(
                "{waiting} runs are waiting for approval, the first of {call}: {answers} answers it"
            ),
        }
    });
    let resumable = (summary.suspended > summary.waiting).then(|| {
        let resume = app.hint("resume --all");
        format!("{resume} continues the suspended runs")
    });
    let interrupted = summary.interrupted.iter().map(|run_id| {
        let goes_on = hint("continue", run_id, " \"…\"");
        format!("the stopped runs have ended; {goes_on} continues one of them in a new run")
    });
    let failed = summary.to_explain.iter().map(|run_id| {
        let why = hint("show", run_id, " --why");
        format!("why a run failed: {why}")
    });
    let recorded = summary.recorded.iter().map(|run_id| {
        let delete = hint("delete", run_id, "");
        format!(
            "runs that had failed earlier were not run again; to repeat one, change its `run_id` in the list, or run the list again after {delete}"
        )
    });
    let all = waiting.chain(resumable).chain(interrupted);
    all.chain(failed).chain(recorded).collect()
}

/// Writes a note, and continues even if nobody reads it.
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

/// The end of the work on a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// At once, with so many runs open.
    Abandoned { open: usize },
    /// The process was asked to end, no run is open any more, and the results that are left are not read.
    Unread,
    /// Every run that was begun has a result.
    Waited,
}

async fn with_signals(many: &Many, results: &Results) -> Result<(How, Summary), ServiceError> {
    let mut signals = Signals::listen()?;
    interrupts::listened_twice();
    let mut driving = Box::pin(async {
        many.drive(async |result| results.take(result).await).await;
        results.written().await;
    });
    let mut tick = tokio::time::interval(TICK);
    let (mut interrupts, mut terminated, mut leaves_at) = (0_u32, false, None);
    let mut ending = None;
    let mut reading = Reading::default();
    let how = loop {
        let wanted = tokio::select! {
            biased;
            () = &mut driving => break How::Waited,
            () = until(leaves_at) => {
                break How::Abandoned { open: many.running() };
            }
            signal = signals.next() => match signal {
                Signal::Interrupt if interrupts == 0 => {
                    results.note("ending the runs for good: each is brought to its end (SIGTERM suspends instead); Ctrl-C again ends them at once");
                    interrupts = 1;
                    ending = Some("stopping");
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
                        results.note("suspending: calls in flight may still finish; a second signal exits at once");
                    }
                    Control::Suspend
                }
            },
            _ = tick.tick() => {
                results.show(RunsNow {
                    ending,
                    left: many.left(),
                    running: many.running(),
                    waiting_requests: many.waiting_requests(),
                });
                if many.is_leaving() && many.running() == 0 && reading.has_stopped(results.progress()) {
                    break How::Unread;
                }
                continue;
            }
        };
        many.broadcast(&wanted);
    };
    // What is left of the work ends here, and gives the inputs back.
    drop(driving);
    Ok((how, many.summary().await))
}

/// Tracks whether somebody reads the results.
#[derive(Default)]
struct Reading {
    progress: u64,
    since: Option<Instant>,
}

impl Reading {
    /// True if nothing was read for a while.
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
