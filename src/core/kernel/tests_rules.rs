//! The single rules of semantics §2 to §6 and §9, one table each.

use super::testing::*;
use super::{
    Approval, ClosingReason, Effect, EventKind, Interrupter, LostEffect, Resumed, State,
    ToolExposure,
};
use crate::contract::{BigCount, CycleException, Terms, ToolPolicy, ToolProof};
use crate::message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeFields, ProviderFaultClass, ToolEnvelope,
    ToolOutcome,
};

/// Terms of a run that may call tools and is not strict.
pub(super) fn optional() -> Terms {
    Terms {
        strict_mode: false,
        ..terms(ToolPolicy::Optional)
    }
}

/// Returns the event of another process resuming the run, under the same contract.
pub(super) fn resumed(h: &Harness) -> EventKind {
    EventKind::Resumed(Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        contract_hash: h.run.contract().contract_hash(),
        tool_servers: Vec::new(),
        elapsed_ms: 0,
        tools_changed: Vec::new(),
    })
}

fn other_contract() -> EventKind {
    EventKind::Resumed(Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        contract_hash: Digest::of(b"another"),
        tool_servers: Vec::new(),
        elapsed_ms: 0,
        tools_changed: Vec::new(),
    })
}

fn closing(h: &Harness) -> Option<ClosingReason> {
    h.request().and_then(|request| request.closing)
}

fn observation(outcome: ToolOutcome, terms: Terms) -> String {
    let mut h = Harness::inferring(terms);
    h.answer(calls(&["read"])).push(tool(CallSeq(1), outcome));
    h.observations().remove(0)
}

#[test]
fn a_forbidden_pair_counts_across_turns_until_its_exceptions_are_used() {
    let check = |max: u64, pairs: usize, end: &str| {
        let mut terms = Terms {
            cycle_forbid: vec![("write".to_owned(), "read".to_owned())],
            ..optional()
        };
        if max > 0 {
            terms.metadata.cycle_exceptions = vec![CycleException {
                from: "write".to_owned(),
                max,
                to: "read".to_owned(),
            }];
        }
        let mut h = Harness::inferring(terms);
        for _ in 0..pairs {
            h.answer(calls(&["write"])).run_tools();
            h.answer(calls(&["read"])).run_tools();
        }
        assert_eq!(h.end(), end, "{pairs} pairs, {max} excepted");
    };
    let violated = "FAILED_CONTRACT_VIOLATION (cycle_forbidden)";
    check(0, 1, violated);
    check(1, 1, "INFER");
    check(1, 2, violated);
    check(2, 2, "INFER");
}

#[test]
fn an_oversized_result_is_cut_behind_its_marker() {
    let mut terms = optional();
    terms.tool_output_budget.max_bytes_per_call = 100;
    let long = "x".repeat(500);
    let text = observation(ToolOutcome::Returned(envelope("c1", "read", &long)), terms);
    assert_eq!(text.len(), 100);
    let marker = "[TRUNCATED] Original size 500 bytes; truncated to 40 bytes.\n";
    assert_eq!(text, format!("{marker}{}", "x".repeat(100 - marker.len())));
}

#[test]
fn every_way_a_call_ends_has_its_words() {
    let lost = ToolOutcome::ConnectionLost {
        detail: "eof".to_owned(),
    };
    let own = ToolEnvelope::new(EnvelopeFields {
        content: vec![ContentBlock::Text("no luck".to_owned())],
        ..error_envelope("c1", "read").into_fields()
    });
    let table = [
        (ToolOutcome::TimedOut, "(tool failed: timeout)"),
        (lost, "(tool failed: connection lost)"),
        (
            ToolOutcome::Cancelled,
            "(tool failed: interrupted, effect unknown)",
        ),
        (
            ToolOutcome::ToolChanged {
                detail: "its description".to_owned(),
            },
            "(tool failed: tool changed since the contract was made)",
        ),
        (
            ToolOutcome::RestartInProgress,
            "(tool failed: mcp_restart_in_progress)",
        ),
        (
            ToolOutcome::RestartFailed {
                detail: "exit status: 1".to_owned(),
            },
            "(tool failed: mcp_restart_failed)",
        ),
        (
            ToolOutcome::Returned(error_envelope("c1", "read")),
            "(tool failed: no such file)",
        ),
        (ToolOutcome::Returned(own), "(tool failed: no luck)"),
    ];
    for (outcome, said) in table {
        assert_eq!(observation(outcome, optional()), said);
    }
}

