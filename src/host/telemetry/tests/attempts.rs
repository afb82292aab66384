//! The choice of failures to name.

use super::*;
use crate::telemetry::{AtifTrajectory, ResultMessage};

fn failed(inference: u64, message: &str) -> EventKind {
    EventKind::InferenceFailed(InferenceFailed {
        fault: ProviderFault::new(ProviderFaultClass::Model, message),
        gated: false,
        inference: InferenceSeq(inference),
        redacted: false,
        request_hash: None,
        usage: None,
    })
}

#[test]
fn a_summary_that_failed_and_an_earlier_turn_are_no_attempts_of_the_last() {
    let mut fixture = Fixture::new();
    let take = |fixture: &mut Fixture, at_ms, turn, event, effects| {
        let mut action = sample::action(fixture.seq, EntryKind::Noted, State::Infer, State::Infer);
        action.effects = effects;
        action.counters.turns = turn;
        action.outcome = Some(Outcome::new(
            AgentOutcome::FailedBudgetExhausted,
            OutcomeCode::AttemptsExhausted,
        ));
        fixture.take_action(&action, Some(&Event { at_ms, event }));
    };
    let ask = |inference| EffectRecord::Infer {
        attempt: 1,
        inference: InferenceSeq(inference),
        left_out: std::collections::BTreeSet::new(),
        notices: Vec::new(),
        target: 0,
        tools: true,
    };
    let tell = EffectRecord::Summarise {
        call: CallSeq(1),
        inference: InferenceSeq(2),
        target: 0,
    };
    take(&mut fixture, 0, 1, EventKind::TimerFired, vec![ask(1)]);
    take(
        &mut fixture,
        1,
        2,
        failed(1, "of the first turn"),
        vec![tell],
    );
    take(&mut fixture, 2, 3, failed(2, "of a summary"), vec![ask(3)]);
    take(
        &mut fixture,
        3,
        3,
        failed(3, "of the last turn"),
        Vec::new(),
    );
    let why = "model: of the last turn. Every attempt of the turn ended in a provider error.";
    assert_eq!(reason::why(&fixture.view).as_deref(), Some(why));
    let lines = fixture.lines();
    let purposes = lines.iter().map(|line| {
        let line = serde_json::to_value(line).unwrap();
        (line["turn"].clone(), line["purpose"].clone())
    });
    let expect = [
        (json!(1), Value::Null),
        (json!(2), json!("summary")),
        (json!(3), Value::Null),
    ];
    assert_eq!(purposes.collect::<Vec<_>>(), expect);
}

#[test]
fn a_turn_without_an_answer_names_every_fault_of_it_once() {
    // Each fault asks for a wait that is over by the next event.
    let fails = |inference, message| {
        let EventKind::InferenceFailed(mut failed) = failed(inference, message) else {
            panic!("a failed request is one");
        };
        failed.fault.retry_after_ms = Some(1);
        EventKind::InferenceFailed(failed)
    };
    let (_, view) = run_of(&[
        fails(1, "overloaded"),
        EventKind::TimerFired,
        fails(2, "no such model"),
        EventKind::TimerFired,
        fails(3, "overloaded"),
    ]);
    let why = "model: overloaded. Every attempt of the turn ended in a provider error. (before it: model: no such model)";
    assert_eq!(reason::why(&view).as_deref(), Some(why));
}

/// Two calls run beside each other; the later one fails as tools do, and the end is the other's.
#[test]
fn the_call_whose_answer_was_no_result_is_named_and_no_other() {
    let ended = |call, outcome| {
        EventKind::ToolReturned(Box::new(ToolReturned {
            call: CallSeq(call),
            child: None,
            exchanges: Vec::new(),
            outcome,
        }))
    };
    let start = |call: u64| EffectRecord::Execute {
        arguments_hash: Digest::ZERO,
        call: CallSeq(call),
        id: format!("c{call}"),
        name: "read_file".to_owned(),
    };
    let failed = |id: &str| {
        let ToolOutcome::Returned(envelope) = envelope(Some("no such file")) else {
            panic!("the fixture returns an envelope");
        };
        ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            tool_call_id: id.to_owned(),
            ..envelope.into_fields()
        }))
    };
    let check = |bad: ToolOutcome, error: &str| {
        for bad_first in [true, false] {
            let mut fixture = Fixture::new();
            fixture.take(0, EventKind::TimerFired, vec![start(1), start(2)]);
            let mut events = [ended(1, bad.clone()), ended(2, failed("c2"))];
            if !bad_first {
                events.reverse();
            }
            for event in events {
                fixture.take(1, event, Vec::new());
            }
            let mut action =
                sample::action(fixture.seq, EntryKind::Noted, State::Commit, State::Commit);
            let (class, code) = (AgentOutcome::FailedValidation, OutcomeCode::ToolEnvelope);
            action.outcome = Some(Outcome::new(class, code));
            fixture.take_action(&action, None);
            assert_eq!(reason::cause(&fixture.view).as_deref(), Some(error));
            let line = serde_json::to_value(&fixture.lines()[0]).unwrap();
            assert_eq!(
                (&line["status"], &line["error"]),
                (&json!("failed"), &json!(error))
            );
        }
    };
    let malformed = ToolOutcome::Malformed {
        detail: "no content".to_owned(),
        raw_hash: None,
    };
    check(malformed, "malformed result: no content");
    check(
        failed("c9"),
        "malformed result: the envelope answers call \"c9\", expected \"c1\"",
    );
    let ok = match envelope(None) {
        ToolOutcome::Returned(envelope) => {
            ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
                tool: "echo".to_owned(),
                ..envelope.into_fields()
            }))
        }
        other => other,
    };
    check(
        ok,
        "malformed result: the envelope is of tool \"echo\", expected \"read_file\"",
    );
}

#[test]
fn an_unreadable_call_differs_from_one_without_arguments() {
    let asked = |id: &str, fault| ToolInvocation {
        arguments: ObjectText::empty(),
        fault,
        id: id.to_owned(),
        name: "read".to_owned(),
        raw_payload: None,
        source_model: "m".to_owned(),
    };
    let lost = Some(FailureCode::ArgsNotObject);
    let message = AgentMessage {
        tool_calls: vec![asked("a", None), asked("b", lost)],
        ..text("")
    };
    let document = serde_json::to_value(ResultMessage::from(&message)).unwrap();
    let calls = json!([
        {"id": "a", "name": "read", "arguments": {}},
        {"id": "b", "name": "read", "arguments": {}, "fault": "ARGS_NOT_OBJECT"},
    ]);
    assert_eq!(document["tool_calls"], calls);
    let mut trajectory = AtifTrajectory::new();
    let action = sample::action(1, EntryKind::Noted, State::Infer, State::Infer);
    let event = Event {
        at_ms: 1,
        event: returned(Some(message)),
    };
    let entry = Entry {
        action: &action,
        event: Some(&event),
        hash: Digest::ZERO,
    };
    let mut view = RunView::new(Arc::new(sample::contract()));
    view.take(entry);
    trajectory.take(&view, entry);
    let document = trajectory.finish(&view);
    let steps = document["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["source"] == "agent").unwrap();
    assert_eq!(step["extra"]["faults"], json!({"b": "ARGS_NOT_OBJECT"}));
}
