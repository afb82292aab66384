//! Runs that ask no model: the one call is an input of the run, and the run ends with it (semantics §1, §2).

use super::testing::*;
use super::{EntryKind, EventKind, Probed, State};
use crate::contract::{ContextBudget, Terms, ToolPolicy, ToolProof};
use crate::message::{AgentMessage, CallSeq, ToolOutcome};

fn call_terms() -> Terms {
    Terms {
        adapter_version: String::new(),
        context_budget: ContextBudget {
            context_window: 0,
            ..terms(ToolPolicy::Required).context_budget
        },
        max_invalid_turns: 1,
        max_turns: 1,
        model_profile_id: String::new(),
        targets: Vec::new(),
        token_gate: false,
        tool_proof: ToolProof::Succeeded,
        ..terms(ToolPolicy::Required)
    }
}

/// A run that was given that message, after its probe.
fn probed_with(terms: Terms, message: Option<AgentMessage>) -> Harness {
    let mut h = Harness::given(terms, message);
    h.push(no_probe());
    h
}

/// Nobody was to be asked.
fn no_probe() -> EventKind {
    EventKind::Probed(Probed {
        targets: Vec::new(),
    })
}

fn edges(h: &Harness) -> Vec<(State, State)> {
    let entries = h.entries.iter().map(|entry| &entry.action);
    let passed = entries.filter(|action| action.kind == EntryKind::Transition);
    passed.map(|action| (action.from, action.to)).collect()
}

#[test]
fn a_given_call_runs_without_an_inference_and_its_ok_result_is_the_success() {
    let mut h = probed_with(call_terms(), Some(calls(&["read"])));
    assert_eq!(h.started_calls(), [CallSeq(1)]);
    h.run_tools();
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (tool_result)");
    let counters = h.run.counters();
    assert_eq!((counters.inferences, counters.tokens()), (0, 0));
    assert_eq!((counters.turns, counters.executed_ok), (1, 1));
    assert_eq!(h.observations(), ["MIT"]);
    assert_eq!(
        edges(&h),
        [
            (State::Precheck, State::ValidateCalls),
            (State::ValidateCalls, State::Execute),
            (State::Execute, State::Observe),
            (State::Observe, State::Commit),
            (State::Commit, State::Terminate),
        ]
    );
    // No adapter and no model stand behind an entry.
    let mut actions = h.entries.iter().map(|entry| &entry.action);
    assert!(actions.all(|action| action.adapter_version.is_empty()));
}

#[test]
fn a_given_call_that_fails_fails_the_run() {
    let check = |push: &dyn Fn(&mut Harness), expect: &str| {
        let mut h = probed_with(call_terms(), Some(calls(&["read"])));
        push(&mut h);
        assert_eq!(h.end(), expect);
    };
    let unproven = "FAILED_PROTOCOL_NO_TOOLS (proof_not_succeeded)";
    check(
        &|h| {
            let (id, name) = h.order(CallSeq(1));
            let error = ToolOutcome::Returned(error_envelope(&id, &name));
            h.push(tool(CallSeq(1), error));
        },
        unproven,
    );
    check(
        &|h| {
            h.push(tool(CallSeq(1), ToolOutcome::TimedOut));
        },
        unproven,
    );
    check(
        &|h| {
            h.push(EventKind::StopRequested);
            let ok = tool_ok_of(h);
            h.push(ok);
        },
        "COMPLETED_WITH_TOOLS (tool_result)",
    );
    check(
        &|h| {
            h.push(EventKind::StopRequested);
            h.push(tool(CallSeq(1), ToolOutcome::TimedOut));
        },
        "INTERRUPTED (stop)",
    );
}

/// The call succeeds, whatever the last step has started.
fn tool_ok_of(h: &Harness) -> EventKind {
    let asked = h.run.conversation();
    let asked = asked.last().expect("the message with the call");
    let call = &asked.tool_calls[0];
    tool(
        CallSeq(1),
        ToolOutcome::Returned(envelope(&call.id, &call.name, "MIT")),
    )
}

#[test]
fn a_given_call_that_is_refused_starts_nothing() {
    let h = probed_with(call_terms(), Some(calls(&["outside"])));
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (tool_not_allowed)");
    let h = probed_with(call_terms(), Some(calls(&["nowhere"])));
    assert_eq!(h.end(), "FAILED_VALIDATION (arguments)");
    let denied = Terms {
        require_approval: vec!["read".to_owned()],
        ..call_terms()
    };
    let mut h = probed_with(denied, Some(calls(&["read"])));
    assert!(h.run.awaited().is_some());
    h.push_at(100_000, EventKind::TimerFired);
    assert_eq!(h.end(), "FAILED_PROTOCOL_NO_TOOLS (proof_not_succeeded)");
    assert_eq!(h.run.counters().executed, 0);
}

#[test]
fn a_contract_without_a_target_needs_one_given_call_and_says_so() {
    let invalid = "FAILED_PREFLIGHT (contract_invalid)";
    assert_eq!(probed_with(call_terms(), None).end(), invalid);
    let two = probed_with(call_terms(), Some(calls(&["read", "write"])));
    assert_eq!(two.end(), invalid);
    for terms in [
        Terms {
            tool_policy: ToolPolicy::Optional,
            ..call_terms()
        },
        Terms {
            tool_proof: ToolProof::Executed,
            ..call_terms()
        },
    ] {
        assert_eq!(probed_with(terms, Some(calls(&["read"]))).end(), invalid);
    }
}

#[test]
fn a_stop_and_a_suspension_before_a_given_call_start_nothing() {
    let mut h = Harness::given(call_terms(), Some(calls(&["read"])));
    h.push(EventKind::StopRequested).push(no_probe());
    assert_eq!(h.end(), "INTERRUPTED (stop)");
    let mut h = Harness::given(call_terms(), Some(calls(&["read"])));
    h.push(EventKind::Suspended).push(no_probe());
    assert_eq!(h.state(), State::Execute);
    assert_eq!(h.started_calls(), []);
    assert!(h.run.is_suspended());
}
