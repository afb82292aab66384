//! Runs in a few events, and the lines that they are narrated in.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::text::narration::*;
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ServerCapability, ServerKind,
    TargetCapability, ToolCapability, Validators,
};
use monolith_core::kernel::{Effect, Event, Probed, ProbedTarget, Run, RunStarted, ToolReturned};
use monolith_core::message::{
    AgentMessage, CallSeq, ContentBlock, Digest, EnvelopeFields, FailureCode, FileChanges,
    InferenceSeq, ObjectText, ProviderFault, ProviderFaultClass, Role, RunId, ToolEnvelope,
    ToolInvocation, ToolOutcome, Usage,
};
use monolith_testkit::sample;

fn contract() -> ExecutionContract {
    let text = "task: hi\ntool_policy: required\ntargets: [{provider: demo, model: script}]\n\
                providers: {demo: {type: scripted, file: x.jsonl}}\ntools: {builtin: [echo]}\n";
    let spec = ContractSpec::parse("c.yaml", text, &[]).unwrap();
    let echo = ToolCapability {
        annotations: serde_json::Value::Null,
        description: String::new(),
        input_schema: serde_json::json!({"type": "object"}),
        name: "echo".to_owned(),
        schema_tokens: 1,
    };
    let builtin = ServerCapability {
        available: true,
        kind: ServerKind::Builtin,
        tools: vec![echo],
    };
    let manifest = CapabilityManifest {
        servers: BTreeMap::from([("builtin".to_owned(), builtin)]),
        targets: vec![TargetCapability::default()],
    };
    ContractFactory.make(&spec, &manifest, None).unwrap()
}

fn probed(responsive: bool) -> EventKind {
    let detail = "no\u{1b}body".to_owned();
    let targets = vec![ProbedTarget {
        detail,
        responsive,
        ..ProbedTarget::default()
    }];
    EventKind::Probed(Probed { targets })
}

fn returned(inference: u64, message: Option<AgentMessage>) -> EventKind {
    let returned = sample::returned(inference, message, Usage::default());
    EventKind::InferenceReturned(Box::new(returned))
}

fn text(content: &str) -> AgentMessage {
    AgentMessage::text(Role::Assistant, content, 1)
}

fn calls(arguments: &[&str]) -> AgentMessage {
    let call = |(n, arguments): (usize, &&str)| ToolInvocation {
        arguments: ObjectText::parse(*arguments).unwrap(),
        id: format!("c{n}"),
        name: "echo".to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    };
    AgentMessage {
        tool_calls: (1..).zip(arguments).map(call).collect(),
        ..text("")
    }
}

fn ended(call: u64, outcome: ToolOutcome) -> EventKind {
    let call = CallSeq(call);
    EventKind::ToolReturned(Box::new(ToolReturned {
        call,
        child: None,
        exchanges: Vec::new(),
        outcome,
    }))
}

fn envelope(id: &str) -> ToolOutcome {
    ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
        bytes_in: 2,
        bytes_out: 20_000,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text("hi".to_owned())],
        duration_ms: 7,
        error: None,
        full: Some(Digest::ZERO),
        started_at_ms: 0,
        status: EnvelopeStatus::Ok,
        tokens: 1,
        tool: "echo".to_owned(),
        tool_call_id: id.to_owned(),
    }))
}

/// The lines of a run to which these events happen, 100 ms apart.
fn check(events: &[EventKind], expect: &[&str]) {
    let contract = Arc::new(contract());
    let started = RunStarted {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        contract_hash: contract.rehash(),
        inherited: None,
        intent_words: Vec::new(),
        messages: vec![AgentMessage::text(Role::User, "hi", 1)],
        parent: None,
        provider_states: Vec::new(),
        run_id: RunId::try_from("r".to_owned()).unwrap(),
        started_unix_ms: 0,
        tokenizer_fault: None,
        tool_servers: Vec::new(),
        workspace: None,
    };
    let validators = Arc::new(Validators::compile(&contract));
    let (mut run, first) = Run::start(Arc::clone(&contract), validators, started);
    let mut view = RunView::new(Arc::clone(&contract));
    let mut lines = Vec::new();
    let mut take = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Append(entries) = effect {
                for draft in &entries {
                    let entry = Entry::sealed(draft, Digest::ZERO);
                    view.take(entry);
                    let transition = Transition::of(&view, entry);
                    lines.extend(transition.map(|transition| transition.line()));
                }
            }
        }
    };
    take(first);
    for (at, event) in (1..).zip(events) {
        let event = event.clone();
        take(run.step(Event {
            at_ms: at * 100,
            event,
        }));
    }
    assert_eq!(lines, expect);
}

