//! State of a provider in the next requests: in its places to its own target, and to no other.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fixture::{body, encode, events, message, terms_of, text_message};
use super::{RequestEncoder, RequestShape};
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

pub(super) const CHAT: &str = "openai-chat/1";
pub(super) const CLAUDE: &str = "anthropic-messages/1";
pub(super) const GEMINI: &str = "google-gemini/1";
pub(super) const OLLAMA: &str = "ollama-chat/1";
pub(super) const RESPONSES: &str = "openai-responses/1";

const CALL: &str = r#"{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig-1"}}}"#;

pub(super) fn chat(message: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#)
}

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

fn ended(deltas: &[&str]) -> String {
    let mut all: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    all.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned());
    events(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(super) fn asked(said: AgentMessage) -> Vec<Arc<AgentMessage>> {
    vec![text_message(Role::User, "x"), Arc::new(said)]
}

/// Terms of the model `model`.
pub(super) fn terms(version: &str, model: &str, sampling: &Value) -> Terms {
    let mut terms = terms_of(version, sampling);
    model.clone_into(&mut terms.targets[0].model);
    terms
}

pub(super) fn sent(version: &str, model: &str, talk: &[Arc<AgentMessage>]) -> Value {
    body(&terms(version, model, &json!({})), talk, ToolExposure::Auto)
}

#[test]
fn unknown_members_of_a_chat_message_and_its_calls_go_back_as_they_came() {
    let whole = format!(
        r#"{{"role":"assistant","content":"hi","refusal":null,"annotations":[],"reasoning_content":"think","phase":"commentary","reasoning_details":[{{"type":"reasoning.text","text":"ab","index":0}},{{"type":"reasoning.encrypted","data":"xx","index":1}}],"z":{{ "b":1.0, "a":1e3 }},"tool_calls":[{CALL}]}}"#
    );
    let stream = ended(&[
        r#"{"role":"assistant","content":null,"reasoning_content":"th","phase":"commentary","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}"#,
        r#"{"reasoning_content":"ink","phase":"commentary","z":{ "b":1.0, "a":1e3 },"reasoning_details":[{"type":"reasoning.text","text":"b","index":0},{"type":"reasoning.encrypted","data":"xx","index":1}]}"#,
        r#"{"content":"hi","reasoning_content":null}"#,
        &format!(r#"{{"tool_calls":[{CALL}]}}"#),
    ]);
    for received in [chat(&whole), stream] {
        let got = sent(CHAT, "m", &asked(message(CHAT, &received)));
        let back = &got["messages"][1];
        assert_eq!(back["reasoning_content"], "think");
        assert_eq!(back["phase"], "commentary");
        assert_eq!(back["z"], json!({"a": 1e3, "b": 1.0}));
        let details = json!([{"type": "reasoning.text", "text": "ab", "index": 0}, {"type": "reasoning.encrypted", "data": "xx", "index": 1}]);
        assert_eq!(back["reasoning_details"], details);
        let signed = json!({"google": {"thought_signature": "sig-1"}});
        assert_eq!(back["tool_calls"][0]["extra_content"], signed);
        assert!(back["tool_calls"][0].get("index").is_none());
        for own in ["refusal", "annotations"] {
            assert!(back.get(own).is_none(), "{own}");
        }
        assert_eq!(back["content"], "hi");
    }
    // The bytes are those that came.
    let terms = terms_of(CHAT, &json!({}));
    let bytes = encode(
        &terms,
        &asked(message(CHAT, &chat(&whole))),
        ToolExposure::Auto,
    );
    assert!(bytes.contains(r#""z":{ "b":1.0, "a":1e3 }"#), "{bytes}");
}

#[test]
fn state_with_half_a_character_is_valid_for_every_parser() {
    let said = format!(
        r#"{{"content":"hi","reasoning_content":"a\ud83d","z":"\ud83d\ude00","tool_calls":[{CALL}]}}"#
    );
    let terms = terms_of(CHAT, &json!({}));
    let talk = asked(message(CHAT, &chat(&said)));
    let bytes = encode(&terms, &talk, ToolExposure::Auto);
    assert!(
        bytes.contains(r#""reasoning_content":"a\ufffd""#),
        "{bytes}"
    );
    assert!(bytes.contains(r#""z":"\ud83d\ude00""#), "{bytes}");
}

#[test]
fn state_goes_to_no_other_provider_model_or_adapter() {
    let said = format!(r#"{{"content":"hi","reasoning_content":"th","tool_calls":[{CALL}]}}"#);
    let talk = asked(message(CHAT, &chat(&said)));
    let mut other = terms_of(CHAT, &json!({}));
    let provider = other.providers.remove("p").unwrap();
    other.providers.insert("q".to_owned(), provider);
    "q".clone_into(&mut other.targets[0].provider);
    for terms in [
        other,
        terms(CHAT, "n", &json!({})),
        terms_of("openrouter-chat/1", &json!({})),
        terms_of(CLAUDE, &json!({})),
        terms_of(GEMINI, &json!({})),
        terms_of(OLLAMA, &json!({})),
        terms_of(RESPONSES, &json!({})),
    ] {
        let sent = encode(&terms, &talk, ToolExposure::Auto);
        for own in ["reasoning_content", "sig-1", "\"th\""] {
            assert!(!sent.contains(own), "{own}: {sent}");
        }
    }
}

#[test]
fn a_state_that_its_target_refuses_is_left_out_of_every_message() {
    let said =
        format!(r#"{{"content":"hi","reasoning_content":"th","phase":"x","tool_calls":[{CALL}]}}"#);
    let talk = asked(message(CHAT, &chat(&said)));
    let mut encoder = RequestEncoder::new(&terms_of(CHAT, &json!({})), 0).unwrap();
    let mut with = |without_state: bool| {
        let shape = RequestShape {
            closing: false,
            xml: None,
            notices: &[],
            tools: ToolExposure::Auto,
            without_state,
        };
        let bytes = encoder.encode(&talk, &shape).to_vec();
        serde_json::from_slice::<Value>(&bytes).unwrap()["messages"][1].clone()
    };
    assert_eq!(with(false)["reasoning_content"], "th");
    let back = with(true);
    assert!(back.get("reasoning_content").is_none(), "{back}");
    assert!(
        back["tool_calls"][0].get("extra_content").is_none(),
        "{back}"
    );
    assert!(back.get("phase").is_none(), "{back}");
    assert_eq!(with(false)["reasoning_content"], "th");
}

#[test]
fn thinking_parts_of_a_content_stay_in_their_places() {
    let parts = r#"[{"type":"thinking","thinking":[{"type":"text","text":"why"}]},{"type":"text","text":"hi"}]"#;
    let whole = chat(&format!(r#"{{"content":{parts}}}"#));
    let stream = ended(&[
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"wh"}]}]}"#,
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"y"}]}]}"#,
        r#"{"content":"h"}"#,
        r#"{"content":"i"}"#,
    ]);
    let parts: Value = serde_json::from_str(parts).unwrap();
    for received in [whole, stream] {
        let mut said = message(CHAT, &received);
        "mistral-x".clone_into(&mut said.state.as_mut().unwrap().target.model);
        let talk = asked(said);
        assert_eq!(
            sent(CHAT, "mistral-x", &talk)["messages"][1]["content"],
            parts
        );
        assert_eq!(sent(CHAT, "m", &talk)["messages"][1]["content"], "hi");
    }
}

#[test]
fn gemini_gets_its_signatures_and_ids_back_on_every_kind_of_part() {
    let parts = r#"[{"text":"why","thought":true,"thoughtSignature":"s0"},{"text":"a","thoughtSignature":"s1"},{"functionCall":{"id":"call_1","name":"read","args":{}},"thoughtSignature":"s2"},{"functionCall":{"id":"g9","name":"read","args":{}}},{"text":"","thoughtSignature":"s3"}]"#;
    let whole =
        format!(r#"{{"candidates":[{{"content":{{"parts":{parts}}},"finishReason":"STOP"}}]}}"#);
    let came: Value = serde_json::from_str(parts).unwrap();
    let chunks: Vec<String> = came
        .as_array()
        .unwrap()
        .iter()
        .map(|part| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}}}}]}}"#))
        .chain([r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#.to_owned()])
        .collect();
    let stream = events(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    for received in [whole, stream] {
        let mut talk = asked(message(GEMINI, &received));
        talk.push(Arc::new(AgentMessage::observation("call_1", "ok", 1)));
        let got = sent(GEMINI, "m", &talk);
        assert_eq!(got["contents"][1]["parts"], came);
        let answer = &got["contents"][2]["parts"][0]["functionResponse"];
        assert_eq!(answer["id"], "call_1");
    }
    // A call without an id gets one of ours, which no request shows.
    let plain = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}"#;
    let mut talk = asked(message(GEMINI, plain));
    talk.push(Arc::new(AgentMessage::observation("call_1", "ok", 1)));
    let got = sent(GEMINI, "m", &talk).to_string();
    assert!(!got.contains("call_1"), "{got}");
    // A signature alone is one of an empty text.
    let alone = r#"{"candidates":[{"content":{"parts":[{"text":"a"},{"thoughtSignature":"s"}]},"finishReason":"STOP"}]}"#;
    let got = sent(GEMINI, "m", &asked(message(GEMINI, alone)));
    let expect = json!([{"text": "a"}, {"text": "", "thoughtSignature": "s"}]);
    assert_eq!(got["contents"][1]["parts"], expect);
}

#[test]
fn phases_and_ids_of_items_go_back_and_commentary_is_no_answer() {
    let item = |phase: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"msg_{phase}","status":"completed","role":"assistant","phase":"{phase}","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
        )
    };
    let thought = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"xx"}"#;
    let call = r#"{"type":"function_call","id":"fc","status":"completed","call_id":"c","name":"read","arguments":"{}"}"#;
    let whole =
        |items: &[&str]| format!(r#"{{"status":"completed","output":[{}]}}"#, items.join(","));
    let stream = |items: &[&str]| {
        let done = items.iter().enumerate().map(|(at, item)| {
            format!(r#"{{"type":"response.output_item.done","output_index":{at},"item":{item}}}"#)
        });
        let end = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
        let all: Vec<String> = done.chain([end.to_owned()]).collect();
        events(&all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (aside, answer) = (
        item("commentary", "Let me see."),
        item("final_answer", "MIT."),
    );
    let finished = [thought, &aside, &answer];
    let calling = [thought, &aside, call];
    for form in [&whole as &dyn Fn(&[&str]) -> String, &stream] {
        let said = message(RESPONSES, &form(&finished));
        assert_eq!(said.content, "MIT.");
        assert_eq!(said.reasoning.as_deref(), Some("Let me see."));
        let came: Vec<Value> = finished
            .iter()
            .map(|item| serde_json::from_str(item).unwrap())
            .collect();
        let got = sent(RESPONSES, "m", &asked(said));
        assert_eq!(got["input"].as_array().unwrap()[1..], came);
        let said = message(RESPONSES, &form(&calling));
        assert_eq!(said.content, "Let me see.", "beside calls it is text");
        let came: Vec<Value> = calling
            .iter()
            .map(|item| serde_json::from_str(item).unwrap())
            .collect();
        let got = sent(RESPONSES, "m", &asked(said));
        assert_eq!(got["input"].as_array().unwrap()[1..], came);
    }
    // Without its reasoning an id would name what the provider did not store.
    let plain = thought.replace(r#","encrypted_content":"xx""#, "");
    let got = sent(
        RESPONSES,
        "m",
        &asked(message(RESPONSES, &whole(&[&plain, call]))),
    );
    assert_eq!(got["input"].as_array().unwrap().len(), 2);
    assert!(got["input"][1].get("id").is_none());
}

#[test]
fn ollama_gets_its_thinking_back() {
    let line = |message: &str, done: bool| {
        format!(r#"{{"model":"m","message":{message},"done":{done},"done_reason":"stop"}}"#)
    };
    let whole = line(
        r#"{"role":"assistant","content":"hi","thinking":"why"}"#,
        true,
    );
    let stream = [
        line(
            r#"{"role":"assistant","content":"","thinking":"wh"}"#,
            false,
        ),
        line(r#"{"role":"assistant","content":"","thinking":"y"}"#, false),
        line(r#"{"role":"assistant","content":"hi"}"#, true),
    ];
    for received in [whole, stream.join("\n")] {
        let got = sent(OLLAMA, "m", &asked(message(OLLAMA, &received)));
        assert_eq!(got["messages"][1]["thinking"], "why");
    }
}

#[test]
fn members_of_the_message_go_back_under_a_text_profile() {
    let version = "openai-chat+hermes/1";
    let said = message(
        version,
        &chat(r#"{"content":"hi","reasoning_content":"th"}"#),
    );
    let got = sent(version, "m", &asked(said));
    let messages = got["messages"].as_array().unwrap();
    let back = messages
        .iter()
        .find(|message| message["role"] == "assistant");
    assert_eq!(back.unwrap()["reasoning_content"], "th");
}
