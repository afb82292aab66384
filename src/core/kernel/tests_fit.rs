//! Requests and results against the windows of their targets (semantics §5).

use super::testing::*;
use super::tests_rules::optional;
use super::{BlockReason, ClosingReason, EventKind, InferenceFailed};
use crate::contract::{TargetTerms, Terms, ToolTransport};
use crate::message::{
    CallSeq, EnvelopeFields, ObjectText, ProviderFault, ProviderFaultClass, ToolEnvelope,
    ToolOutcome,
};

fn closing(h: &Harness) -> Option<ClosingReason> {
    h.request().and_then(|request| request.closing)
}

/// A contract with a small target before a large one.
fn two_windows() -> Terms {
    Terms {
        max_attempts_per_turn: 1,
        targets: vec![
            TargetTerms {
                context_window: 60_000,
                ..target("small")
            },
            target("large"),
        ],
        ..optional()
    }
}

/// The names of the targets that the last entry says do not hold the request, and why.
fn blocked(h: &Harness) -> Vec<(String, BlockReason)> {
    let last = h.entries.last().expect("entries");
    let blocks = last.action.blocked.iter();
    blocks.map(|b| (b.target.clone(), b.reason)).collect()
}

/// 001/1.context.1
#[test]
fn a_target_that_does_not_hold_the_request_is_skipped_and_recorded() {
    // The schemas of two tools weigh 20, the response 5, its observation 2; the limit of the small target is 59,000.
    let check = |input: u64, asked: usize, expect: &[(&str, BlockReason)]| {
        let mut h = Harness::inferring(two_windows());
        let mut event = returned(h.inference(), native(calls(&["read"])));
        if let EventKind::InferenceReturned(r) = &mut event {
            r.usage.input = input;
        }
        h.push(event).run_tools();
        let found = blocked(&h);
        let found: Vec<_> = found.iter().map(|(name, why)| (&**name, *why)).collect();
        assert_eq!(found, expect, "{input} prompt tokens");
        assert_eq!(h.request().map(|r| r.target), Some(asked));
        closing(&h)
    };
    let (small, large) = ("demo/small", "demo/large");
    let unfit = BlockReason::TurnPreflight;
    assert_eq!(check(58_973, 0, &[]), None);
    assert_eq!(check(58_974, 1, &[(small, unfit)]), None);
    assert_eq!(check(98_973, 1, &[(small, unfit)]), None);
    let closes = Some(ClosingReason::Context);
    assert_eq!(
        check(98_974, 1, &[(large, BlockReason::ToolPreflight)]),
        closes
    );
}

#[test]
fn an_overflow_takes_no_attempt_and_the_next_target_is_asked() {
    let mut h = Harness::inferring(two_windows());
    h.fail(ProviderFaultClass::ContextOverflow);
    let request = h.request().expect("a request");
    assert_eq!((request.target, request.attempt, request.turn), (1, 1, 1));
    assert_eq!(request.closing, None);
    let stated = BlockReason::ProviderOverflow;
    assert_eq!(blocked(&h), [("demo/small".to_owned(), stated)]);
    h.fail(ProviderFaultClass::ContextOverflow);
    assert_eq!(closing(&h), Some(ClosingReason::Context));
}

#[test]
fn the_notices_of_a_request_that_overflowed_go_to_the_next_target() {
    let mut h = Harness::inferring(Terms {
        max_attempts_per_turn: 3,
        ..two_windows()
    });
    h.answer(text(""));
    h.answer(text(""));
    let notices = h.request().expect("a request").notices.clone();
    assert_eq!((notices.len(), h.request().map(|r| r.target)), (1, Some(0)));
    h.fail(ProviderFaultClass::ContextOverflow);
    let request = h.request().expect("a request");
    assert_eq!((request.target, request.attempt), (1, 3));
    assert_eq!(request.notices, notices);
}

#[test]
fn a_target_on_hold_that_alone_holds_the_request_is_waited_for() {
    let mut h = Harness::inferring(Terms {
        max_attempts_per_turn: 3,
        ..two_windows()
    });
    h.fail(ProviderFaultClass::ContextOverflow);
    h.fail(ProviderFaultClass::Network);
    assert!(h.request().is_none());
    h.wait();
    let request = h.request().expect("a request");
    assert_eq!((request.target, request.attempt), (1, 2));
}

#[test]
fn an_overflow_waits_for_a_target_on_hold_without_an_attempt() {
    let mut h = Harness::inferring(Terms {
        targets: two_windows().targets.into_iter().rev().collect(),
        max_attempts_per_turn: 3,
        ..optional()
    });
    h.fail(ProviderFaultClass::Network);
    h.fail(ProviderFaultClass::ContextOverflow);
    assert!(h.request().is_none());
    h.wait();
    let request = h.request().expect("a request");
    assert_eq!((request.target, request.attempt), (0, 2));
}

