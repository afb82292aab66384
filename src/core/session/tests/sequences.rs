//! Inputs in unusual orders: summaries, responses that break off, timers that no one armed, anything at all.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::kernel::Fold;
use crate::message::{
    ContentBlock, EnvelopeFields, EnvelopeStatus, FileChanges, ProviderFault, ProviderFaultClass,
    ToolEnvelope,
};
use crate::transcript::Chain;

/// The result of a call of `a__time`, as a host cuts it to 100 bytes.
pub(super) fn long_result(full: Digest, whole: &str) -> Input {
    Input::ToolResult {
        call: CallSeq(1),
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            bytes_in: 2,
            bytes_out: whole.len() as u64,
            changes: FileChanges::default(),
            content: vec![ContentBlock::Text(whole[..100].to_owned())],
            duration_ms: 1,
            error: None,
            full: Some(full),
            started_at_ms: 5,
            status: EnvelopeStatus::Ok,
            tokens: 0,
            tool: "a__time".to_owned(),
            tool_call_id: "c0".to_owned(),
        })),
    }
}

pub(super) const SUMMARY: [&str; 2] = [
    "tool_output_budget.max_bytes_per_call=100",
    "tool_output_budget.summarizer_model=p/m",
];

fn sent(outputs: &[Output]) -> Vec<u64> {
    let sent = outputs.iter().filter_map(|output| match output {
        Output::Send(request) => Some(request.inference.inference.0),
        _ => None,
    });
    sent.collect()
}

/// The event of the last step.
fn last_event(host: &Host) -> EventKind {
    let appended = host.outputs.iter().rev().find_map(|output| match output {
        Output::Append(append) => append.drafts.first(),
        _ => None,
    });
    let event = appended.and_then(|draft| draft.event.clone());
    event
        .expect("the first entry of a step has the event")
        .event
}

#[test]
fn a_summary_is_sent_for_once_its_text_is_handed_in() {
    let whole = "It is noon. ".repeat(40);
    let full = Digest::of(whole.as_bytes());
    let mut host = Host::asking(&contract(&SUMMARY), Arc::new(NoSecrets));
    host.respond(1, &call(&["a__time"]));
    let outputs = host.hand_in(long_result(full, &whole));
    let inference = InferenceSeq(2);
    assert!(outputs.contains(&Output::Summarise { full, inference }));
    assert_eq!(sent(&outputs), [0_u64; 0], "its text is not here yet");
    let blob = Input::Blob {
        bytes: whole.clone().into_bytes(),
        hash: full,
    };
    let outputs = host.hand_in(blob.clone());
    let [Output::Send(request)] = &*outputs else {
        panic!("one request: {outputs:?}");
    };
    let body = String::from_utf8(request.body.to_vec()).unwrap();
    assert!(body.contains("It is noon. It is noon."), "{body}");
    assert_eq!(host.hand_in(blob), [], "it is sent once");
    let said = json!({"role": "assistant", "content": "Noon."});
    let outputs = host.respond(2, &chat(&said, "stop"));
    assert_eq!(sent(&outputs), [3], "the turn goes on");
    let conversation = host.session.run().unwrap().conversation();
    let observed = &conversation.last().unwrap().content;
    assert!(observed.ends_with("\nNoon."), "{observed}");
}

#[test]
fn what_arrived_of_a_response_that_breaks_off_is_kept() {
    let mut host = Host::asking(&contract(&[]), Arc::new(NoSecrets));
    let inference = InferenceSeq(1);
    let meta = ok();
    host.hand_in(Input::ResponseBegan { inference, meta });
    let bytes = stream("It is noon.").into_bytes()[..40].to_vec();
    host.hand_in(Input::ResponseBytes {
        bytes: bytes.clone(),
        inference,
    });
    let fault = ProviderFault {
        retry_after_ms: Some(1),
        ..ProviderFault::new(ProviderFaultClass::Network, "connection reset")
    };
    let outputs = host.hand_in(Input::Fault { fault, inference });
    let Some(Output::Append(append)) = outputs.first() else {
        panic!("it is recorded: {outputs:?}");
    };
    assert_eq!(append.blobs, std::slice::from_ref(&bytes));
    let EventKind::InferenceFailed(failed) = last_event(&host) else {
        panic!("the attempt failed");
    };
    assert_eq!(failed.fault.raw_hash, Some(Digest::of(&bytes)));
    assert!(failed.gated, "the bytes may hold text that is held back");
    assert_eq!(sent(&outputs), [0; 0], "the target is on hold");
    assert_eq!(sent(&host.fire()), [2], "the next attempt");
    let late = Input::ResponseEnded { inference };
    assert_eq!(host.hand_in(late), [], "a late end changes nothing");
}

