//! State of a provider in the record: beside the message, back in the next request, after a resume and in another run.

use super::*;
use crate::message::{AgentMessage, ProviderState, Role, StateTarget};

const THOUGHT: &str = r#""reasoning_content":"The clock tells.""#;

/// The record of a run up to its last entry.
fn events(host: &Host) -> Vec<EventKind> {
    let drafts = host.outputs.iter().filter_map(|output| match output {
        Output::Append(append) => Some(append.drafts.iter()),
        _ => None,
    });
    let events = drafts.flatten().filter_map(|draft| draft.event.as_ref());
    events.map(|event| event.event.clone()).collect()
}

fn last_body(outputs: &[Output]) -> String {
    let sent = outputs.iter().rev().find_map(|output| match output {
        Output::Send(request) => Some(request.body.to_vec()),
        _ => None,
    });
    String::from_utf8(sent.expect("a request")).unwrap()
}

fn thinking_call() -> Value {
    let mut body = call(&["a__time"]);
    body["choices"][0]["message"]["reasoning_content"] = json!("The clock tells.");
    body
}

fn late() -> Input {
    Input::ToolResult {
        call: CallSeq(1),
        exchanges: Vec::new(),
        outcome: ToolOutcome::TimedOut,
    }
}

/// The state that the record has of the first answer.
fn recorded(host: &Host) -> Option<ProviderState> {
    events(host).into_iter().find_map(|event| match event {
        EventKind::InferenceReturned(returned) => {
            let message = returned.result.canonical_message.as_ref();
            assert_eq!(message.and_then(|message| message.state.as_ref()), None);
            returned.provider_state.map(|state| *state)
        }
        _ => None,
    })
}

#[test]
fn a_state_is_recorded_with_its_target_and_sent_again_the_same_after_a_resume() {
    let contract = contract(&[]);
    let mut host = Host::asking(&contract, Arc::new(NoSecrets));
    host.respond(1, &thinking_call());
    let first = last_body(&host.hand_in(late()));
    assert!(first.contains(THOUGHT), "{first}");
    let state = recorded(&host).unwrap();
    let target = StateTarget {
        adapter_version: "openai-chat/1".to_owned(),
        model: "m".to_owned(),
        provider: "p".to_owned(),
    };
    assert_eq!(state.target, target);

    let mut session = Session::recorded(Arc::clone(&contract), BytesPerToken::counter());
    for event in events(&host) {
        // As the store gives it back.
        let text = serde_json::to_string(&event).unwrap();
        let event = serde_json::from_str(&text).unwrap();
        session.handle(5, Input::Recorded(Box::new(event))).unwrap();
        while session.poll().is_some() {}
    }
    let session = session.resume(BytesPerToken::counter(), Arc::new(NoSecrets));
    let mut resumed = Host {
        session: session.unwrap(),
        entries: Vec::new(),
        outputs: Vec::new(),
    };
    let outputs = resumed.hand_in(Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: Vec::new(),
        tools_changed: Vec::new(),
        unix_ms: 0,
    });
    assert_eq!(last_body(&outputs), first);
}

#[test]
fn a_run_that_goes_on_from_another_sends_the_states_of_its_messages() {
    let contract = contract(&[]);
    let mut host = Host::asking(&contract, Arc::new(NoSecrets));
    host.respond(1, &thinking_call());
    host.hand_in(late());
    let conversation = host.session.run().unwrap().conversation().iter();
    let mut messages: Vec<AgentMessage> = conversation.map(|message| (**message).clone()).collect();
    messages.push(AgentMessage::text(Role::User, "And now?", 1));
    let run_id = RunId::try_from("r2".to_owned()).unwrap();
    let started = RunStarted::new(&contract, run_id, messages, 0);
    assert_eq!(started.provider_states.len(), 1);
    let mut next = Host::new(&contract, Arc::new(NoSecrets));
    next.hand_in(Input::Start(Box::new(started)));
    let sent = last_body(&next.hand_in(probed()));
    assert!(sent.contains(THOUGHT), "{sent}");
}

#[test]
fn a_member_with_a_secret_is_left_out_and_named() {
    let contract = contract(&[]);
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    let terms = RedactionTerms::default();
    let secret = "hunter2-very-secret";
    let secrets = Arc::new(KnownSecrets::of([secret], &terms));
    let mut host = Host::asking(&contract, Arc::new(Redactor::salted(secrets, salt)));
    let mut body = thinking_call();
    body["choices"][0]["message"]["reasoning_content"] = json!(format!("It is {secret}."));
    host.respond(1, &body);
    let sent = last_body(&host.hand_in(late()));
    assert!(!sent.contains("reasoning_content"), "{sent}");
    let state = recorded(&host).unwrap();
    assert_eq!(state.left_out, ["reasoning_content"]);
    assert!(state.members.is_empty());
}