#[test]
fn a_target_dropped_for_the_turn_is_no_target_that_holds_the_request() {
    let mut h = Harness::inferring(Terms {
        max_attempts_per_turn: 3,
        ..two_windows()
    });
    let mut fault = ProviderFault::new(ProviderFaultClass::Model, "no");
    fault.permanent = true;
    h.push(EventKind::InferenceFailed(InferenceFailed {
        fault,
        gated: false,
        inference: h.inference(),
        redacted: false,
        request_hash: None,
        usage: None,
    }));
    assert_eq!(h.request().map(|r| r.target), Some(1));
    h.fail(ProviderFaultClass::ContextOverflow);
    let request = h.request().expect("the closing turn");
    assert_eq!(
        (request.target, request.closing),
        (0, Some(ClosingReason::Context))
    );
}

#[test]
fn a_target_that_overflowed_is_asked_again_once_less_is_sent() {
    let mut h = Harness::inferring(two_windows());
    // 27 tokens were expected.
    h.fail(ProviderFaultClass::ContextOverflow);
    let mut event = returned(h.inference(), native(calls(&["read"])));
    if let EventKind::InferenceReturned(r) = &mut event {
        (r.usage.input, r.usage.output) = (1, 1);
    }
    h.push(event).run_tools();
    // Now 1 + 1 + 2 + 20.
    assert_eq!(h.request().map(|r| r.target), Some(0));
    assert_eq!(blocked(&h), []);
}

#[test]
fn a_closing_turn_ends_by_an_overflow_once_no_target_holds_it() {
    let mut h = Harness::inferring(Terms {
        max_turns: 1,
        ..two_windows()
    });
    assert_eq!(closing(&h), Some(ClosingReason::MaxTurns));
    h.fail(ProviderFaultClass::ContextOverflow);
    assert_eq!(h.request().map(|r| r.target), Some(1));
    h.fail(ProviderFaultClass::ContextOverflow);
    assert_eq!(h.end(), "FAILED_BUDGET_EXHAUSTED (context)");
}

#[test]
fn a_result_is_judged_by_the_largest_target() {
    let check = |tokens: u64, expect: Option<ClosingReason>| {
        let mut h = Harness::inferring(two_windows());
        h.answer(calls(&["read"]));
        let large = ToolEnvelope::new(EnvelopeFields {
            tokens,
            ..envelope("c1", "read", "MIT").into_fields()
        });
        h.push(tool(CallSeq(1), ToolOutcome::Returned(large)));
        assert_eq!(closing(&h), expect, "{tokens}");
    };
    check(98_965, None);
    check(98_966, Some(ClosingReason::Context));
}

#[test]
fn every_target_keeps_room_for_the_longer_of_its_answer_and_the_reserve() {
    let check = |expect: &str, set: fn(&mut Terms, u64), value: u64| {
        let mut terms = optional();
        terms.targets[0].context_window = 2_000;
        terms.context_budget.minimum_loop_margin = 0;
        set(&mut terms, value);
        assert_eq!(Harness::inferring(terms).end(), expect, "{value}");
    };
    let last = |set: fn(&mut Terms, u64), fits: u64, beyond: u64| {
        check("INFER", set, fits);
        check("FAILED_PREFLIGHT (context_infeasible)", set, beyond);
    };
    // 3 tokens of the system prompt, 4 of the task and 20 of two tools, beside 1,000 for the answer.
    last(|t, n| t.context_budget.buffer = n, 973, 974);
    last(|t, n| t.context_budget.reserved_synthesis = n, 1_973, 1_974);
    last(|t, n| t.context_budget.reserved_system = n, 976, 977);
    last(|t, n| t.context_budget.context_window = n, 1_027, 1_026);
    last(|t, n| t.targets[0].context_window = n, 1_027, 1_026);
    last(
        |t, n| t.targets[0].sampling.max_output_tokens = n,
        1_973,
        1_974,
    );
}

#[test]
fn the_ratio_is_of_the_largest_window_left() {
    let check = |input: u64, expect: Option<ClosingReason>| {
        let mut terms = two_windows();
        terms.context_budget.force_synthesis_at_ratio = 0.5;
        let mut h = Harness::inferring(terms);
        let mut event = returned(h.inference(), native(calls(&["read"])));
        if let EventKind::InferenceReturned(r) = &mut event {
            r.usage.input = input;
        }
        h.push(event).run_tools();
        assert_eq!(closing(&h), expect, "{input}");
    };
    check(49_973, None);
    check(49_974, Some(ClosingReason::Context));
}

#[test]
fn arguments_that_tags_carry_are_counted_twice() {
    let added = |transport: ToolTransport, argument: &str| {
        let mut h = Harness::inferring(Terms {
            tool_transport: transport,
            ..optional()
        });
        let mut message = calls(&["read"]);
        let text = format!(r#"{{"path":"{argument}"}}"#);
        message.tool_calls[0].arguments = ObjectText::parse(text).expect("an object");
        h.answer(message).run_tools();
        h.request().map_or(0, |request| request.expected_tokens)
    };
    let long = "x".repeat(4_001);
    let quoted = |transport| added(transport, &long) - added(transport, "x");
    assert_eq!(quoted(ToolTransport::Native), 0);
    assert_eq!(quoted(ToolTransport::Xml), 1_000);
}
