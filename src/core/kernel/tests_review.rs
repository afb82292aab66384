//! The findings of the machine's review against semantics §1 to §7: one test for each rule that did not hold.

use super::testing::*;
use super::{Approval, Effect, EventKind, Interrupter, LostEffect};
use crate::contract::{BigCount, Terms, ToolPolicy};
use crate::message::{
    AgentMessage, CallSeq, EnvelopeFields, InferenceSeq, ProtocolAdapterResult, ProviderFaultClass,
    StopReason, ToolEnvelope, ToolOutcome,
};

fn loose() -> Terms {
    Terms {
        strict_mode: false,
        ..terms(ToolPolicy::Optional)
    }
}

/// An answer that reports `input` prompt tokens.
fn returned_for(inference: InferenceSeq, message: AgentMessage, input: u64) -> EventKind {
    let mut event = returned(inference, native(message));
    if let EventKind::InferenceReturned(r) = &mut event {
        r.usage.input = input;
    }
    event
}

fn expected_tokens(h: &Harness) -> u64 {
    h.request().expect("a request was issued").expected_tokens
}

#[test]
fn a_lost_request_is_sent_again_with_its_notices() {
    let mut h = Harness::inferring(loose());
    h.answer(text(" "));
    let first = h.request().expect("a retry").clone();
    let lost = EventKind::EffectLost(LostEffect::Inference(h.inference()));
    h.push(lost);
    let again = h.request().expect("the same attempt again").clone();
    assert_eq!(again.notices, first.notices);
    assert_eq!(again.expected_tokens, first.expected_tokens);
    h.answer(calls(&["read"])).run_tools();
    let next = h.request().expect("the next turn");
    assert!(next.notices.is_empty());
}

#[test]
fn a_late_answer_during_a_wait_counts_before_the_request_after_it() {
    let budget = Terms {
        max_tokens_consumed: BigCount(200),
        ..loose()
    };
    let mut h = Harness::inferring(budget);
    h.fail(ProviderFaultClass::RateLimit);
    h.push(returned_for(InferenceSeq(77), text("late"), 190));
    let until = h.run.next_deadline().expect("a wait");
    h.push_at(until, EventKind::TimerFired);
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (max_tokens)");
    assert_eq!(h.run.counters().inferences, 1);
}

#[test]
fn a_closing_turn_is_judged_with_its_instruction() {
    let limit = |max| Terms {
        max_tokens_consumed: BigCount(max),
        max_turns: 2,
        ..loose()
    };
    let mut h = Harness::inferring(limit(1_000));
    h.answer(calls(&["read"])).run_tools();
    let needed = h.run.counters().tokens() + expected_tokens(&h);
    let mut enough = Harness::inferring(limit(needed));
    enough.answer(calls(&["read"])).run_tools();
    assert_eq!(enough.end(), "INFER");
    let mut short = Harness::inferring(limit(needed - 1));
    short.answer(calls(&["read"])).run_tools();
    assert_eq!(short.end(), "FAILED_BUDGET_EXHAUSTED (max_tokens)");
}

#[test]
fn a_refusal_does_not_excuse_a_forbidden_call() {
    let refused = |names: &[&str]| ProtocolAdapterResult {
        stop: StopReason::Refusal,
        ..native(calls(names))
    };
    let mut h = Harness::inferring(terms(ToolPolicy::Forbidden));
    h.answer_with(refused(&["read"]));
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (forbidden_call)");
    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    h.answer_with(refused(&["outside"]));
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (tool_not_allowed)");
    let mut h = Harness::inferring(terms(ToolPolicy::Optional));
    h.answer_with(refused(&["read"]));
    assert_eq!(h.end(), "FAILED_VALIDATION (refusal)");
}

#[test]
fn prose_through_a_closed_mask_violates_even_where_the_adapter_rejects_it() {
    let mut h = Harness::inferring(terms(ToolPolicy::Required));
    let rejected = rejected(crate::message::FailureCode::BodyShape);
    let mut event = returned(h.inference(), rejected);
    if let EventKind::InferenceReturned(r) = &mut event {
        r.gate_breached = true;
    }
    h.push(event);
    assert_eq!(h.end(), "FAILED_CONTRACT_VIOLATION (token_gate)");
}

/// Forbidden and outside, unknown and invalid, then limits: over what would run.
#[test]
fn a_call_outside_is_judged_before_an_invalid_one_and_that_before_a_limit() {
    let mut limited = terms(ToolPolicy::Optional);
    limited.max_calls.run = Some(1);
    for (asked, end) in [
        (
            &["fly", "outside", "read", "read"][..],
            "FAILED_CONTRACT_VIOLATION (tool_not_allowed)",
        ),
        (&["fly", "read", "read"], "INFER"),
        (&["read", "read"], "FAILED_BUDGET_EXHAUSTED (max_calls)"),
    ] {
        let mut h = Harness::inferring(limited.clone());
        h.answer(calls(asked));
        assert_eq!(h.end(), end, "{asked:?}");
    }
}

