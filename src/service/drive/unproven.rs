//! What may help where a run ended without the call, or the proof, that its contract requires. Changes nothing.

use std::borrow::Cow;

use crate::drive::file_of_run::FileOfRun;
use crate::drive::typed_at::TypedAt;
use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Recorded;
use crate::text::escape::line;
use monolith_core::contract::{ExecutionContract, Grounds, ToolPolicy, ToolProof, is_tool_step};
use monolith_core::kernel::{EventKind, OutcomeCode};
use monolith_core::message::RunId;
use monolith_core::view::{ApprovalEnd, Call, CallEnd, RunView};
use monolith_host::telemetry::{has_server_log, remedy};

/// What the machine calls a tool that the contract does not offer.
const NOT_FOUND: &str = "TOOL_NOT_FOUND: ";
/// What it calls arguments that break the schema of their tool.
const NOT_VALID: &str = "TOOL_VALIDATION_ERROR: ";
/// The same of an agent that is called.
const NOT_VALID_FOR_AGENT: &str = "invalid_parameters: ";
/// What it calls a call that the contract's own rules deny, and how that ends.
const DENIED: (&str, &str) = ("denied: approval: ", " of the contract");

/// Whether a run ended for want of a call, or of one that was executed.
pub(super) const fn is_unproven(code: OutcomeCode) -> bool {
    matches!(
        code,
        OutcomeCode::NoCallResponse | OutcomeCode::SynthesisWithoutTools
    )
}

/// Whether the last call that was refused is of a tool that the contract does not offer.
pub(super) fn wants_unknown_tool(view: &RunView) -> bool {
    let refusal = view.last_refusal();
    refusal.is_some_and(|why| why.contains(NOT_FOUND))
}

/// What helps where calls were asked for and none was executed, in the form of a [`remedy`]; `None` if no record shows it.
pub(super) fn not_executed(view: &RunView, code: OutcomeCode) -> Option<Cow<'static, str>> {
    if !is_unproven(code) || view.requested_calls() == 0 || view.counters().executed > 0 {
        return None;
    }
    let mut calls = view.calls().values().rev();
    calls.find_map(of_call).or_else(|| {
        if code != OutcomeCode::NoCallResponse {
            // In a closing turn no call could be made again: that is what to correct.
            return None;
        }
        // The model answered while it had tries left: more of them change nothing.
        let refused = view.last_refusal()?;
        if refused.contains(DENIED.0) && refused.ends_with(DENIED.1) {
            return Some(Cow::Borrowed(
                "a rule in `approval` denies that call: ask for what the rules allow, or change the rule, then `monolith continue RUN \"…\" --contract FILE`",
            ));
        }
        let is_invalid = [NOT_VALID, NOT_VALID_FOR_AGENT].iter().any(|why| refused.contains(why));
        is_invalid.then_some(Cow::Borrowed(
            "`monolith tools FILE --schemas` shows what each tool takes: say it in the system prompt, or take a larger model; `monolith continue RUN \"…\"` asks again",
        ))
    })
}

/// What helps where a step of a workflow is one call, and that failed: what its author wrote of the call, and neither more turns nor another
/// proof. In the form of a [`remedy`]; none of other runs, and where more is recorded of the call.
pub(super) fn of_tool_step(view: &RunView, code: OutcomeCode) -> Option<&'static str> {
    let used = view.counters();
    // A run whose call reported an error may have succeeded; its step has not.
    let is_of_call = is_unproven(code)
        || matches!(
            code,
            OutcomeCode::Arguments | OutcomeCode::ProofNotSucceeded
        )
        || remedy(code).is_none() && used.executed > used.executed_ok;
    if !is_of_call || !is_tool_step(view.contract()) || wants_unknown_tool(view) {
        return None;
    }
    let refusal = view.last_refusal().unwrap_or_default();
    if refusal.contains(NOT_VALID) {
        return Some(
            "correct `arguments` of the step: `monolith tools FILE --schemas` shows what the tool takes; then `monolith run FILE`",
        );
    }
    let known = view.calls().values().rev().find_map(of_call);
    known
        .is_none()
        .then_some("correct what the call failed with, then `monolith run FILE`")
}

fn of_call(call: &Call) -> Option<Cow<'static, str>> {
    match call.approval {
        Some(ApprovalEnd::Refused) => {
            return Some(Cow::Borrowed(
                "ask for something that needs no such call, or allow it when it is asked for again: `monolith continue RUN \"…\"`",
            ));
        }
        Some(ApprovalEnd::Expired) => {
            return Some(Cow::Borrowed(
                "a longer `approval_timeout_ms`, or somebody who answers: `monolith continue RUN \"…\"` asks again",
            ));
        }
        Some(ApprovalEnd::Allowed | ApprovalEnd::Stopped) | None => {}
    }
    Some(Cow::Borrowed(match call.reported()? {
        CallEnd::ConnectionLost { detail } | CallEnd::RestartFailed { detail }
            if has_server_log(detail) =>
        {
            "the tool server ended, and its last output names the fault: correct the tool. Then `monolith continue RUN \"…\"`"
        }
        CallEnd::ConnectionLost { .. }
        | CallEnd::RestartInProgress
        | CallEnd::RestartFailed { .. } => {
            "look why the tool server ended: `monolith doctor --contract FILE` starts it. Once it stays: `monolith continue RUN \"…\"`"
        }
        CallEnd::TimedOut => {
            "a task for which the tool needs less time, or more time for it: `monolith continue RUN \"…\" --contract FILE --set tool_timeout_ms=MORE`"
        }
        CallEnd::Malformed { .. } => remedy(OutcomeCode::ToolEnvelope)?,
        CallEnd::ToolChanged { .. } => remedy(OutcomeCode::ToolChanged)?,
        CallEnd::Lost { suspended } => return Some(Cow::Owned(of_lost(&call.name, *suspended))),
        CallEnd::Cancelled => {
            "it was cancelled before its result was there: `monolith continue RUN \"…\"` asks again"
        }
        CallEnd::Returned(_) | CallEnd::NotBegun { .. } | CallEnd::GivenUp => return None,
    }))
}

