//! Advice for a run that ended without the call, or the proof, that its contract requires. Changes nothing.

use super::limit::Limit;
use super::remedy::Remedy;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Recorded;
use monolith_core::contract::{ExecutionContract, Grounds, ToolPolicy, ToolProof};
use monolith_core::kernel::{EventKind, OutcomeCode};
use monolith_core::message::RunId;
use monolith_core::view::{ApprovalEnd, Call, CallEnd, Refusal, RunView};

/// True if a run ended for want of a call, or of an executed one.
pub(super) const fn is_unproven(code: OutcomeCode) -> bool {
    matches!(
        code,
        OutcomeCode::NoCallResponse | OutcomeCode::SynthesisWithoutTools
    )
}

/// Returns what helps where calls were asked for and none was executed; `None` if no record shows it.
pub(super) fn not_executed(view: &RunView, code: OutcomeCode) -> Option<Remedy> {
    // The call of a step may have been denied, or lost.
    let is_of_step = code == OutcomeCode::ProofNotSucceeded;
    let is_unproven = is_unproven(code) || is_of_step;
    if !is_unproven || view.requested_calls() == 0 || view.counters().executed > 0 {
        return None;
    }
    let mut calls = view.calls().values().rev();
    calls.find_map(of_call).or_else(|| {
        if code != OutcomeCode::NoCallResponse {
            // In a closing turn no call could be made again: that is what to correct.
            return None;
        }
        // The model answered while it had tries left: more of them change nothing.
        match view.refusal()? {
            Refusal::DeniedByRule => Some(Remedy::ChangeRule),
            Refusal::Arguments => Some(Remedy::NameTools { tries: false }),
            Refusal::UnknownTool => None,
        }
    })
}

/// Returns what helps where a step of a workflow is one call, and that failed: what its author wrote of the call, and neither more turns nor
/// another proof. `None` of other runs, and where more is recorded of the call.
pub(super) fn of_tool_step(view: &RunView, code: OutcomeCode) -> Option<Remedy> {
    let is_of_call = matches!(
        code,
        OutcomeCode::Arguments | OutcomeCode::ProofNotSucceeded
    );
    if !is_of_call || view.contract().asks_model() {
        return None;
    }
    match view.refusal() {
        Some(Refusal::UnknownTool) => return None,
        Some(Refusal::Arguments) => return Some(Remedy::CorrectArguments),
        Some(Refusal::DeniedByRule) | None => {}
    }
    let known = view.calls().values().rev().find_map(of_call);
    known.is_none().then_some(Remedy::CorrectCall)
}

fn of_call(call: &Call) -> Option<Remedy> {
    match call.approval {
        Some(ApprovalEnd::Refused) => return Some(Remedy::AllowCall),
        Some(ApprovalEnd::Expired) => return Some(Remedy::AnswerInTime),
        Some(ApprovalEnd::Allowed | ApprovalEnd::Stopped) | None => {}
    }
    Some(match call.reported()? {
        CallEnd::ConnectionLost { .. }
        | CallEnd::RestartInProgress
        | CallEnd::RestartFailed { .. } => Remedy::RestartServer,
        CallEnd::TimedOut => Remedy::Raise {
            limit: Limit::ToolTimeout,
            to: None,
        },
        CallEnd::Malformed { .. } => Remedy::KeepProtocol,
        CallEnd::ToolChanged { .. } => Remedy::PinTools,
        CallEnd::Lost { suspended } => Remedy::LookFirst {
            suspended: *suspended,
            tool: call.name.clone(),
        },
        CallEnd::Cancelled => Remedy::AskAgain,
        CallEnd::NotBegun { .. } => Remedy::BeginAgent {
            tool: call.name.clone(),
        },
        CallEnd::Returned(_) | CallEnd::GivenUp => return None,
    })
}

/// Returns the way to count calls that were executed and that the contract does not count.
pub(super) fn accept_calls(view: &RunView) -> Remedy {
    Remedy::AcceptCalls {
        succeeded: view.counters().executed_ok > 0,
    }
}

/// The text profiles that read the first text of a run which was held back and has the form of a call. A target that has a text profile
/// reads calls from text already.
pub(super) fn unread_calls(
    service: &Service,
    view: &RunView,
    run_id: &RunId,
) -> Result<Option<&'static str>, ServiceError> {
    let has_profile = |version: &str| version.contains('+');
    let mut targets = view.contract().targets.iter();
    if view.held_back_bytes() == 0 || targets.any(|target| has_profile(&target.adapter_version)) {
        return Ok(None);
    }
    service.source(run_id.as_str())?.each_entry_with_blobs(
        |_, _| None,
        |found, entry, blobs| {
            let Ok(decoded) = Recorded::decode(entry) else {
                return;
            };
            let event = decoded.into_event();
            let Some(EventKind::InferenceReturned(returned)) = event.map(|event| event.event)
            else {
                return;
            };
            let text = returned
                .result
                .withheld
                .and_then(|held| blobs.blob(held.hash));
            let text = text.unwrap_or_default();
            *found = found.or_else(|| profiles_for(&String::from_utf8_lossy(&text)));
        },
    )
}

