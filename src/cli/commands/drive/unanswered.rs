//! What of a run that was left waits for a person, and the command that answers it. Answers nothing.

use super::live::Live;
use crate::context::app::App;
use monolith_core::kernel::{Approval, CallOrder};
use monolith_core::message::RunId;
use monolith_core::session::Control;
use monolith_host::driver::Reopened;
use monolith_service::error::ServiceError;
use monolith_service::text::escape::line;
use monolith_service::waiting_call::{WaitingCall, is_stuck};

/// Whether a run, or each run below it that is open, waits for a person who has not answered: a process that goes on with it would only
/// wait. Takes no answer.
pub(crate) fn waits_unanswered(
    app: &App,
    live: &Live,
    run_id: &RunId,
    reopened: &Reopened,
) -> bool {
    waits(app, run_id, reopened).unwrap_or_else(|fault| {
        // An answer that cannot be read is none.
        let waits = reopened.awaited().is_some();
        let what = if waits { "no answer is taken: " } else { "" };
        let text = format!("run {run_id}: {what}{}", fault.summary());
        live.ask(&format!("warning: {}\n", line(&text)));
        waits
    })
}

fn waits(app: &App, run_id: &RunId, reopened: &Reopened) -> Result<bool, ServiceError> {
    let goes_on = !reopened.is_stopping() && !reopened.ends_if_resumed();
    let Some(mut reader) = app.reader()?.filter(|_| goes_on) else {
        return Ok(false);
    };
    if reopened.contract().agents.is_empty() {
        let order = reopened.awaited();
        let Some(order) = order.filter(|order| refused_now(order).is_none()) else {
            return Ok(false);
        };
        let call = (order.call, order.arguments_hash);
        return Ok(reader.answer_to(run_id, call)?.is_none());
    }
    let waiting = WaitingCall::answerable_below(app, run_id)?;
    if waiting.is_empty() {
        return Ok(false);
    }
    is_stuck(app, &mut reader, run_id, |run| {
        waiting.iter().any(|(waits, _)| waits == run)
    })
}

/// The refusal of a question that ends with this process, where no one is waited for; `None` if the run can be left with it.
pub(crate) fn refused_now(order: &CallOrder) -> Option<Control> {
    let approval = Approval::to(order.call, order.arguments_hash);
    let refused = order.asks_within_the_call();
    refused.then_some(Control::Deny(approval))
}

/// The hint that allows the call which waits in a stored run, under that name of it; the plain command where the call cannot be read.
pub(crate) fn approve_hint(app: &App, run_id: &RunId, name: &str) -> String {
    let reader = app.reader().ok().flatten();
    let call = reader.and_then(|reader| WaitingCall::of(run_id, reader).ok().flatten());
    let command = match call {
        Some(call) => call.answering("approve", name),
        None => format!("approve {name}"),
    };
    app.hint(&command)
}