#[test]
fn a_timer_that_is_early_ends_nothing_and_a_late_one_does() {
    let contract = contract(&[]);
    let mut host = Host::asking(&contract, Arc::new(NoSecrets));
    let outputs = host.hand_in(Input::Timer);
    assert_eq!(host.state(), State::Infer, "{outputs:?}");
    assert!(
        !outputs
            .iter()
            .any(|o| matches!(o, Output::Cancel | Output::Send(_)))
    );
    let due = host.session.run().unwrap().next_deadline().unwrap();
    let step_timeout = contract.step_timeout_ms;
    assert_eq!(due, 5 + step_timeout + 1);
    host.session.handle(due + 1_000, Input::Timer).unwrap();
    assert_eq!(host.state(), State::Terminate);
    let outcome = host.session.run().unwrap().outcome().unwrap().to_string();
    assert_eq!(outcome, "FAILED_TIMEOUT (step_timeout)");
}

/// Sizes are in bytes of UTF-8. A replay derives them again, and would call other ones tampered.
#[test]
fn a_result_whose_sizes_are_not_those_of_its_texts_is_refused() {
    let mut host = Host::asking(&contract(&[]), Arc::new(NoSecrets));
    let mut body = call(&["a__time"]);
    let arguments = json!({"zone": "Zürich"}).to_string();
    body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] =
        arguments.clone().into();
    host.respond(1, &body);
    let head = host.session.head();
    let text = "Mittag in Zürich";
    let result = |bytes_in: usize, bytes_out: usize| Input::ToolResult {
        call: CallSeq(1),
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(ToolEnvelope::new(EnvelopeFields {
            bytes_in: bytes_in as u64,
            bytes_out: bytes_out as u64,
            changes: FileChanges::default(),
            content: vec![ContentBlock::Text(text.to_owned())],
            duration_ms: 1,
            error: None,
            full: None,
            started_at_ms: 5,
            status: EnvelopeStatus::Ok,
            tokens: 0,
            tool: "a__time".to_owned(),
            tool_call_id: "c0".to_owned(),
        })),
    };
    let wrong = |member, given: usize, text: &str| SessionError::WrongSize {
        call: CallSeq(1),
        expected: text.len() as u64,
        given: given as u64,
        member,
    };
    let characters = arguments.chars().count();
    let refused = host.session.handle(5, result(characters, text.len()));
    assert_eq!(refused, Err(wrong("bytes_in", characters, &arguments)));
    let characters = text.chars().count();
    let refused = host.session.handle(5, result(arguments.len(), characters));
    assert_eq!(refused, Err(wrong("bytes_out", characters, text)));
    assert_eq!(host.session.head(), head, "nothing was recorded");
    host.hand_in(result(arguments.len(), text.len()));
    let run = host.session.run().unwrap();
    assert_eq!(run.conversation().last().unwrap().content, text);
}

#[test]
fn an_entry_that_was_never_handed_out_is_not_durable() {
    let contract = contract(&[]);
    let mut session = Host::new(&contract, Arc::new(NoSecrets)).session;
    let refused = |seq| Err(SessionError::NoSuchEntry { seq });
    assert_eq!(session.handle(0, Input::Durable(0)), refused(0));
    session.handle(0, started(&contract)).unwrap();
    assert!(matches!(session.poll(), Some(Output::Append(_))));
    assert_eq!(session.handle(0, Input::Durable(100)), refused(100));
    assert_eq!(session.poll(), None, "entry 0 is still awaited");
    session.handle(0, Input::Durable(0)).unwrap();
    assert!(matches!(session.poll(), Some(Output::Probe { .. })));
}