#[test]
fn a_lost_idempotent_call_is_not_started_again_after_a_stop() {
    let idempotent = Terms {
        idempotent: vec!["read".to_owned()],
        ..loose()
    };
    let mut h = Harness::inferring(idempotent);
    h.answer(calls(&["read"]));
    let lost = EventKind::EffectLost(LostEffect::Call(CallSeq(1)));
    let mut stopped = h.clone();
    h.push(lost.clone());
    assert_eq!(h.started_calls(), [CallSeq(1)]);
    stopped.push(EventKind::StopRequested).push(lost);
    assert_eq!(stopped.started_calls(), []);
    assert_eq!(
        stopped.observations(),
        ["(tool failed: interrupted, effect unknown)"]
    );
}

#[test]
fn an_approval_starts_nothing_once_a_budget_is_exceeded() {
    let approval = Terms {
        max_tokens_consumed: BigCount(200),
        require_approval: vec!["read".to_owned()],
        ..loose()
    };
    let mut h = Harness::inferring(approval);
    h.answer(calls(&["read"]));
    let Some(Effect::AwaitApproval(order)) = h.effects.first().cloned() else {
        panic!("an approval is asked for");
    };
    h.push(returned_for(InferenceSeq(77), text("late"), 300));
    let given = Approval::to(order.call, order.arguments_hash);
    h.push(EventKind::ApprovalGiven(given));
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (max_tokens)");
    assert_eq!(h.run.counters().executed, 0);
}

#[test]
fn a_failed_call_is_counted_once_where_nothing_fits_any_more() {
    let mut h = Harness::inferring(loose());
    let event = returned_for(h.inference(), calls(&["read"]), 99_000);
    h.push(event);
    let call = h.started_calls()[0];
    h.push(tool(call, ToolOutcome::TimedOut));
    // The response, one observation of 22 bytes, the final instruction.
    let instruction = crate::message::estimate_tokens(super::texts::FINAL_INSTRUCTION);
    assert_eq!(expected_tokens(&h), 99_005 + 6 + instruction);
}

#[test]
fn keys_tell_results_apart_that_lead_to_different_ends() {
    let key_after = |outcome: fn(ToolEnvelope) -> ToolOutcome| {
        let mut h = Harness::inferring(loose());
        h.answer(calls(&["read", "write"]));
        let free = ToolEnvelope::new(EnvelopeFields {
            tokens: 0,
            ..envelope("c1", "read", "").into_fields()
        });
        h.push(tool(CallSeq(1), outcome(free)));
        h.run.decision_key()
    };
    assert_ne!(
        key_after(ToolOutcome::Returned),
        key_after(|_| ToolOutcome::TimedOut)
    );
    let key_for = |input| {
        let mut h = Harness::inferring(loose());
        let late = returned_for(InferenceSeq(77), text("late"), input);
        h.push(late);
        h.run.decision_key()
    };
    assert_ne!(key_for(1), key_for(2));
}

#[test]
fn an_interrupt_cancels_whatever_is_in_flight() {
    let approval = Terms {
        require_approval: vec!["read".to_owned()],
        ..loose()
    };
    let probing = Harness::new(approval.clone());
    let inferring = Harness::inferring(approval);
    let mut waiting = inferring.clone();
    waiting.fail(ProviderFaultClass::RateLimit);
    let mut asking = inferring.clone();
    asking.answer(calls(&["read"]));
    let mut running = inferring.clone();
    running.answer(calls(&["write"]));
    for mut h in [probing, inferring, waiting, asking, running] {
        h.push(EventKind::Interrupted(Interrupter::Parent));
        assert_eq!(h.end(), "INTERRUPTED (parent)");
        assert_eq!(h.effects.first(), Some(&Effect::Cancel));
    }
}

#[test]
fn text_of_the_closing_turn_that_comes_too_late_is_no_report() {
    let late = |at_ms| {
        let mut h = Harness::inferring(reporting(Terms {
            max_turns: 1,
            ..loose()
        }));
        let inference = h.inference();
        h.push_at(at_ms, returned(inference, native(text("MIT"))));
        h
    };
    let in_time = late(10);
    assert_eq!(in_time.end(), "COMPLETED_CHAT_ONLY (text_fallback)");
    assert!(in_time.run.final_report().is_some());
    let late = late(3_600_001);
    assert_eq!(late.end(), "FAILED_TIMEOUT (total_timeout)");
    assert_eq!(late.run.final_report(), None);
}
