//! The guarantees to a host: the order of outputs, the wait for durable entries, responses in any pieces, the losses of a
//! resumed run.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Append, Control, Input, KnownSecrets, Output, RedactionKey, Redactor, Session, SessionError,
};
use crate::adapter::ResponseMeta;
use crate::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, RedactionTerms,
    ServerCapability, ServerKind, TargetCapability, ToolCapability,
};
use crate::kernel::{
    EventKind, InferenceReturned, LostEffect, Probed, ProbedTarget, RunStarted, State,
};
use crate::message::{
    BytesPerToken, CallSeq, Digest, InferenceSeq, NoSecrets, RunId, Scrubber, ToolOutcome,
};

const CONTRACT: &str = "
task: How late is it?
tool_policy: required
targets: [{provider: p, model: m, context_window: 8192}]
providers: {p: {type: openai}}
queues: {slow: {concurrent: 1}}
tools: {builtin: [clock], mcp: {a: {command: x, queue: slow}, b: {command: x, queue: slow}}}
";

fn contract(sets: &[&str]) -> Arc<ExecutionContract> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let spec = ContractSpec::parse("c.yaml", CONTRACT, &sets).unwrap();
    let server = |kind, name: &str| ServerCapability {
        available: true,
        kind,
        tools: vec![ToolCapability {
            annotations: Value::Null,
            description: "Tells the time.".to_owned(),
            input_schema: json!({"type": "object"}),
            name: name.to_owned(),
            schema_tokens: 8,
        }],
    };
    let manifest = CapabilityManifest {
        servers: [
            ("a".to_owned(), server(ServerKind::Stdio, "time")),
            ("b".to_owned(), server(ServerKind::Stdio, "time")),
            ("builtin".to_owned(), server(ServerKind::Builtin, "clock")),
        ]
        .into(),
        targets: vec![TargetCapability::default()],
    };
    Arc::new(ContractFactory.make(&spec, &manifest, None).unwrap())
}

/// A host that does nothing by itself: a test hands in what it likes, and sees every output.
struct Host {
    session: Session,
    entries: Vec<String>,
    outputs: Vec<Output>,
}

impl Host {
    fn new(contract: &Arc<ExecutionContract>, scrubber: Arc<dyn Scrubber>) -> Self {
        let counter = BytesPerToken::counter();
        let session = Session::new(Arc::clone(contract), counter, scrubber).unwrap();
        Self {
            session,
            entries: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// A run whose first request is in flight.
    fn asking(contract: &Arc<ExecutionContract>, scrubber: Arc<dyn Scrubber>) -> Self {
        let mut host = Self::new(contract, scrubber);
        host.hand_in(started(contract));
        host.hand_in(probed());
        host
    }

    /// Hands in, makes durable what is to be appended, and gives the outputs that came of it.
    /// The timer that is set fires at its moment.
    fn fire(&mut self) -> Vec<Output> {
        let due = self.session.run().unwrap().next_deadline().unwrap();
        self.hand_in_at(due, Input::Timer)
    }

    fn hand_in(&mut self, input: Input) -> Vec<Output> {
        self.hand_in_at(5, input)
    }

    fn hand_in_at(&mut self, at_ms: u64, input: Input) -> Vec<Output> {
        // Every input and every output has a JSON form.
        let json = serde_json::to_string(&input).unwrap();
        let read: Input = serde_json::from_str(&json).unwrap();
        assert_eq!(read, input, "{json}");
        drop(input);
        self.session.handle(at_ms, read).unwrap();
        let mut outputs = Vec::new();
        while let Some(output) = self.session.poll() {
            let json = serde_json::to_string(&output).unwrap();
            let read: Output = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            if let Output::Append(Append { entries, .. }) = &output {
                self.entries
                    .extend(entries.iter().map(|entry| entry.hash.to_string()));
                let last = entries.last().unwrap().seq;
                self.session.handle(5, Input::Durable(last)).unwrap();
            }
            outputs.push(output);
        }
        self.outputs.extend(outputs.iter().cloned());
        outputs
    }

    fn respond(&mut self, inference: u64, body: &Value) -> Vec<Output> {
        self.hand_in(Input::Response {
            bytes: body.to_string().into_bytes(),
            inference: InferenceSeq(inference),
            meta: ok(),
        })
    }

    fn state(&self) -> State {
        self.session.run().unwrap().state()
    }
}

fn started(contract: &ExecutionContract) -> Input {
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let messages = RunStarted::opening("", "How late is it?");
    Input::Start(Box::new(RunStarted::new(contract, run_id, messages, 0)))
}

fn probed() -> Input {
    Input::Probed(Probed {
        targets: vec![ProbedTarget {
            detail: "answers".to_owned(),
            responsive: true,
            ..ProbedTarget::default()
        }],
    })
}

fn ok() -> ResponseMeta {
    ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    }
}

fn call(names: &[&str]) -> Value {
    let calls = names.iter().enumerate().map(|(at, name)| {
        json!({"id": format!("c{at}"), "type": "function",
            "function": {"name": name, "arguments": "{}"}})
    });
    let calls: Vec<Value> = calls.collect();
    chat(
        &json!({"role": "assistant", "content": null, "tool_calls": calls}),
        "tool_calls",
    )
}

fn chat(message: &Value, finish: &str) -> Value {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})
}