#[test]
fn calls_side_by_side_are_observed_in_call_order() {
    let terms = Terms {
        parallel_safe: vec!["read".to_owned()],
        parallel_tool_calls: true,
        ..optional()
    };
    let mut h = Harness::inferring(terms);
    h.answer(calls(&["read", "read", "write", "read"]));
    assert_eq!(h.started_calls(), [CallSeq(1), CallSeq(2)]);
    let result = |n: u64, name: &str| {
        let text = format!("result {n}");
        tool(
            CallSeq(n),
            ToolOutcome::Returned(envelope(&format!("c{n}"), name, &text)),
        )
    };
    h.push(result(2, "read"));
    assert_eq!(h.started_calls(), []);
    h.push(result(1, "read"));
    assert_eq!(h.started_calls(), [CallSeq(3)]);
    h.push(result(3, "write"));
    assert_eq!(h.started_calls(), [CallSeq(4)]);
    h.push(result(4, "read"));
    let all = ["result 1", "result 2", "result 3", "result 4"];
    assert_eq!(h.observations(), all);
}

#[test]
fn a_result_that_does_not_fit_is_dropped_and_closes() {
    let mut h = Harness::inferring(optional());
    h.answer(calls(&["read", "write"]));
    let large = ToolEnvelope::new(EnvelopeFields {
        tokens: 99_000,
        ..envelope("c1", "read", "MIT").into_fields()
    });
    h.push(tool(CallSeq(1), ToolOutcome::Returned(large)));
    assert_eq!(
        h.observations(),
        [
            "(tool failed: context window budget exceeded)",
            "(tool failed: not started: context)"
        ]
    );
    assert_eq!(closing(&h), Some(ClosingReason::Context));
    let request = h.request().expect("the closing turn");
    assert_eq!(request.tools, ToolExposure::Withheld);
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (synthesis)");
}

#[test]
fn the_context_trips_beyond_its_limit_and_not_at_it() {
    // Limit 99,000; the schemas of two tools weigh 20, the response 5, its observation 2.
    let check = |input: u64, expect: Option<ClosingReason>| {
        let mut h = Harness::inferring(optional());
        let mut event = returned(h.inference(), native(calls(&["read"])));
        if let EventKind::InferenceReturned(r) = &mut event {
            r.usage.input = input;
        }
        h.push(event).run_tools();
        assert_eq!(closing(&h), expect, "{input} prompt tokens");
    };
    check(98_973, None);
    check(98_974, Some(ClosingReason::Context));
}

#[test]
fn a_closing_turn_has_its_reason() {
    let mut h = Harness::inferring(Terms {
        max_turns: 2,
        ..optional()
    });
    h.answer(calls(&["read"])).run_tools();
    assert_eq!(closing(&h), Some(ClosingReason::MaxTurns));
    h.answer(calls(&["read"]));
    assert_eq!(h.observations()[1], "(tool failed: tools are withheld)");
    assert_eq!(h.end(), "INFER");
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (synthesis)");

    let mut h = Harness::inferring(optional());
    h.fail(ProviderFaultClass::ContextOverflow);
    assert_eq!(closing(&h), Some(ClosingReason::Context));
    h.fail(ProviderFaultClass::ContextOverflow);
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (context)");

    let mut h = Harness::inferring(optional());
    h.push(EventKind::StopRequested).answer(calls(&["read"]));
    let said = "(tool failed: not started: stop requested)";
    assert_eq!(h.observations(), [said]);
    assert_eq!(closing(&h), Some(ClosingReason::Stop));

    let mut h = Harness::inferring(Terms {
        max_turns: 1,
        ..optional()
    });
    assert_eq!(closing(&h), Some(ClosingReason::MaxTurns));
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (synthesis)");
}

