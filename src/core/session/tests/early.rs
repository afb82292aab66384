//! Calls that start before their message is complete: the results wait for it, and a replay decides the same.

use super::*;
use crate::contract::Terms;
use crate::kernel::EntryKind;
use crate::message::{
    ContentBlock, EnvelopeFields, EnvelopeStatus, FileChanges, ProviderFault, ProviderFaultClass,
    ToolEnvelope,
};

const FIRST: InferenceSeq = InferenceSeq(1);

/// A contract under which `a__time` may start early: it has a hint, and its author declares it.
fn speculative(sets: &[&str]) -> Arc<ExecutionContract> {
    let own = [
        "idempotent=[a__time]",
        "speculative_exec=true",
        "tool_policy=optional",
    ];
    let mut terms = Terms::clone(&contract(&[&own[..], sets].concat()));
    for tool in &mut terms.tools {
        tool.annotations = json!({"readOnlyHint": true});
    }
    Arc::new(ExecutionContract::of_terms(terms))
}

fn event(delta: &Value, finish: &Value) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {chunk}\n\n")
}

/// A call in two pieces, and the end of its message.
fn call_in_pieces(arguments: &str) -> [String; 3] {
    let (head, rest) = arguments.split_at(arguments.len() / 2);
    let function = json!({"name": "a__time", "arguments": head});
    let begun = json!({"index": 0, "id": "c0", "type": "function", "function": function});
    let rest = json!({"index": 0, "function": {"arguments": rest}});
    [
        event(&json!({"tool_calls": [begun]}), &Value::Null),
        event(&json!({"tool_calls": [rest]}), &Value::Null),
        event(&json!({}), &json!("tool_calls")) + "data: [DONE]\n\n",
    ]
}

fn push(host: &mut Host, bytes: &str) -> Vec<Output> {
    host.hand_in(Input::ResponseBytes {
        bytes: bytes.as_bytes().to_vec(),
        inference: FIRST,
    })
}

fn begin(contract: &Arc<ExecutionContract>, scrubber: Arc<dyn Scrubber>) -> Host {
    let mut host = Host::asking(contract, scrubber);
    host.hand_in(Input::ResponseBegan {
        inference: FIRST,
        meta: ok(),
    });
    host
}

/// The numbers of the calls that are asked for.
fn called(outputs: &[Output]) -> Vec<u64> {
    let calls = outputs.iter().filter_map(|output| match output {
        Output::Call(call) => Some(call.order.call.0),
        _ => None,
    });
    calls.collect()
}

/// The result of a call with arguments of that size.
fn result(call: u64, bytes_in: u64) -> Input {
    Input::ToolResult {
        call: CallSeq(call),
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            bytes_in,
            bytes_out: 4,
            changes: FileChanges::default(),
            content: vec![ContentBlock::Text("noon".to_owned())],
            duration_ms: 1,
            error: None,
            full: None,
            started_at_ms: 5,
            status: EnvelopeStatus::Ok,
            tokens: 1,
            tool: "a__time".to_owned(),
            tool_call_id: "c0".to_owned(),
        })),
    }
}

/// The entries that a session makes of the recorded events alone.
fn replayed(host: &Host, contract: &Arc<ExecutionContract>) -> Vec<String> {
    let mut again = Session::recorded(Arc::clone(contract), BytesPerToken::counter());
    let mut entries = Vec::new();
    let drafts = host.outputs.iter().filter_map(|output| match output {
        Output::Append(append) => append.drafts.first(),
        _ => None,
    });
    for event in drafts.filter_map(|draft| draft.event.clone()) {
        let recorded = Input::Recorded(Box::new(event.event));
        again.handle(event.at_ms, recorded).unwrap();
        while let Some(output) = again.poll() {
            if let Output::Append(append) = output {
                entries.extend(append.entries.iter().map(|entry| entry.hash.to_string()));
            }
        }
    }
    entries
}

