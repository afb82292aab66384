//! Thinking that is released while it arrives: before the text, behind the gate, and without secrets.

use super::*;

/// A stream that thinks and then answers, a token a line.
fn stream_of(thought: &str, answer: &str) -> String {
    let token = |token: &str| {
        let delta = json!({"choices": [{"index": 0, "delta": {"reasoning_content": token}}]});
        format!("data: {delta}\n\n")
    };
    let thought: String = thought.split_inclusive(' ').map(token).collect();
    format!("{thought}{}", stream(answer))
}

/// Hands in that stream in small pieces. Returns the released pieces, with true for thinking.
fn released(host: &mut Host, body: &str) -> Vec<(bool, String)> {
    let inference = InferenceSeq(1);
    host.hand_in(Input::ResponseBegan {
        inference,
        meta: ok(),
    });
    let mut released = Vec::new();
    for bytes in body.as_bytes().chunks(7) {
        let bytes = bytes.to_vec();
        for output in host.hand_in(Input::ResponseBytes { bytes, inference }) {
            match output {
                Output::Thinking { text, .. } => released.push((true, text)),
                Output::Delta { text, .. } => released.push((false, text)),
                _ => {}
            }
        }
    }
    released
}

fn text_of_kind(released: &[(bool, String)], thinks: bool) -> String {
    let of_kind = released.iter().filter(|(is, _)| *is == thinks);
    of_kind.map(|(_, text)| text.as_str()).collect()
}

/// 001/1.reasoning.2
#[test]
fn thinking_is_released_as_it_arrives_and_before_the_text() {
    let contract = contract(&["tool_policy=optional"]);
    let mut host = Host::asking(&contract, Arc::new(NoSecrets));
    let released = released(&mut host, &stream_of("Let me see.", "It is noon."));
    assert_eq!(released[0], (true, "Let ".to_owned()));
    assert_eq!(text_of_kind(&released, true), "Let me see.");
    assert_eq!(text_of_kind(&released, false), "It is noon.");
    assert!(released.is_sorted_by_key(|(thinks, _)| !thinks));
}

#[test]
fn what_the_gate_holds_back_is_not_thought_aloud() {
    let closed = contract(&[]);
    let thinks = |message: Value, finish: &str| {
        let mut host = Host::asking(&closed, Arc::new(NoSecrets));
        host.respond(1, &chat(&message, finish));
        let outputs = host.outputs.iter();
        let thinking = outputs.filter(|output| matches!(output, Output::Thinking { .. }));
        thinking.count()
    };
    let mut message =
        json!({"role": "assistant", "content": "Noon.", "reasoning_content": "Let me see."});
    assert_eq!(thinks(message.clone(), "stop"), 0);
    let called = call(&["a__time"]);
    message["tool_calls"] = called["choices"][0]["message"]["tool_calls"].clone();
    assert_eq!(thinks(message, "tool_calls"), 1, "its call has opened it");
}

#[test]
fn no_piece_of_a_secret_is_thought_aloud() {
    let secret = "hunter2-very-secret";
    let run_id = RunId::try_from("r1".to_owned()).unwrap();
    let salt = RedactionKey::new([7; 32]).salt(&run_id);
    let secrets = Arc::new(KnownSecrets::of([secret], &RedactionTerms::default()));
    let redactor = Redactor::salted(secrets, salt);
    let contract = contract(&["tool_policy=optional"]);
    let thought = format!("It is {secret} they say");
    let mut host = Host::asking(&contract, Arc::new(redactor.clone()));
    let released = released(&mut host, &stream_of(&thought, "I see."));
    assert_eq!(text_of_kind(&released, true), redactor.text(&thought));
}