/// 001/1.models.1
#[test]
fn a_wait_begins_only_where_every_target_is_limited() {
    let two = || Terms {
        targets: vec![target("script"), target("other")],
        ..optional()
    };
    let mut h = Harness::inferring(two());
    h.fail(ProviderFaultClass::RateLimit);
    assert_eq!(h.request().map(|r| r.target), Some(1));
    h.fail(ProviderFaultClass::Network);
    let [Effect::Wait { until_ms }] = h.effects[..] else {
        panic!("{:?}", h.effects);
    };
    assert!((1_000..=1_500).contains(&until_ms), "{until_ms}");
    h.push_at(until_ms - 1, EventKind::TimerFired);
    assert_eq!(h.request(), None);
    h.push_at(until_ms, EventKind::TimerFired);
    let request = h.request().expect("after the wait");
    assert_eq!(request.attempt, 3);
    h.fail(ProviderFaultClass::RateLimit);
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)");
}

#[test]
fn a_second_stop_is_an_abort_everywhere() {
    let probing = Harness::new(optional());
    let inferring = Harness::inferring(optional());
    let mut waiting = inferring.clone();
    waiting.fail(ProviderFaultClass::RateLimit);
    let mut running = inferring.clone();
    running.answer(calls(&["read"]));
    for mut h in [probing, inferring, waiting, running] {
        h.push(EventKind::StopRequested);
        assert_ne!(h.state(), State::Terminate);
        h.push(EventKind::StopRequested);
        assert_eq!(h.end(), "INTERRUPTED (abort)");
    }
    let mut h = Harness::new(optional());
    h.push(EventKind::StopRequested).push(probed());
    assert_eq!(h.end(), "INTERRUPTED (stop)");
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    h.push(EventKind::StopRequested).answer(calls(&["read"]));
    assert_eq!(h.end(), "INTERRUPTED (stop)");
}

#[test]
fn an_approval_is_for_exactly_these_arguments_and_stops_the_clocks() {
    let terms = Terms {
        approval_timeout_ms: 5_000,
        require_approval: vec!["read".to_owned()],
        step_timeout_ms: 100,
        ..optional()
    };
    let mut asked = Harness::inferring(terms);
    asked.answer(calls(&["read"]));
    let Some(Effect::AwaitApproval(order)) = asked.effects.first().cloned() else {
        panic!("an approval is asked for");
    };
    let approval = |arguments_hash| Approval::to(order.call, arguments_hash);
    let mut h = asked.clone();
    h.push(EventKind::ApprovalGiven(approval(Digest::ZERO)));
    assert_eq!(h.started_calls(), []);
    // Parked far beyond the step's timeout, and then the step has its time still.
    h.push_at(
        4_000,
        EventKind::ApprovalGiven(approval(order.arguments_hash)),
    );
    assert_eq!(h.started_calls(), [CallSeq(1)]);
    assert_eq!(h.run.next_deadline(), Some(4_101));

    let mut h = asked.clone();
    h.push(EventKind::ApprovalDenied(approval(order.arguments_hash)));
    assert_eq!(h.observations(), ["(tool failed: denied: approval)"]);

    assert_eq!(asked.run.next_deadline(), Some(5_001));
    asked.push_at(5_000, EventKind::TimerFired);
    assert_eq!(asked.state(), State::Execute);
    asked.push_at(5_001, EventKind::TimerFired);
    assert_eq!(asked.observations(), ["(tool failed: denied: approval)"]);
}

#[test]
fn a_lost_effect_is_what_its_kind_makes_of_it() {
    let mut h = Harness::inferring(optional());
    let lost = EventKind::EffectLost(LostEffect::Inference(h.inference()));
    h.push(lost);
    let again = h.request().expect("asked again");
    assert_eq!((again.attempt, again.inference.0), (1, 2));
    h.answer(calls(&["read"]));
    h.push(EventKind::EffectLost(LostEffect::Call(CallSeq(1))));
    let said = "(tool failed: interrupted, effect unknown)";
    assert_eq!(h.observations(), [said]);
    assert_eq!(h.run.counters().executed, 0);
}

#[test]
fn another_contract_is_refused_before_and_after_the_first_inference() {
    let mut h = Harness::new(optional());
    h.push(other_contract());
    assert_eq!(h.end(), "FAILED_PREFLIGHT (contract_hash_mismatch)");
    let mut h = Harness::inferring(optional());
    h.push(other_contract());
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (contract_mutated)");
}

#[test]
fn resumes_are_counted_to_their_limit() {
    let mut h = Harness::inferring(Terms {
        max_resumes: 2,
        ..optional()
    });
    for _ in 0..2 {
        h.push(resumed(&h));
        assert_eq!(h.end(), "INFER");
    }
    h.push(resumed(&h));
    assert_eq!(h.end(), "INTERRUPTED (shutdown)");
}