/// The text profiles in whose form a text writes a call; `None` if it writes none.
fn profiles_for(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let begins = |tag: &str| text.lines().any(|line| line.trim_start().starts_with(tag));
    let is_object = || {
        let value = serde_json::from_str::<serde_json::Value>(text).ok();
        value.is_some_and(|value| value.get("name").is_some() && value.get("parameters").is_some())
    };
    if begins("<function=") {
        Some("qwen")
    } else if begins("<tool_call>") {
        Some("hermes` or `qwen")
    } else if text.starts_with("<|python_tag|>") || is_object() {
        Some("llama3")
    } else {
        None
    }
}

/// Returns the rule that a run without a call broke, and the remedy. It applies to each run of a conversation.
pub(super) fn missing_proof(view: &RunView) -> Option<Remedy> {
    if !is_unproven(view.outcome()?.code) || view.requested_calls() > 0 {
        return None;
    }
    let rule = proof_rule(view.contract())?;
    let change = match view.contract().policy_decision.grounds {
        Grounds::CodeIntent | Grounds::CodeConceptual | Grounds::ChatPage => ("page", "null"),
        Grounds::Given | Grounds::Default => ("tool_policy", "optional"),
    };
    Some(Remedy::AnswerWithoutCall { change, rule })
}

/// Returns the contract's demand of each run, if it demands a call.
pub fn proof_rule(contract: &ExecutionContract) -> Option<String> {
    if contract.tool_policy != ToolPolicy::Required {
        return None;
    }
    let (key, what) = match contract.tool_proof {
        ToolProof::Executed => ("tool_policy: required", "its own tool call"),
        ToolProof::Succeeded => (
            "tool_policy: required, tool_proof: succeeded",
            "its own successful tool call",
        ),
        ToolProof::Lineage => (
            "tool_policy: required, tool_proof: lineage",
            "a successful tool call, made by itself or by an agent that it calls",
        ),
    };
    Some(format!(
        "{key}: each run needs {what}, even a run that continues another"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::view::Execution;

    #[test]
    fn a_call_without_a_result_has_help_of_its_own() {
        let check = |end: CallEnd, expect: Option<Remedy>| {
            let execution = Execution {
                number: 1,
                turn: 1,
                attempt: 1,
                began_at_ms: 0,
                ended_at_ms: None,
                child: None,
                exchanges: Vec::new(),
                end: Some(end.clone()),
                late: None,
                dropped: None,
            };
            let call = Call {
                arguments: "{}".to_owned(),
                delegated: false,
                requested_in: None,
                batch: None,
                executions: vec![execution],
                id: "c1".to_owned(),
                name: "b__slow".to_owned(),
                question: None,
                samples: false,
                asked_by: None,
                answered_by: None,
                reason: None,
                approval: None,
            };
            assert_eq!(of_call(&call), expect, "{end:?}");
        };
        for suspended in [false, true] {
            let tool = "b__slow".to_owned();
            check(
                CallEnd::Lost { suspended },
                Some(Remedy::LookFirst { suspended, tool }),
            );
        }
        check(CallEnd::Cancelled, Some(Remedy::AskAgain));
        let more_time = Remedy::Raise {
            limit: Limit::ToolTimeout,
            to: None,
        };
        check(CallEnd::TimedOut, Some(more_time));
        let detail = "exit status: 3".to_owned();
        check(
            CallEnd::ConnectionLost { detail },
            Some(Remedy::RestartServer),
        );
        let detail = "budget: 4096 tokens needed".to_owned();
        let tool = "b__slow".to_owned();
        check(
            CallEnd::NotBegun { detail },
            Some(Remedy::BeginAgent { tool }),
        );
        check(CallEnd::GivenUp, None);
    }

    #[test]
    fn a_call_in_a_text_is_known_by_the_form_of_each_profile() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(profiles_for(text), expect, "{text}");
        };
        check("<tool_call>\n{}\n</tool_call>", Some("hermes` or `qwen"));
        check("I read it.\n <tool_call>{}", Some("hermes` or `qwen"));
        check("<tool_call>\n<function=read_file>", Some("qwen"));
        check("<|python_tag|>{}", Some("llama3"));
        check(r#"{"name": "a", "parameters": {}}"#, Some("llama3"));
        check(r#"{"name": "a"}"#, None);
        check("Tags such as <tool_call> begin a call.", None);
        check("", None);
    }
}