#[test]
fn a_run_with_a_call_is_told_transition_by_transition() {
    check(
        &[
            probed(true),
            returned(1, Some(calls(&["{\"a\":1}"]))),
            ended(1, envelope("c1")),
            returned(2, Some(text("MIT"))),
        ],
        &[
            "0.100s  PRECHECK → INFER   9 checks passed, tools required; asks demo/script, turn 1",
            "0.200s  INFER → VALIDATE_CALLS   native, 1 call: echo",
            "0.200s  VALIDATE_CALLS → EXECUTE   echo {\"a\":1}",
            "0.300s  EXECUTE → OBSERVE   echo ok, 20,000 bytes, cut in 7 ms",
            "0.300s  OBSERVE → COMMIT   observed",
            "0.300s  COMMIT → INFER   next turn; asks demo/script, turn 2",
            "0.400s  INFER → VALIDATE_CALLS   native, 3 characters",
            "0.400s  VALIDATE_CALLS → COMMIT   nothing to execute",
            "0.400s  COMMIT → TERMINATE   2 turns, 2 inferences, 1 call executed, 0 tokens",
        ],
    );
}

#[test]
fn each_call_of_a_message_has_a_line_when_it_starts() {
    let arguments = ["{\"a\":1}", "{\"a\":2}"];
    check(
        &[
            probed(true),
            returned(1, Some(calls(&arguments))),
            ended(1, envelope("c1")),
            ended(2, envelope("c2")),
        ],
        &[
            "0.100s  PRECHECK → INFER   9 checks passed, tools required; asks demo/script, turn 1",
            "0.200s  INFER → VALIDATE_CALLS   native, 2 calls: echo, echo",
            "0.200s  VALIDATE_CALLS → EXECUTE   echo {\"a\":1}",
            "0.300s  EXECUTE   echo {\"a\":2}",
            "0.400s  EXECUTE → OBSERVE   echo ok, 20,000 bytes, cut in 7 ms; echo ok, 20,000 bytes, cut in 7 ms",
            "0.400s  OBSERVE → COMMIT   observed",
            "0.400s  COMMIT → INFER   next turn; asks demo/script, turn 2",
        ],
    );
}

#[test]
fn a_call_that_nobody_could_read_is_told_with_its_code() {
    let mut asked = calls(&["{}", "{}"]);
    asked.tool_calls[1].fault = Some(FailureCode::ArgsNotObject);
    let EventKind::InferenceReturned(returned) = returned(1, Some(asked)) else {
        panic!("an answer is one");
    };
    let expected = "native, 2 calls: echo, echo (ARGS_NOT_OBJECT)";
    assert_eq!(message("openai-chat/1", &returned), expected);
    // Calls that were read from text are called so.
    let expected = "text, 2 calls: echo, echo (ARGS_NOT_OBJECT)";
    assert_eq!(message("openai-chat+hermes/1", &returned), expected);
}

#[test]
fn what_goes_wrong_is_told_in_its_own_words() {
    let fault = ProviderFault {
        retry_after_ms: Some(50),
        status: Some(503),
        ..ProviderFault::new(ProviderFaultClass::Model, "over\u{202e}loaded")
    };
    let failed = EventKind::InferenceFailed(InferenceFailed {
        fault,
        gated: false,
        inference: InferenceSeq(1),
        redacted: false,
        request_hash: None,
        usage: None,
    });
    check(
        &[
            probed(true),
            failed,
            EventKind::TimerFired,
            returned(2, None),
            EventKind::Interrupted(Interrupter::Abort),
        ],
        &[
            "0.100s  PRECHECK → INFER   9 checks passed, tools required; asks demo/script, turn 1",
            "0.200s  INFER → COMMIT   model (503): over\\u{202e}loaded",
            "0.200s  COMMIT → INFER   retry; waits until 0.250s, attempt 2",
            "0.400s  INFER → VALIDATE_CALLS   rejected: ARGS_INVALID_JSON at \"/choices/0\"",
            "0.400s  VALIDATE_CALLS → COMMIT   rejected: ARGS_INVALID_JSON at /choices/0",
            "0.400s  COMMIT → INFER   retry; asks demo/script, attempt 3",
            "0.500s  INFER → COMMIT   aborted",
            "0.500s  COMMIT → TERMINATE   1 turn, 3 inferences, 0 calls executed, 0 tokens",
        ],
    );
}

#[test]
fn the_check_that_failed_stands_in_the_last_line() {
    check(
        &[probed(false)],
        &["0.100s  PRECHECK → TERMINATE   backend: no\\u{1b}body"],
    );
}

#[test]
fn calls_of_one_message_are_told_in_the_order_in_which_they_ended() {
    check(
        &[
            probed(true),
            returned(1, Some(calls(&["{}", "{\"b\":2}"]))),
            ended(1, ToolOutcome::TimedOut),
            ended(2, envelope("c2")),
        ],
        &[
            "0.100s  PRECHECK → INFER   9 checks passed, tools required; asks demo/script, turn 1",
            "0.200s  INFER → VALIDATE_CALLS   native, 2 calls: echo, echo",
            "0.200s  VALIDATE_CALLS → EXECUTE   echo {}",
            "0.300s  EXECUTE   echo {\"b\":2}",
            "0.400s  EXECUTE → OBSERVE   echo timed out; echo ok, 20,000 bytes, cut in 7 ms",
            "0.400s  OBSERVE → COMMIT   observed",
            "0.400s  COMMIT → INFER   next turn; asks demo/script, turn 2",
        ],
    );
}
