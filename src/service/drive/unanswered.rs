//! Runs that were left and wait for a person.

use super::approvers::refused_now;
use super::follower::Follower;
use crate::error::ServiceError;
use crate::service::Service;
use crate::text::escape::line;
use crate::waiting_call::{WaitingCall, is_stuck};
use monolith_core::message::RunId;
use monolith_host::driver::Reopened;

/// True if a run, or each open child run, waits for a person who has not answered: a process that resumed it would only
/// wait. Takes no answer.
pub fn waits_unanswered(
    service: &Service,
    follower: &Follower,
    run_id: &RunId,
    reopened: &Reopened,
) -> bool {
    waits(service, run_id, reopened).unwrap_or_else(|fault| {
        // An answer that cannot be read is none.
        let waits = reopened.awaited().is_some();
        let what = if waits { "no answer is taken: " } else { "" };
        let text = format!("run {run_id}: {what}{}", fault.summary());
        follower.warn(&line(&text));
        waits
    })
}

fn waits(service: &Service, run_id: &RunId, reopened: &Reopened) -> Result<bool, ServiceError> {
    let goes_on = !reopened.is_stopping() && !reopened.ends_if_resumed();
    let Some(mut reader) = service.reader()?.filter(|_| goes_on) else {
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
    let waiting = WaitingCall::answerable_below(service, run_id)?;
    if waiting.is_empty() {
        return Ok(false);
    }
    is_stuck(service, &mut reader, run_id, |run| {
        waiting.iter().any(|(waits, _)| waits == run)
    })
}

/// The hint that allows the call which waits in a stored run, under that name of it; the plain command where the call cannot be read.
pub fn approve_hint(service: &Service, run_id: &RunId, name: &str) -> String {
    let reader = service.reader().ok().flatten();
    let call = reader.and_then(|reader| WaitingCall::of(run_id, reader).ok().flatten());
    let command = match call {
        Some(call) => call.answering("approve", name),
        None => format!("approve {name}"),
    };
    service.hint(&command)
}