/// A new host has not received the question of the last one, suspended or lost.
#[test]
fn a_question_that_waits_is_asked_again_once_the_run_is_resumed() {
    let asking = contract(&["require_approval=[clock]"]);
    for suspends in [false, true] {
        let mut host = Host::asking(&asking, Arc::new(NoSecrets));
        let outputs = host.respond(1, &call(&["clock"]));
        let is_question = |output: &&Output| matches!(output, Output::Ask(_));
        let asked = outputs.iter().find(is_question).cloned();
        assert!(asked.is_some(), "{outputs:?}");
        if suspends {
            host.hand_in(Input::Control(Control::Suspend));
        }
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
        let mut again = outputs.iter().filter(is_question);
        assert_eq!(again.next(), asked.as_ref(), "{outputs:?}");
        assert_eq!(again.next(), None, "once");
    }
}

/// A scrubber that cannot read what the model server sends.
#[derive(Debug)]
struct Panics;

impl Scrubber for Panics {
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        NoSecrets.text(text)
    }

    fn bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        assert!(!bytes.windows(5).any(|word| word == b"panic"), "a bug");
        Cow::Borrowed(bytes)
    }

    fn cut_text(&self, text: &str) -> String {
        text.to_owned()
    }

    fn cut_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        self.bytes(bytes)
    }

    fn without_known<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        NoSecrets.without_known(bytes)
    }

    fn marker(&self, secret: &[u8]) -> String {
        NoSecrets.marker(secret)
    }

    fn name_of_dropped(&self, bytes: &[u8]) -> Digest {
        Digest::of(bytes)
    }

    fn settled(&self, text: &str) -> usize {
        text.len()
    }
}

#[test]
fn a_response_whose_reading_panics_is_one_failed_attempt() {
    let mut host = Host::asking(&contract(&["tool_policy=optional"]), Arc::new(Panics));
    let say = |text: &str| chat(&json!({"role": "assistant", "content": text}), "stop");
    let outputs = host.respond(1, &say("panic"));
    let EventKind::InferenceFailed(failed) = last_event(&host) else {
        panic!("the attempt failed");
    };
    assert_eq!(failed.fault.class, ProviderFaultClass::InvalidResponse);
    assert_eq!(failed.fault.raw_hash, None, "nothing of it is kept");
    assert_eq!(sent(&outputs), [0; 0], "the target is on hold");
    assert_eq!(sent(&host.fire()), [2], "the run continues");
    host.respond(2, &say("It is noon."));
    assert_eq!(host.state(), State::Terminate);
}

