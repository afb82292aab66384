//! The reasons why a request, a call or a report failed, in the words of the accounting.

use monolith_core::kernel::{BringUpCause, invalid_arguments};
use monolith_core::message::StopReason;
use monolith_core::view::{
    Activity, CallEnd, Execution, Report, ReportFault, Request, RequestEnd, RunView,
};
use serde::Serialize;

/// The text until the answer is there.
const UNANSWERED: &str = "no answer was recorded";
/// The text for a message that was left out, if the machine stated nothing else.
const UNKEPT: &str = "the message did not count";
/// The text for a well-formed report that still counted for nothing, if the machine stated nothing else.
const UNCOUNTED: &str = "the report did not count";

/// Returns the reason why the activity failed; none if it did not.
pub(super) fn of_activity(view: &RunView, activity: Activity) -> Option<String> {
    match activity {
        Activity::Request(inference) => of_request(view.request(inference)?),
        Activity::Execution(call, place) => of_execution(view.call(call)?.executions.get(place)?),
        Activity::Report(place) => of_report(view.reports().get(place)?),
    }
}

pub(super) fn of_request(request: &Request) -> Option<String> {
    Some(match &request.end {
        None => UNANSWERED.to_owned(),
        Some(RequestEnd::Returned {
            failure_code: None,
            stop: StopReason::Unknown,
            stop_word,
            ..
        }) => stop_word.as_ref().map_or_else(
            || "the answer has no stop reason".to_owned(),
            |word| format!("unknown stop reason: {word}"),
        ),
        Some(RequestEnd::Returned {
            failure_code,
            pointer,
            ..
        }) => {
            let pointer = pointer.as_deref().unwrap_or_default();
            match failure_code {
                Some(code) => format!("{code} at {pointer:?}"),
                None if request.succeeded() => return None,
                None => request
                    .left_out
                    .clone()
                    .unwrap_or_else(|| UNKEPT.to_owned()),
            }
        }
        Some(RequestEnd::Failed { class, message, .. }) => {
            format!("{}: {message}", class.as_str())
        }
        Some(RequestEnd::Lost) => "lost: the process ended before the answer".to_owned(),
        Some(RequestEnd::GivenUp) => "cancelled".to_owned(),
    })
}

pub(super) fn of_execution(execution: &Execution) -> Option<String> {
    if let Some(detail) = execution.malformed() {
        return Some(format!("malformed result: {detail}"));
    }
    Some(match execution.end.as_ref() {
        None => UNANSWERED.to_owned(),
        Some(CallEnd::Returned(result)) => {
            let error = result.error.as_ref()?;
            format!("{}: {}", error.code, error.message)
        }
        Some(CallEnd::Malformed { detail }) => format!("malformed result: {detail}"),
        Some(CallEnd::TimedOut) => "timeout".to_owned(),
        Some(CallEnd::ConnectionLost { detail }) => format!("connection lost: {detail}"),
        Some(CallEnd::Cancelled | CallEnd::GivenUp) => "cancelled".to_owned(),
        Some(CallEnd::RestartInProgress) => "mcp_restart_in_progress".to_owned(),
        Some(CallEnd::NotBegun { detail }) => detail.clone(),
        Some(CallEnd::RestartFailed { detail }) => format!("mcp_restart_failed: {detail}"),
        Some(CallEnd::ToolChanged { detail }) if detail.is_empty() => {
            "the server no longer offers this tool".to_owned()
        }
        Some(CallEnd::ToolChanged { detail }) => {
            format!("the server no longer offers this tool: {detail}")
        }
        Some(CallEnd::Lost { .. }) => "interrupted, effect unknown".to_owned(),
    })
}

/// Returns the text of an entry's note about a refused message. A rule about the whole message names no place, and the note
/// then holds an empty one.
pub fn words_of_note(note: &str) -> String {
    note.replacen(": : ", ": ", 1)
}

/// Returns the error in the form of a final report, and its place.
pub(super) fn of_form(fault: &ReportFault) -> Option<String> {
    match fault {
        ReportFault::Form { pointer, rule } if pointer.is_empty() => Some(rule.clone()),
        ReportFault::Form { pointer, rule } => Some(format!("{pointer}: {rule}")),
        ReportFault::Cut => Some("cut at the output limit".to_owned()),
        ReportFault::HeldBack | ReportFault::Refused(_) => None,
    }
}

pub(super) fn of_report(report: &Report) -> Option<String> {
    Some(match (report.counted, &report.fault) {
        (Some(true), _) => return None,
        (None, _) | (Some(false), None) => UNCOUNTED.to_owned(),
        (Some(false), Some(ReportFault::HeldBack)) => {
            "held back by the token gate: no call of the run had been validated".to_owned()
        }
        (Some(false), Some(ReportFault::Form { pointer, rule })) => {
            invalid_arguments(pointer, rule)
        }
        (Some(false), Some(ReportFault::Cut)) => "cut at the output limit".to_owned(),
        (Some(false), Some(ReportFault::Refused(note))) => note.clone(),
    })
}

/// A tool that requests leave out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutTool {
    /// The tool, the targets where not all, and the reason.
    pub detail: String,
    /// The name of its server in the contract.
    pub server: String,
}

impl LeftOutTool {
    pub(super) fn of_run(view: &RunView) -> Vec<Self> {
        let faults = view.preflight().bring_up.iter();
        let left_out = faults.filter(|fault| fault.cause == Some(BringUpCause::LeftOut));
        let left_out = left_out.map(|fault| Self {
            detail: fault.detail.clone(),
            server: fault.server.clone(),
        });
        left_out.collect()
    }
}
