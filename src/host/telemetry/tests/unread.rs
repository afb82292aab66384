//! Calls with unreadable arguments, as documents show them.

use super::*;
use crate::telemetry::{AtifTrajectory, ResultMessage};

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