#[test]
fn the_result_of_an_early_call_waits_for_its_message_and_replays() {
    let contract = speculative(&[]);
    let mut host = begin(&contract, Arc::new(NoSecrets));
    let [head, rest, end] = call_in_pieces(r#"{"zone":1}"#);
    assert_eq!(called(&push(&mut host, &head)), [0_u64; 0]);
    let outputs = push(&mut host, &rest);
    assert_eq!(called(&outputs), [1]);
    assert!(
        matches!(outputs.first(), Some(Output::Append(_))),
        "an entry comes before the call"
    );
    assert_eq!(
        host.hand_in(result(1, 10)),
        [],
        "the message is not complete"
    );
    let outputs = push(&mut host, &end);
    let asks = |output: &Output| matches!(output, Output::Send(_));
    assert!(outputs.iter().any(asks), "the model has its result");
    let run = host.session.run().unwrap();
    let counters = run.counters();
    assert_eq!((counters.calls, counters.executed), (1, 1));
    assert_eq!(run.conversation().last().unwrap().content, "noon");
    assert_eq!(replayed(&host, &contract), host.entries);
}

#[test]
fn an_early_call_of_a_response_that_breaks_off_is_cancelled_and_its_result_ignored() {
    let contract = speculative(&[]);
    let mut host = begin(&contract, Arc::new(NoSecrets));
    let [head, rest, _] = call_in_pieces("{}");
    assert_eq!(called(&push(&mut host, &(head + &rest))), [1]);
    let outputs = host.hand_in(Input::Fault {
        fault: ProviderFault::new(ProviderFaultClass::Network, "reset"),
        inference: FIRST,
    });
    assert!(outputs.contains(&Output::Cancel), "{outputs:?}");
    let outputs = host.hand_in(result(1, 2));
    let Some(Output::Append(late)) = outputs.first() else {
        panic!("the result is recorded");
    };
    assert_eq!(late.drafts[0].action.kind, EntryKind::Ignored);
    let counters = host.session.run().unwrap().counters();
    assert_eq!((counters.calls, counters.executed), (0, 0));
    assert_eq!(replayed(&host, &contract), host.entries);
}

#[test]
fn a_process_that_dies_between_a_call_and_its_message_loses_one_inference_and_no_call() {
    let contract = speculative(&[]);
    let mut host = begin(&contract, Arc::new(NoSecrets));
    let [head, rest, _] = call_in_pieces("{}");
    assert_eq!(called(&push(&mut host, &(head + &rest))), [1]);
    host.hand_in(result(1, 2));
    let counter = BytesPerToken::counter();
    host.session = host.session.resume(counter, Arc::new(NoSecrets)).unwrap();
    let outputs = host.hand_in(Input::Resumed {
        addresses: Vec::new(),
        bring_up: Vec::new(),
        confinement: Vec::new(),
        tool_servers: Vec::new(),
        tools_changed: Vec::new(),
        unix_ms: 0,
    });
    let lost = outputs.iter().filter_map(|output| match output {
        Output::Append(append) => append.drafts[0].event.as_ref(),
        _ => None,
    });
    let lost: Vec<&EventKind> = lost.map(|event| &event.event).skip(1).collect();
    let inference = EventKind::EffectLost(LostEffect::Inference(FIRST));
    assert_eq!(lost, [&inference], "the call is given up with it");
    let counters = host.session.run().unwrap().counters();
    assert_eq!((counters.inferences, counters.calls), (2, 0));
}

#[test]
fn a_call_that_shows_a_secret_waits_for_its_message() {
    let secret = "hunter2-very-secret";
    let terms = RedactionTerms::default();
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    let secrets = Arc::new(KnownSecrets::of([secret], &terms));
    let redactor = Arc::new(Redactor::salted(secrets, salt));
    let mut host = begin(&speculative(&[]), redactor);
    let arguments = format!(r#"{{"zone":"{secret}"}}"#);
    let [head, rest, end] = call_in_pieces(&arguments);
    assert_eq!(called(&push(&mut host, &(head + &rest))), [0_u64; 0]);
    assert_eq!(called(&push(&mut host, &end)), [1]);
    let entries = host.outputs.iter().filter_map(|output| match output {
        Output::Append(append) => Some(&append.entries),
        _ => None,
    });
    let shows = |text: &str| text.contains(secret);
    assert!(!entries.flatten().any(|entry| shows(&entry.event)));
}

#[test]
fn no_call_starts_early_unless_the_contract_says_so() {
    let contract = speculative(&["speculative_exec=false"]);
    let mut host = begin(&contract, Arc::new(NoSecrets));
    let [head, rest, end] = call_in_pieces("{}");
    assert_eq!(push(&mut host, &(head + &rest)), []);
    assert_eq!(called(&push(&mut host, &end)), [1]);
}