#[test]
fn finishing_on_the_last_allowed_inference_succeeds() {
    let last = Terms {
        max_inferences: 1,
        ..optional()
    };
    let mut h = Harness::inferring(last.clone());
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (final_message)");
    let mut h = Harness::inferring(last);
    h.answer(calls(&["read"])).run_tools();
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (max_inferences)");
}

#[test]
fn finishing_on_the_last_allowed_token_succeeds() {
    let check = |input: u64, end: &str| {
        let mut h = Harness::inferring(Terms {
            max_tokens_consumed: BigCount(100),
            ..optional()
        });
        let mut event = returned(h.inference(), native(text("MIT")));
        if let EventKind::InferenceReturned(r) = &mut event {
            r.usage.input = input;
        }
        h.push(event);
        assert_eq!(h.end(), end, "{input} and 5 tokens of 100");
    };
    check(95, "COMPLETED_CHAT_ONLY (final_message)");
    check(96, "FAILED_BUDGET_EXHAUSTED (max_tokens)");
}

#[test]
fn a_message_that_would_pass_a_call_limit_starts_none() {
    let check = |change: fn(&mut Terms), names: &[&str], end: &str| {
        let mut terms = optional();
        change(&mut terms);
        let mut h = Harness::inferring(terms);
        h.answer(calls(names));
        assert_eq!(h.end(), end);
        assert_eq!(h.started_calls().len(), usize::from(end == "EXECUTE"));
    };
    let calls_over = "FAILED_BUDGET_EXHAUSTED (max_calls)";
    let alike = "FAILED_BUDGET_EXHAUSTED (identical_calls)";
    check(|t| t.max_calls.run = Some(1), &["read"], "EXECUTE");
    check(
        |t| t.max_calls.run = Some(1),
        &["read", "write"],
        calls_over,
    );
    let per_tool = |t: &mut Terms| {
        t.max_calls.per_tool.insert("read".to_owned(), 1);
    };
    check(per_tool, &["read", "write"], "EXECUTE");
    check(per_tool, &["read", "read"], calls_over);
    check(
        |t| t.max_identical_calls = Some(1),
        &["read", "write"],
        "EXECUTE",
    );
    check(
        |t| t.max_identical_calls = Some(1),
        &["read", "read"],
        alike,
    );
}

#[test]
fn the_excess_of_a_turn_is_answered_with_its_reason() {
    let mut h = Harness::inferring(Terms {
        max_tool_calls_per_turn: 1,
        ..optional()
    });
    h.answer(calls(&["read", "write"])).run_tools();
    let excess = "(tool failed: too many tool calls in this turn (limit 1))";
    assert_eq!(h.observations(), ["MIT", excess]);
}

#[test]
fn a_failed_call_proves_nothing_where_success_is_asked_for() {
    let check = |tool_proof: ToolProof, end: &str| {
        let mut h = Harness::inferring(Terms {
            tool_proof,
            ..terms(ToolPolicy::Required)
        });
        h.answer(calls(&["read"]));
        let error = error_envelope("c1", "read");
        h.push(tool(CallSeq(1), ToolOutcome::Returned(error)))
            .answer(text("MIT"));
        assert_eq!(h.end(), end);
    };
    check(ToolProof::Executed, "COMPLETED_WITH_TOOLS (final_message)");
    check(
        ToolProof::Succeeded,
        "FAILED_PROTOCOL_NO_TOOLS (proof_not_succeeded)",
    );
}

#[test]
fn reasoning_alone_is_kept_and_the_turn_advances() {
    let mut h = Harness::inferring(optional());
    let thought = AgentMessage {
        reasoning: Some("hm".to_owned()),
        ..text("")
    };
    h.answer(thought);
    assert_eq!(h.request().map(|r| (r.turn, r.attempt)), Some((2, 1)));
    assert_eq!(h.run.conversation().len(), 3);
}

#[test]
fn an_interrupt_beats_a_deadline_that_has_passed() {
    let mut h = Harness::inferring(optional());
    h.push_at(9_999_999, EventKind::Interrupted(Interrupter::Shutdown));
    assert_eq!(h.end(), "INTERRUPTED (shutdown)");
}