/// The same of a call whose process ended first.
fn of_lost(name: &str, suspended: bool) -> String {
    let name = line(name);
    let what = if suspended {
        "the run was suspended, and its process left"
    } else {
        "the process that drove the run ended"
    };
    format!(
        "{what} in the middle of {name}, and nothing recorded says what that did: look first; `monolith continue RUN \"…\"` asks again. `idempotent: [{name}]` lets `resume` make such a call a second time"
    )
}

/// What helps where calls were executed and the contract counts none of them.
pub(super) fn accept_calls(
    service: &Service,
    view: &RunView,
    file: &FileOfRun,
    (run_id, typed_at): (&RunId, TypedAt<'_>),
) -> String {
    let used = view.counters();
    // Under `lineage` an agent that completed may be all there was.
    let (proof, fix) = if used.executed_ok > 0 {
        (
            "succeeded",
            "have the agents call their tools, or count an agent that completed",
        )
    } else {
        (
            "executed",
            "correct what the calls failed with, or count a call that failed",
        )
    };
    let set = format!("tool_proof={proof}");
    let accepts = match typed_at {
        TypedAt::Shell => file.with_value(service, run_id, &set),
        TypedAt::Chat(again) => service.hint(&format!("{again} --set {set}")),
    };
    format!("{fix}: {accepts}")
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

/// The rule that a run broke which answered without a call, and the way out. It holds in each run of a conversation anew.
pub(super) fn missing_proof(
    service: &Service,
    view: &RunView,
    run_id: &RunId,
    typed_at: TypedAt<'_>,
) -> Option<String> {
    if !is_unproven(view.outcome()?.code) || view.requested_calls() > 0 {
        return None;
    }
    let rule = proof_rule(view.contract())?;
    let change = match view.contract().policy_decision.grounds {
        Grounds::CodeIntent | Grounds::CodeConceptual | Grounds::ChatPage => "page=null",
        Grounds::Given | Grounds::Default => "tool_policy=optional",
    };
    let allowed = match typed_at {
        TypedAt::Shell => FileOfRun::of(service, run_id).with_value(service, run_id, change),
        TypedAt::Chat(again) => service.hint(&format!("{again} --set {change}")),
    };
    Some(format!(
        "{rule}. Ask for something that needs a tool, or allow an answer without one: {allowed}"
    ))
}

/// What a contract demands of each run, if it demands a call.
pub fn proof_rule(contract: &ExecutionContract) -> Option<String> {
    if contract.tool_policy != ToolPolicy::Required {
        return None;
    }
    let (key, what) = match contract.tool_proof {
        ToolProof::Executed => ("tool_policy: required", "a tool call of its own"),
        ToolProof::Succeeded => (
            "tool_policy: required, tool_proof: succeeded",
            "a tool call of its own that succeeds",
        ),
        ToolProof::Lineage => (
            "tool_policy: required, tool_proof: lineage",
            "a tool call that succeeds, of its own or of an agent that it calls",
        ),
    };
    Some(format!(
        "{key}: each run needs {what}, also one that continues another"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::view::Execution;

    #[test]
    fn a_call_without_a_result_has_help_of_its_own() {
        let check = |end: CallEnd, expect: Option<&str>| {
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
            let help = of_call(&call);
            let expected =
                expect.is_none_or(|part| help.as_ref().is_some_and(|it| it.contains(part)));
            assert!(
                expected && help.is_some() == expect.is_some(),
                "{end:?}: {help:?}"
            );
        };
        let lost = |suspended| CallEnd::Lost { suspended };
        check(lost(false), Some("`idempotent: [b__slow]` lets `resume`"));
        check(
            lost(false),
            Some("`monolith continue RUN \"…\"` asks again"),
        );
        check(
            lost(false),
            Some("the process that drove the run ended in the middle of b__slow, "),
        );
        check(
            lost(true),
            Some("the run was suspended, and its process left in the middle of b__slow, "),
        );
        check(
            CallEnd::Cancelled,
            Some("`monolith continue RUN \"…\"` asks again"),
        );
        check(
            CallEnd::TimedOut,
            Some(
                "or more time for it: `monolith continue RUN \"…\" --contract FILE --set tool_timeout_ms=MORE`",
            ),
        );
        let lost = |detail: &str| CallEnd::ConnectionLost {
            detail: detail.to_owned(),
        };
        check(lost("exit status: 3"), Some("starts it. Once it stays"));
        check(
            lost("exit status: 3; its standard error ended with: out of cheese"),
            Some("its last output names the fault: correct the tool. Then `monolith continue"),
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