/// A stream of text, a token a line.
fn stream(text: &str) -> String {
    let token = |token: &str| {
        let delta = json!({"choices": [{"index": 0, "delta": {"content": token}}]});
        format!("data: {delta}\n\n")
    };
    let tokens: String = text.split_inclusive(' ').map(token).collect();
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    format!("{tokens}data: {end}\n\ndata: [DONE]\n\n")
}

fn text_of(outputs: &[Output]) -> String {
    let deltas = outputs.iter().filter_map(|output| match output {
        Output::Delta { text, .. } => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

#[test]
fn nothing_is_asked_for_before_the_entries_are_durable() {
    let contract = contract(&[]);
    let mut session = Host::new(&contract, Arc::new(NoSecrets)).session;
    session.handle(0, started(&contract)).unwrap();
    let Some(Output::Append(append)) = session.poll() else {
        panic!("entry 0 comes first");
    };
    assert_eq!(append.entries.len(), 1);
    assert_eq!(session.poll(), None, "it is not durable");
    session.handle(0, probed()).unwrap();
    assert_eq!(session.poll(), None, "whatever happens meanwhile");
    session.handle(0, Input::Durable(0)).unwrap();
    let headers = vec![Vec::new()];
    assert_eq!(session.poll(), Some(Output::Probe { headers }));
    let arm = session.poll();
    assert!(matches!(arm, Some(Output::Arm(Some(_)))), "{arm:?}");
    assert!(matches!(session.poll(), Some(Output::Append(_))));
    assert_eq!(session.poll(), None);
    session.handle(0, Input::Durable(0)).unwrap();
    assert_eq!(session.poll(), None, "an older entry opens nothing");
    session.handle(0, Input::Durable(1)).unwrap();
    assert!(matches!(session.poll(), Some(Output::Send(_))));
}

#[test]
fn a_response_is_the_same_event_in_whatever_pieces_it_arrives() {
    let contract = contract(&["tool_policy=optional"]);
    let body = stream("It is noon, as far as I know.");
    let whole = {
        let mut host = Host::asking(&contract, Arc::new(NoSecrets));
        host.hand_in(Input::Response {
            bytes: body.clone().into_bytes(),
            inference: InferenceSeq(1),
            meta: ok(),
        });
        assert_eq!(host.state(), State::Terminate);
        host.entries
    };
    for cut in 0..body.len() {
        let mut host = Host::asking(&contract, Arc::new(NoSecrets));
        let inference = InferenceSeq(1);
        host.hand_in(Input::ResponseBegan {
            inference,
            meta: ok(),
        });
        for bytes in [&body.as_bytes()[..cut], &body.as_bytes()[cut..]] {
            let bytes = bytes.to_vec();
            host.hand_in(Input::ResponseBytes { bytes, inference });
        }
        assert_eq!(host.entries, whole, "cut at {cut}");
        // `[DONE]` settled it: the session asks the host to stop reading, and the end that follows is late.
        assert!(host.outputs.contains(&Output::Close(inference)));
        assert_eq!(host.hand_in(Input::ResponseEnded { inference }), []);
        assert_eq!(text_of(&host.outputs), "It is noon, as far as I know.");
    }
}

/// 001/1.loop.5
#[test]
fn text_is_released_as_it_arrives_and_never_through_a_closed_gate() {
    let open = contract(&["tool_policy=optional"]);
    let mut host = Host::asking(&open, Arc::new(NoSecrets));
    let inference = InferenceSeq(1);
    host.hand_in(Input::ResponseBegan {
        inference,
        meta: ok(),
    });
    let body = stream("It is noon.");
    let half = body.len() / 3;
    let bytes = body.as_bytes()[..half].to_vec();
    let outputs = host.hand_in(Input::ResponseBytes { bytes, inference });
    assert_eq!(
        text_of(&outputs),
        "It ",
        "what has arrived is there at once"
    );

    let closed = contract(&[]);
    let mut host = Host::asking(&closed, Arc::new(NoSecrets));
    host.respond(
        1,
        &chat(
            &json!({"role": "assistant", "content": "It is noon."}),
            "stop",
        ),
    );
    assert_eq!(text_of(&host.outputs), "", "the gate is closed");
    let mut host = Host::asking(&closed, Arc::new(NoSecrets));
    let mut beside = call(&["a__time"]);
    beside["choices"][0]["message"]["content"] = "Let me look.".into();
    host.respond(1, &beside);
    assert_eq!(
        text_of(&host.outputs),
        "Let me look.",
        "its call has opened it"
    );
}

#[test]
fn no_piece_of_a_secret_is_released() {
    let secret = "hunter2-very-secret";
    let terms = RedactionTerms::default();
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    let secrets = Arc::new(KnownSecrets::of([secret], &terms));
    let redactor = Redactor::salted(secrets, salt);
    let contract = contract(&["tool_policy=optional"]);
    for text in [
        format!("It is {secret} they say"),
        "sk-abcdefghijklmnopqrstuvwx is the key".to_owned(),
        "the header is Authorization: Basic dXNlcjpwYXNz and no more".to_owned(),
        format!("a hunter is no {}", &secret[..7]),
    ] {
        let mut host = Host::asking(&contract, Arc::new(redactor.clone()));
        let inference = InferenceSeq(1);
        host.hand_in(Input::ResponseBegan {
            inference,
            meta: ok(),
        });
        let mut shown = String::new();
        for bytes in stream(&text).into_bytes().chunks(7) {
            let bytes = bytes.to_vec();
            shown += &text_of(&host.hand_in(Input::ResponseBytes { bytes, inference }));
        }
        assert_eq!(shown, redactor.text(&text), "of {text}");
    }
}

#[test]
fn servers_of_one_queue_are_called_in_it_and_tools_inside_monolith_in_none() {
    let mut host = Host::asking(
        &contract(&["parallel_tool_calls=true"]),
        Arc::new(NoSecrets),
    );
    host.respond(1, &call(&["a__time", "b__time", "clock"]));
    let mut queues = Vec::new();
    for at in 0..3 {
        for output in std::mem::take(&mut host.outputs) {
            if let Output::Call(call) = output {
                assert_eq!(call.idempotency_key, format!("r1:{}", call.order.call));
                queues.push(call.queue);
            }
        }
        host.hand_in(Input::ToolResult {
            call: CallSeq(at + 1),
            exchanges: Vec::new(),
            outcome: ToolOutcome::TimedOut,
        });
    }
    let slow = Some("slow".to_owned());
    assert_eq!(queues, [slow.clone(), slow, None]);
}

#[test]
fn a_resumed_run_loses_what_had_no_result() {
    let contract = contract(&[]);
    let mut before = Host::asking(&contract, Arc::new(NoSecrets));
    before.respond(1, &call(&["a__time"]));
    let events = before.outputs.iter().filter_map(|output| match output {
        Output::Append(append) => Some(append.drafts.iter()),
        _ => None,
    });
    let events: Vec<EventKind> = events
        .flatten()
        .filter_map(|draft| draft.event.as_ref().map(|event| event.event.clone()))
        .collect();

    let mut session = Session::recorded(Arc::clone(&contract), BytesPerToken::counter());
    for event in events {
        session.handle(5, Input::Recorded(Box::new(event))).unwrap();
        while session.poll().is_some() {}
    }
    assert_eq!(
        session.head().map(|head| head.to_string()),
        before.entries.last().cloned()
    );
    let session = session.resume(BytesPerToken::counter(), Arc::new(NoSecrets));
    let mut session = session.unwrap();
    let early = session.handle(5, Input::Timer);
    assert_eq!(early, Err(SessionError::NotResumed));
    let mut host = Host {
        session,
        entries: Vec::new(),
        outputs: Vec::new(),
    };
    let tools_changed = Vec::new();
    let outputs = host.hand_in(Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: Vec::new(),
        tools_changed,
        unix_ms: 0,
    });
    let appended: Vec<EventKind> = outputs
        .iter()
        .filter_map(|output| match output {
            Output::Append(append) => append.drafts[0].event.as_ref(),
            _ => None,
        })
        .map(|event| event.event.clone())
        .collect();
    assert!(matches!(appended[0], EventKind::Resumed(_)));
    assert_eq!(
        appended[1],
        EventKind::EffectLost(LostEffect::Call(CallSeq(1)))
    );
    let armed = outputs
        .iter()
        .any(|output| matches!(output, Output::Arm(Some(_))));
    assert!(armed, "the new host has no timer yet");
}

#[test]
fn prose_through_the_mask_of_an_embedded_model_breaks_the_gate() {
    let embedded = contract(&[
        "providers={p: {type: local, file: m.gguf}}",
        "token_gate=true",
    ]);
    let mut host = Host::asking(&embedded, Arc::new(NoSecrets));
    let lines = "{\"text\": \"It is noon.\"}\n{\"stop\": \"end\", \"usage\": {\"input\": 1, \"output\": 1}}\n";
    let outputs = host.hand_in(Input::Response {
        bytes: lines.as_bytes().to_vec(),
        inference: InferenceSeq(1),
        meta: ok(),
    });
    let Some(Output::Append(append)) = outputs.first() else {
        panic!("the response is recorded");
    };
    let event = append.drafts[0].event.as_ref().map(|event| &event.event);
    let Some(EventKind::InferenceReturned(returned)) = event else {
        panic!("it is a message: {event:?}");
    };
    let InferenceReturned {
        gate_breached,
        gated,
        ..
    } = **returned;
    assert!(gate_breached && gated);
}

#[test]
fn what_no_host_may_do_is_refused_and_changes_nothing() {
    let contract = contract(&[]);
    let mut session = Host::new(&contract, Arc::new(NoSecrets)).session;
    let inference = InferenceSeq(1);
    let refused = |session: &mut Session, input| session.handle(0, input).unwrap_err();
    assert_eq!(
        refused(&mut session, Input::Timer),
        SessionError::NotStarted
    );
    let mut host = Host::asking(&contract, Arc::new(NoSecrets));
    let before = host.session.head();
    assert_eq!(
        refused(&mut host.session, started(&contract)),
        SessionError::Started
    );
    let ended = Input::ResponseEnded { inference };
    assert_eq!(
        refused(&mut host.session, ended),
        SessionError::NoHead { inference }
    );
    let other = InferenceSeq(2);
    let began = |inference| Input::ResponseBegan {
        inference,
        meta: ok(),
    };
    let unknown = SessionError::NoSuchRequest { inference: other };
    assert_eq!(refused(&mut host.session, began(other)), unknown);
    host.session.handle(0, began(inference)).unwrap();
    let twice = SessionError::SecondHead { inference };
    assert_eq!(refused(&mut host.session, began(inference)), twice);
    assert_eq!(host.session.head(), before);
    let wrong = Input::Blob {
        bytes: b"another".to_vec(),
        hash: Digest::of(b"one"),
    };
    let hash = Digest::of(b"one");
    assert_eq!(
        refused(&mut host.session, wrong),
        SessionError::OtherBlob { hash }
    );
    let last = host.hand_in(Input::Control(Control::Abort));
    assert_eq!(host.state(), State::Terminate);
    assert!(matches!(last.last(), Some(Output::Done(_))), "{last:?}");
    assert_eq!(host.hand_in(Input::Timer), [], "nothing follows");
}

mod early;
mod hashed;
mod json_form;
mod provider_states;
mod sequences;
mod thinking;
