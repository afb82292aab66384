//! Calls that start before their message is complete: which may, and what becomes of them (semantics §7).

use serde_json::json;

use super::testing::*;
use super::{CallStreamed, Effect, EffectRecord, EntryKind, EventKind, LostEffect, State};
use crate::contract::{ApprovalAction, Terms, ToolPolicy};
use crate::kernel::tests_filter::rule;
use crate::message::{AgentMessage, CallSeq, ProviderFaultClass, ToolInvocation, ToolOutcome};

/// Both tools are said to be read-only, and the author declares `read`.
fn speculative() -> Terms {
    let mut terms = Terms {
        idempotent: vec!["read".to_owned()],
        speculative_exec: true,
        ..terms(ToolPolicy::Optional)
    };
    for tool in &mut terms.tools {
        tool.annotations = json!({"readOnlyHint": true});
    }
    terms
}

fn in_parallel() -> Terms {
    Terms {
        parallel_safe: vec!["read".to_owned()],
        parallel_tool_calls: true,
        ..speculative()
    }
}

fn streamed(h: &Harness, index: u64, invocation: ToolInvocation) -> EventKind {
    EventKind::CallStreamed(Box::new(CallStreamed {
        index,
        inference: h.inference(),
        invocation,
    }))
}

/// The call `read {"path":"a"}` of id `c1`, `c2`, …
fn read(nth: usize) -> ToolInvocation {
    let ids = ["c1", "c2"];
    call(ids[nth], "read", r#"{"path":"a"}"#)
}

fn message(calls: &[ToolInvocation]) -> AgentMessage {
    AgentMessage {
        tool_calls: calls.to_vec(),
        ..text("")
    }
}

fn ended(call: u64, id: &str) -> EventKind {
    let outcome = ToolOutcome::Returned(envelope(id, "read", "MIT"));
    tool(CallSeq(call), outcome)
}

/// A run whose first message arrives, after the events of these calls.
fn arriving(terms: Terms, calls: &[ToolInvocation]) -> Harness {
    let mut h = Harness::inferring(terms);
    for (index, call) in (0..).zip(calls) {
        let event = streamed(&h, index, call.clone());
        h.push(event);
    }
    h
}

/// True if the call starts as soon as it is whole.
fn starts(terms: Terms, invocation: ToolInvocation) -> bool {
    let h = arriving(terms, &[invocation]);
    let kind = h.entries.last().map(|entry| entry.action.kind);
    let started = !h.started_calls().is_empty();
    assert_eq!(kind == Some(EntryKind::Noted), started, "{kind:?}");
    started
}

/// Shows 002/4.runtime.7.
#[test]
fn a_call_that_only_reads_starts_once_it_is_whole_and_its_message_keeps_it() {
    let mut h = arriving(speculative(), &[read(0)]);
    assert_eq!(h.started_calls(), [CallSeq(1)]);
    assert_eq!(h.run.counters().calls, 0, "no message asked for it");
    h.answer(message(&[read(0)]));
    assert_eq!((h.state(), h.started_calls()), (State::Execute, vec![]));
    assert_eq!(h.run.counters().calls, 1);
    h.push(ended(1, "c1"));
    assert_eq!(h.observations(), ["MIT"]);
    h.answer(text("MIT"));
    assert_eq!(h.end(), "COMPLETED_WITH_TOOLS (final_message)");
    assert_eq!((h.run.counters().calls, h.run.counters().executed), (1, 1));
}

#[test]
fn a_call_that_its_message_changes_is_discarded_and_proves_nothing() {
    let other = call("c1", "read", r#"{"path":"b"}"#);
    let renamed = call("c9", "read", r#"{"path":"a"}"#);
    for calls in [&[other][..], &[renamed], &[]] {
        let mut h = arriving(speculative(), &[read(0)]);
        let answer = match calls {
            [] => text("MIT"),
            calls => message(calls),
        };
        h.answer(answer);
        let discarded: Vec<CallSeq> = h
            .entries
            .iter()
            .flat_map(|entry| entry.action.discarded.clone())
            .collect();
        assert_eq!(discarded, [CallSeq(1)]);
        assert_eq!(h.effects.first(), Some(&Effect::Cancel));
        if calls.is_empty() {
            assert_eq!(h.end(), "COMPLETED_CHAT_ONLY (final_message)");
            continue;
        }
        // The call of the message has another number, so a late result of the first is not its own.
        assert_eq!(h.started_calls(), [CallSeq(2)]);
        h.push(ended(1, "c1"));
        let late = h.entries.last().map(|entry| entry.action.kind);
        assert_eq!(
            (h.state(), late),
            (State::Execute, Some(EntryKind::Ignored))
        );
        assert_eq!((h.run.counters().calls, h.run.counters().executed), (1, 0));
    }
}

#[test]
fn a_failed_and_a_lost_inference_discard_what_started_and_nothing_counts_twice() {
    let ends: [fn(&Harness) -> EventKind; 2] = [
        |h| EventKind::EffectLost(LostEffect::Inference(h.inference())),
        |h| failed(h.inference(), ProviderFaultClass::Network),
    ];
    for end in ends {
        let mut h = arriving(speculative(), &[read(0)]);
        let in_flight = [
            LostEffect::Inference(h.inference()),
            LostEffect::Call(CallSeq(1)),
        ];
        assert_eq!(h.run.unresolved(), in_flight);
        let event = end(&h);
        h.push(event);
        assert_eq!(h.effects.first(), Some(&Effect::Cancel));
        assert_eq!(h.run.unresolved().len(), 1, "the next inference or a wait");
        if h.request().is_none() {
            h.wait();
        }
        let again = streamed(&h, 0, read(0));
        h.push(again);
        assert_eq!(h.started_calls(), [CallSeq(2)]);
        h.answer(message(&[read(0)])).push(ended(2, "c1"));
        let counters = h.run.counters();
        assert_eq!((counters.calls, counters.executed), (1, 1));
    }
}

#[test]
fn only_what_the_message_could_start_unasked_starts_early() {
    let with = |change: fn(&mut Terms)| {
        let mut terms = speculative();
        change(&mut terms);
        starts(terms, read(0))
    };
    assert!(with(|_| {}));
    assert!(!with(|terms| terms.speculative_exec = false));
    assert!(!with(|terms| terms.idempotent.clear()), "not declared");
    let unsaid = |terms: &mut Terms| terms.tools[1].annotations = json!({});
    assert!(!with(unsaid), "no hint of its server");
    assert!(!with(
        |terms| terms.require_approval = vec!["read".to_owned()]
    ));
    assert!(!with(|terms| {
        terms.approval = vec![rule("read", None, ApprovalAction::Deny)];
    }));
    assert!(!with(|terms| terms.allowed_tools = Some(Vec::new())));
    assert!(!with(|terms| terms.max_calls.run = Some(0)));
    assert!(!with(|terms| {
        terms.tool_policy = ToolPolicy::Required;
        terms.token_gate = true;
    }));
    assert!(!starts(
        speculative(),
        call("c1", "write", r#"{"path":"a"}"#)
    ));
    assert!(!starts(speculative(), call("c1", "read", r#"{"path":1}"#)));
}

#[test]
fn a_second_call_starts_early_only_beside_a_first_one_that_may_run_beside_it() {
    let h = arriving(speculative(), &[read(0), read(1)]);
    assert_eq!(h.started_calls(), [], "the first one may still run");
    let mut h = arriving(in_parallel(), &[read(0), read(1)]);
    assert_eq!(h.started_calls(), [CallSeq(2)]);
    h.answer(message(&[read(0), read(1)]));
    h.push(ended(2, "c2")).push(ended(1, "c1"));
    assert_eq!(h.observations(), ["MIT", "MIT"]);
    let write = call("c1", "write", r#"{"path":"a"}"#);
    let h = arriving(in_parallel(), &[write, read(1)]);
    assert_eq!(h.started_calls(), [], "a call before it has not started");
}

#[test]
fn a_call_behind_an_early_one_waits_for_it_or_runs_beside_it() {
    let both = message(&[read(0), read(1)]);
    let mut h = arriving(speculative(), &[read(0)]);
    h.answer(both.clone());
    assert_eq!(h.started_calls(), []);
    h.push(ended(1, "c1"));
    assert_eq!(h.started_calls(), [CallSeq(2)]);
    let mut h = arriving(in_parallel(), &[read(0)]);
    h.answer(both);
    assert_eq!(h.started_calls(), [CallSeq(2)]);
}

#[test]
fn a_stop_and_an_abort_give_up_what_started() {
    let mut h = arriving(speculative(), &[read(0)]);
    h.push(EventKind::StopRequested).answer(message(&[read(0)]));
    assert_eq!(
        h.observations(),
        ["(tool failed: not started: stop requested)"]
    );
    let effects = h.entries.iter().flat_map(|entry| &entry.action.effects);
    assert_eq!(
        effects.filter(|one| **one == EffectRecord::Cancel).count(),
        1
    );
    let mut h = arriving(speculative(), &[read(0)]);
    h.push(EventKind::Interrupted(super::Interrupter::Abort));
    assert_eq!(h.end(), "INTERRUPTED (abort)");
    assert_eq!(h.run.counters().calls, 0);
}
