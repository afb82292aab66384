//! One run among many: driven, its approvals answered or left, and what it comes to as one line. Does not know how it was begun.

use monolith_service::drive::approvers::Approvers;
use monolith_service::drive::approvers::LOOK_EVERY;
use monolith_service::drive::ended::Broken;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use monolith_service::drive::run::broken;
use monolith_service::drive::run::finished_run;
use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use super::repeated::Driven;
use super::run_result::{Ending, RunResult};
use super::terms::Terms;
use crate::commands::drive::{LeavingArgs, keep};
use crate::context::fault::show_error;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{ClosingReason, EntryDraft, Run};
use monolith_core::message::{InferenceSeq, RunId};
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{Observer, Prepared, Waiting, Worker};
use monolith_host::telemetry::AgentResult;
use monolith_service::clock::unix_ms;
use monolith_service::error::ServiceError;
use monolith_service::error::advice::Advice as _;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;

/// What became of a run of a list.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// Its result.
    Result(Box<RunResult>),
    /// It was left to another process, and why.
    Skipped(String),
}

/// What a run comes to; `place` names it in the result of one that has no name.
pub(super) fn end_of(terms: &Terms, place: &str, outcome: Result<Ended, Broken>) -> RunEnd {
    RunEnd::Result(Box::new(result_of(terms, place, outcome, false)))
}

/// The same of a run that had ended before.
pub(super) fn recorded_end_of(
    terms: &Terms,
    place: &str,
    outcome: Result<Ended, Broken>,
) -> RunEnd {
    RunEnd::Result(Box::new(result_of(terms, place, outcome, true)))
}

/// The same of a run that could not be gone on with: it stays as it was.
pub(super) fn refused_end_of(terms: &Terms, place: &str, broken: Broken) -> RunEnd {
    let Broken {
        error,
        result: Some(result),
    } = broken
    else {
        return end_of(terms, place, Err(broken));
    };
    let help = error.help();
    let refused = RunResult::of_refused(terms, &result, help.as_deref());
    RunEnd::Result(Box::new(refused))
}

fn result_of(
    terms: &Terms,
    place: &str,
    outcome: Result<Ended, Broken>,
    is_recorded: bool,
) -> RunResult {
    let outcome = outcome.and_then(Ended::agreeing);
    match outcome.and_then(|ended| Ok(ended.naming_call_below(&terms.app)?)) {
        Ok(ended) => {
            // The run has ended all the same.
            if !is_recorded && let Err(fault) = keep(&terms.app, &ended) {
                show_error(terms.app.screen, &fault);
            }
            let mut result = RunResult::of(terms, &ended.result, is_recorded);
            if !is_recorded && ended.view.closing() == Some(ClosingReason::Stop) {
                result.ending = Ending::Stopped;
            }
            result
        }
        Err(Broken {
            result: Some(result),
            ..
        }) => RunResult::of(terms, &result, is_recorded),
        // What cannot be read is no recorded end.
        Err(Broken { error, .. }) => RunResult::of(terms, &not_begun(place, &error), false),
    }
}

/// The result of a run that was not begun.
fn not_begun(place: &str, fault: &ServiceError) -> AgentResult {
    let exit = Exit::from(fault);
    let text = format!("{place}: {}", fault.summary());
    AgentResult::without_run(exit.0, fault.reason(), text, unix_ms())
}

/// The result of a line that is no run.
pub(super) fn refused(terms: &Terms, place: &str, rule: &str) -> RunEnd {
    let text = format!("{place}: {rule}");
    let result = AgentResult::without_run(Exit::USAGE.0, "usage", text, unix_ms());
    RunEnd::Result(Box::new(RunResult::of(terms, &result, false)))
}

/// The result of a line whose run another process drives, which may be at work on the same list.
pub(super) fn driven_by(terms: &Terms, place: &str, driven: &Driven) -> RunEnd {
    let by = match driven.pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    let run_id = &driven.run_id;
    let text = format!(
        "{place}: {by} drives run {run_id} already; the same list reports it once that has ended"
    );
    let result = AgentResult::without_run(Exit::FAILED.0, "store", text, unix_ms());
    RunEnd::Result(Box::new(RunResult::of(terms, &result, false)))
}

/// What `body` comes to; a panic in it is a fault of that run alone.
pub(super) async fn guarded<T>(
    live: &Follower,
    body: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, Broken> {
    let done = std::panic::AssertUnwindSafe(body).catch_unwind().await;
    let done = done.unwrap_or_else(|payload| Err(fault_of_panic(&*payload)));
    done.map_err(|fault| broken(live, fault))
}

/// What a panic says.
pub(super) fn fault_of_panic(payload: &(dyn Any + Send)) -> ServiceError {
    let message = payload.downcast_ref::<String>().cloned();
    let message = message.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string));
    let message = message.unwrap_or_else(|| "no message".to_owned());
    SystemFault::Panic { message }.into()
}

/// Drives a run to its end, or until it is suspended: once all that is under way in its tree waits for a person, unless an answer is left.
pub(super) async fn drive(
    worker: Worker,
    prepared: Prepared,
    live: &Follower,
    leaving: LeavingArgs,
) -> Result<Ended, ServiceError> {
    let (waiting, report) = Waiting::alone();
    let prepared = prepared
        .with_grace(Duration::from_secs(leaving.grace))
        .that_reports(report);
    let (store, control) = (Arc::clone(worker.store()), worker.control());
    let asks = Arc::new(Notify::new());
    let mut watched = Watched {
        asks: Arc::clone(&asks),
        live: live.clone(),
    };
    let mut approvers = Approvers::among_many(&store, live);
    let mut driving = pin!(worker.drive(prepared, &mut watched));
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Most runs never wait for a person.
    let mut any_waits = false;
    let finished = loop {
        tokio::select! {
            biased;
            finished = &mut driving => break finished?,
            () = asks.notified() => any_waits = true,
            _ = tick.tick(), if any_waits => {
                if let Some(ask) = approvers.look(waiting.of_all(1)).await {
                    approvers.hand(ask, &control);
                }
                any_waits = approvers.any_waits();
            }
        }
    };
    let ended = finished_run(live, &finished);
    live.rest();
    Ok(ended)
}

/// Follows a run, and reports where it waits for a person.
struct Watched {
    asks: Arc<Notify>,
    live: Follower,
}

impl Observer for Watched {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.live.entry(draft, sealed, run);
        if run.awaited().is_some() {
            self.asks.notify_one();
        }
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.live.text(inference, text);
    }

    fn below(&mut self, _: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self {
            asks: Arc::clone(&self.asks),
            live: self.live.follow_child(control),
        })
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        self.live.recorded(contract, entries);
    }
}
