//! One run of many: driven, its approvals answered or left, and its result. Does not know how it was begun.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::time::{MissedTickBehavior, interval};

use super::result::{Ending, RunEnd};
use super::worker::{Common, Worker};
use crate::clock::unix_ms;
use crate::drive::approvers::{Approvers, LOOK_EVERY};
use crate::drive::ended::{Broken, Ended};
use crate::drive::follower::Follower;
use crate::drive::run::{broken, finished_run};
use crate::error::ServiceError;
use crate::error::advice::Advice as _;
use crate::exit::Exit;
use crate::panics::caught_in;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::{ClosingReason, EntryDraft, Run};
use monolith_core::message::{InferenceSeq, RunId};
use monolith_core::session::Control;
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{Observer, Prepared, Waiting};
use monolith_host::telemetry::AgentResult;

/// Returns the result of a run; `place` names it in the result of one that has no name.
pub(super) fn end_of(common: &Common, place: &str, outcome: Result<Ended, Broken>) -> RunEnd {
    result_of(common, place, outcome, false)
}

/// Like [`end_of`], for a run that had ended before.
pub(super) fn recorded_end_of(
    common: &Common,
    place: &str,
    outcome: Result<Ended, Broken>,
) -> RunEnd {
    result_of(common, place, outcome, true)
}

/// Like [`end_of`], for a run that could not be resumed: it stays as it was.
pub(super) fn refused_end_of(common: &Common, place: &str, broken: Broken) -> RunEnd {
    match broken {
        Broken {
            error,
            result: Some(result),
        } => RunEnd::Run(result, Ending::Refused(error.help())),
        broken => end_of(common, place, Err(broken)),
    }
}

fn result_of(
    common: &Common,
    place: &str,
    outcome: Result<Ended, Broken>,
    is_recorded: bool,
) -> RunEnd {
    let outcome = outcome.and_then(Ended::agreeing);
    let outcome = outcome.and_then(|ended| Ok(ended.naming_call_below(common.service())?));
    let mut ending = if is_recorded {
        Ending::Recorded
    } else {
        Ending::Own
    };
    let result = match outcome {
        Ok(ended) => {
            if !is_recorded {
                common.terms.surface.keep(&ended);
                if ended.view.closing() == Some(ClosingReason::Stop) {
                    ending = Ending::Stopped;
                }
            }
            Box::new(ended.result)
        }
        Err(Broken {
            result: Some(result),
            ..
        }) => result,
        // A run that cannot be read is no recorded end.
        Err(Broken { error, .. }) => {
            ending = Ending::Own;
            let text = format!("{place}: {}", error.summary());
            not_begun(Exit::from(&error), error.reason(), text)
        }
    };
    RunEnd::Run(result, ending)
}

fn not_begun(exit: Exit, reason: &str, text: String) -> Box<AgentResult> {
    Box::new(AgentResult::without_run(exit.0, reason, text, unix_ms()))
}

/// Returns the result of a line that is no run.
pub(super) fn refused(place: &str, rule: &str) -> RunEnd {
    let result = not_begun(Exit::USAGE, "usage", format!("{place}: {rule}"));
    RunEnd::Run(result, Ending::Own)
}

/// Returns the result of a line whose run another process drives, which may be at work on the same list.
pub(super) fn driven_by(place: &str, run_id: &RunId, pid: Option<u32>) -> RunEnd {
    let by = match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    };
    let text = format!(
        "{place}: {by} is already driving run {run_id}; once that has ended, run the list again for its result"
    );
    RunEnd::Run(not_begun(Exit::FAILED, "store", text), Ending::Own)
}

/// Returns the end of `body`; a panic in it is a fault of that run alone.
pub(super) async fn guarded<T>(
    live: &Follower,
    body: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, Broken> {
    let done = caught_in(body).await;
    done.map_err(|fault| broken(live, fault))
}

/// Drives a run to its end, or until it is suspended: once all that is under way in its tree waits for a person, unless an answer is left.
pub(super) async fn drive(
    worker: Worker,
    prepared: Prepared,
    live: &Follower,
) -> Result<Ended, ServiceError> {
    let (waiting, report) = Waiting::alone();
    let prepared = prepared
        .with_grace(worker.common.terms.grace)
        .that_reports(report);
    let (store, control) = (Arc::clone(&worker.common.store), worker.control.clone());
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