/// An input of every kind, right or wrong for where the run is.
fn input() -> impl Strategy<Value = Input> {
    let inference = || (1..4_u64).prop_map(InferenceSeq);
    let bodies = prop_oneof![
        Just(call(&["a__time"]).to_string()),
        Just(call(&["clock", "nonsense"]).to_string()),
        Just(chat(&json!({"role": "assistant", "content": "Noon."}), "stop").to_string()),
        Just(stream("It is noon.")),
        Just("{\"choices\": [".to_owned()),
        ".{0,20}",
    ];
    let bodies = bodies.prop_map(String::into_bytes).boxed();
    let status = prop_oneof![Just(200_u16), Just(429), Just(500)];
    let meta = status.prop_map(|status| ResponseMeta {
        status,
        ..ResponseMeta::default()
    });
    let whole = (inference(), meta.clone(), bodies.clone());
    let piece = (inference(), bodies, 0..40_usize);
    let outcome = prop_oneof![
        Just(ToolOutcome::TimedOut),
        Just(ToolOutcome::Cancelled),
        Just(ToolOutcome::ToolChanged {
            detail: "description".to_owned()
        }),
        Just(ToolOutcome::RestartInProgress),
    ];
    let control = prop_oneof![
        4 => Just(Control::Stop),
        1 => Just(Control::Abort),
        2 => Just(Control::Suspend),
    ];
    let fault = ProviderFault::new(ProviderFaultClass::Network, "reset");
    let whole_text = "It is noon. ".repeat(40);
    let full = Digest::of(whole_text.as_bytes());
    prop_oneof![
        1 => Just(started(&contract(&SUMMARY))),
        2 => Just(probed()),
        6 => whole.prop_map(|(inference, meta, bytes)| Input::Response { bytes, inference, meta }),
        3 => (inference(), meta).prop_map(|(inference, meta)| Input::ResponseBegan { inference, meta }),
        3 => piece.prop_map(|(inference, bytes, cut)| Input::ResponseBytes {
            bytes: bytes[..cut.min(bytes.len())].to_vec(),
            inference,
        }),
        2 => inference().prop_map(|inference| Input::ResponseEnded { inference }),
        2 => inference().prop_map(move |inference| Input::Fault { fault: fault.clone(), inference }),
        4 => (1..4_u64, outcome)
            .prop_map(|(call, outcome)| Input::ToolResult { call: CallSeq(call), exchanges: Vec::new(), outcome }),
        2 => Just(long_result(full, &whole_text)),
        2 => Just(Input::Blob { bytes: whole_text.clone().into_bytes(), hash: full }),
        1 => Just(Input::Blob { bytes: b"another".to_vec(), hash: full }),
        2 => Just(Input::Timer),
        1 => control.prop_map(Input::Control),
        1 => Just(Input::Resumed { addresses: Vec::new(), bring_up: Vec::new(), confinement: Vec::new(), tool_servers: Vec::new(), tools_changed: vec!["a__time".to_owned()], unix_ms: 0 }),
        1 => inference().prop_map(|inference| Input::Lost(LostEffect::Inference(inference))),
        1 => (0..9_u64).prop_map(Input::Durable),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever a host hands in: no panic, entries without a gap and chained, nothing between an append and its `Durable`, a refused
    /// input changes nothing, nothing after `Done`, and the events alone give the same entries.
    #[test]
    fn no_sequence_of_inputs_breaks_a_session(
        inputs in prop::collection::vec((0..900_000_u64, input()), 0..24),
    ) {
        let contract = contract(&SUMMARY);
        let mut session = Host::new(&contract, Arc::new(NoSecrets)).session;
        let first = [(0, started(&contract)), (0, probed())];
        let (mut at_ms, mut drafts, mut sealed, mut done) = (0, Vec::new(), Vec::new(), false);
        for (after_ms, input) in first.into_iter().chain(inputs) {
            at_ms += after_ms;
            let before = session.head();
            if session.handle(at_ms, input).is_err() {
                prop_assert_eq!(session.head(), before);
            }
            while let Some(output) = session.poll() {
                prop_assert!(!done, "after the end: {output:?}");
                match output {
                    Output::Append(append) => {
                        prop_assert_eq!(session.poll(), None);
                        let last = append.entries.last().expect("an entry").seq;
                        drafts.extend(append.drafts);
                        sealed.extend(append.entries);
                        session.handle(at_ms, Input::Durable(last)).expect("durable");
                    }
                    Output::Done(_) => done = true,
                    _ => {}
                }
            }
        }
        let seqs: Vec<u64> = sealed.iter().map(|entry| entry.seq).collect();
        prop_assert_eq!(seqs, (0..sealed.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(session.head(), sealed.last().map(|entry| entry.hash));
        let run_id = RunId::try_from("r1".to_owned()).expect("an id");
        let mut chain = Chain::genesis(contract.contract_hash(), &run_id);
        let mut fold = Fold::new(contract);
        let mut again = Vec::new();
        for event in drafts.into_iter().filter_map(|draft| draft.event) {
            for effect in fold.take(event) {
                if let crate::kernel::Effect::Append(entries) = effect {
                    again.extend(entries.iter().map(|draft| chain.seal(draft)));
                }
            }
        }
        prop_assert_eq!(again, sealed);
    }
}
