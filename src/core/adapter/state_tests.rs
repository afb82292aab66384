//! What goes back to a target: its own state in its places, and another one's messages in a form that it takes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fixture::{body, encode, events, message, terms_of, text_message};
use super::{RequestEncoder, RequestShape};
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, ObjectText, Role, ToolInvocation};

const CHAT: &str = "openai-chat/1";
const CLAUDE: &str = "anthropic-messages/1";
const GEMINI: &str = "google-gemini/1";
const OLLAMA: &str = "ollama-chat/1";
const RESPONSES: &str = "openai-responses/1";

const CALL: &str = r#"{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"sig-1"}}}"#;

fn chat(message: &str) -> String {
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

fn asked(said: AgentMessage) -> Vec<Arc<AgentMessage>> {
    vec![text_message(Role::User, "x"), Arc::new(said)]
}

/// A message of another target with calls of these ids and names.
fn foreign(calls: &[(&str, &str)]) -> AgentMessage {
    let call = |(id, name): &(&str, &str)| ToolInvocation {
        arguments: ObjectText::empty(),
        fault: None,
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        raw_payload: None,
        source_model: "other".to_owned(),
    };
    AgentMessage {
        tool_calls: calls.iter().map(call).collect(),
        ..AgentMessage::text(Role::Assistant, "", 1)
    }
}

fn answered(calls: &[(&str, &str)]) -> Vec<Arc<AgentMessage>> {
    let mut talk = asked(foreign(calls));
    let results = calls
        .iter()
        .map(|(id, _)| AgentMessage::observation(*id, "ok", 1));
    talk.extend(results.map(Arc::new));
    talk
}

/// Terms of the model `model`.
fn terms(version: &str, model: &str, sampling: &Value) -> Terms {
    let mut terms = terms_of(version, sampling);
    model.clone_into(&mut terms.targets[0].model);
    terms
}

fn sent(version: &str, model: &str, talk: &[Arc<AgentMessage>]) -> Value {
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
fn a_refused_member_is_left_out_of_every_message_from_then_on() {
    let said =
        format!(r#"{{"content":"hi","reasoning_content":"th","phase":"x","tool_calls":[{CALL}]}}"#);
    let talk = asked(message(CHAT, &chat(&said)));
    let mut encoder = RequestEncoder::new(&terms_of(CHAT, &json!({})), 0).unwrap();
    let refused = ["reasoning_content".to_owned(), "extra_content".to_owned()];
    let mut with = |refused_members: &[String]| {
        let shape = RequestShape {
            closing: false,
            refused_members,
            xml: None,
            notices: &[],
            tools: ToolExposure::Auto,
        };
        let bytes = encoder.encode(&talk, &shape).to_vec();
        serde_json::from_slice::<Value>(&bytes).unwrap()["messages"][1].clone()
    };
    assert_eq!(with(&[])["reasoning_content"], "th");
    let back = with(&refused);
    assert!(back.get("reasoning_content").is_none(), "{back}");
    assert!(
        back["tool_calls"][0].get("extra_content").is_none(),
        "{back}"
    );
    assert_eq!(back["phase"], "x");
    assert_eq!(with(&[])["reasoning_content"], "th");
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
fn gemini_3_gets_the_documented_signature_for_calls_that_it_did_not_make() {
    let talk = answered(&[("a", "read"), ("b", "read")]);
    for (model, expect) in [
        ("gemini-3-pro-preview", true),
        ("gemini-flash-latest", true),
        ("gemini-2.5-pro", false),
    ] {
        let got = sent(GEMINI, model, &talk);
        let parts = &got["contents"][1]["parts"];
        let signature = &parts[0]["thoughtSignature"];
        assert_eq!(
            *signature == "skip_thought_signature_validator",
            expect,
            "{model}"
        );
        assert!(parts[1].get("thoughtSignature").is_none());
    }
    // Nor does its own protocol in OpenAI's form.
    let mut terms = terms(CHAT, "gemini-3-pro-preview", &json!({}));
    let address = "https://generativelanguage.googleapis.com/v1beta/openai";
    terms.providers.get_mut("p").unwrap().base_url = Some(address.to_owned());
    let got = body(&terms, &talk, ToolExposure::Auto);
    let calls = &got["messages"][1]["tool_calls"];
    let signed = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(calls[0]["extra_content"], signed);
    assert!(calls[1].get("extra_content").is_none());
}

#[test]
fn claude_thinks_only_in_a_loop_that_its_own_thinking_began() {
    let thinking = json!({"reasoning": "high"});
    let terms = terms_of(CLAUDE, &thinking);
    let thinks =
        |talk: &[Arc<AgentMessage>]| body(&terms, talk, ToolExposure::Auto)["thinking"].is_object();
    let own = |blocks: &str| {
        message(
            CLAUDE,
            &format!(r#"{{"type":"message","content":[{blocks}],"stop_reason":"tool_use"}}"#),
        )
    };
    let call = r#"{"type":"tool_use","id":"a","name":"read","input":{}}"#;
    let thought = r#"{"type":"thinking","thinking":"why","signature":"sig"}"#;
    let result = || Arc::new(AgentMessage::observation("a", "ok", 1));
    assert!(thinks(&[text_message(Role::User, "x")]));
    // Another model's calls, and its own under a forced call.
    let mut talk = answered(&[("a", "read")]);
    assert!(!thinks(&talk));
    talk.push(text_message(Role::User, "System notice: go on."));
    assert!(!thinks(&talk), "a notice belongs to the results");
    let mut forced = asked(own(call));
    forced.push(result());
    assert!(!thinks(&forced));
    let mut begun = asked(own(&format!("{thought},{call}")));
    begun.push(result());
    assert!(thinks(&begun));
    // A later call of the loop need not be thought about.
    begun.push(Arc::new(own(&call.replace("\"a\"", "\"b\""))));
    begun.push(Arc::new(AgentMessage::observation("b", "ok", 1)));
    assert!(thinks(&begun));
    // The next turn of the user begins a new loop.
    talk.push(text_message(Role::Assistant, "done"));
    talk.push(text_message(Role::User, "next"));
    assert!(thinks(&talk));
}

#[test]
fn ids_have_the_form_of_the_target_and_stay_apart() {
    let calls = [
        ("echo:0", "read"),
        ("echo.0", "read"),
        ("functions.read:12", "read"),
    ];
    let long = "x".repeat(65);
    let calls: Vec<(&str, &str)> = calls.into_iter().chain([(long.as_str(), "read")]).collect();
    let mut talk = answered(&calls);
    // The same ids once more: some servers count from 0 in every message.
    talk.extend(answered(&calls).into_iter().skip(1));
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let of_chat = |got: &Value| {
        let messages = got["messages"].as_array().unwrap().iter();
        let mut ids: [Vec<String>; 2] = Default::default();
        for message in messages {
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                ids[0].push(call["id"].as_str().unwrap().to_owned());
            }
            ids[1].extend(message["tool_call_id"].as_str().map(str::to_owned));
        }
        ids
    };
    let check = |[asked, answered]: [Vec<String>; 2], fits: &dyn Fn(&str) -> bool| {
        assert_eq!(asked, answered);
        assert_eq!(asked.len(), 8);
        let apart: std::collections::BTreeSet<&String> = asked.iter().collect();
        assert_eq!(apart.len(), 8, "{asked:?}");
        assert!(asked.iter().all(|id| fits(id)), "{asked:?}");
    };
    check(of_chat(&sent(CHAT, "mistral-large-latest", &talk)), &|id| {
        id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let kimi = of_chat(&sent(CHAT, "kimi-k2-thinking", &talk));
    assert_eq!(kimi[0][2], "functions.read:12", "its own form is kept");
    check(kimi, &|_| true);
    let mut openai = terms(CHAT, "gpt-5", &json!({}));
    openai.providers.get_mut("p").unwrap().base_url = Some("https://api.openai.com/v1".to_owned());
    check(of_chat(&body(&openai, &talk, ToolExposure::Auto)), &|id| {
        id.len() <= 40
    });
    let got = sent(CLAUDE, "m", &talk);
    let mut ids: [Vec<String>; 2] = Default::default();
    for message in got["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            ids[0].extend(block["id"].as_str().map(str::to_owned));
            ids[1].extend(block["tool_use_id"].as_str().map(str::to_owned));
        }
    }
    check(ids, &|id| id.len() <= 64 && id.chars().all(is_word));
    let got = sent(RESPONSES, "m", &talk);
    let mut ids: [Vec<String>; 2] = Default::default();
    for item in got["input"].as_array().unwrap() {
        let id = item["call_id"].as_str().map(str::to_owned);
        let at = usize::from(item["type"] == "function_call_output");
        ids[at].extend(id);
    }
    check(ids, &|id| id.len() <= 64 && id.chars().all(is_word));
}

#[test]
fn a_name_that_is_no_tools_is_sent_in_letters_that_every_provider_takes() {
    let talk = answered(&[
        ("a", "echo<|channel|>commentary"),
        ("b", "é"),
        ("c", "read"),
    ]);
    for version in [CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        assert!(
            !sent.contains("<|channel|>") && !sent.contains('é'),
            "{version}: {sent}"
        );
        assert!(
            sent.contains("\"echo__channel__commentary\""),
            "{version}: {sent}"
        );
        assert!(sent.contains("\"read\""), "{version}");
    }
}

#[test]
fn no_message_of_the_model_is_empty() {
    let thought = AgentMessage {
        reasoning: Some("why".to_owned()),
        ..AgentMessage::text(Role::Assistant, " ", 1)
    };
    let talk = [
        text_message(Role::User, "x"),
        Arc::new(thought),
        Arc::new(message(
            CHAT,
            &chat(r#"{"content":"","reasoning_content":"why"}"#),
        )),
        Arc::new(message(
            CLAUDE,
            r#"{"type":"message","content":[{"type":"thinking","thinking":"why","signature":"sig"}],"stop_reason":"end_turn"}"#,
        )),
        Arc::new(message(
            RESPONSES,
            r#"{"status":"completed","output":[{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"xx"}]}"#,
        )),
    ];
    for version in [CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        let model = [
            "\"assistant\"",
            "\"model\":[",
            "\"role\":\"model\"",
            "reasoning\"",
        ];
        assert!(
            !model.iter().any(|role| sent.contains(role)),
            "{version}: {sent}"
        );
    }
}

#[test]
fn a_server_that_wants_reasoning_beside_calls_gets_some() {
    let talk = answered(&[("a", "read")]);
    for model in ["deepseek-v4-pro", "kimi-k2-thinking"] {
        let got = sent(CHAT, model, &talk);
        assert_eq!(got["messages"][1]["reasoning_content"], " ", "{model}");
    }
    assert!(
        sent(CHAT, "m", &talk)["messages"][1]
            .get("reasoning_content")
            .is_none()
    );
}

#[test]
fn notices_are_joined_to_the_last_result_where_only_the_model_may_follow_it() {
    let notices = [AgentMessage::text(Role::User, "System \"notice\".", 1)];
    let mut talk = answered(&[("a", "read"), ("b", "read")]);
    let mut encoder = RequestEncoder::new(&terms(CHAT, "devstral-2", &json!({})), 0).unwrap();
    let mut with = |talk: &[Arc<AgentMessage>], notices: &[AgentMessage]| {
        let shape = RequestShape {
            closing: false,
            refused_members: &[],
            xml: None,
            notices,
            tools: ToolExposure::Auto,
        };
        let bytes = encoder.encode(talk, &shape);
        let whole = RequestEncoder::new(&terms(CHAT, "devstral-2", &json!({})), 0)
            .unwrap()
            .encode(talk, &shape);
        assert_eq!(
            bytes, whole,
            "an encoder that goes on writes the same bytes"
        );
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        let messages = value["messages"].as_array().unwrap().iter();
        let shown = messages.map(|m| format!("{}: {}", m["role"], m["content"]).replace('"', ""));
        shown.collect::<Vec<_>>()
    };
    let before = ["user: x", "assistant: null", "tool: ok"];
    let joined = "tool: ok\\n\\nSystem \\notice\\.";
    assert_eq!(with(&talk, &notices), [&before[..], &[joined]].concat());
    assert_eq!(with(&talk, &[]), [&before[..], &["tool: ok"]].concat());
    talk.push(text_message(Role::User, "last"));
    let last = ["tool: ok\\n\\nlast"];
    assert_eq!(with(&talk, &[]), [&before[..], &last].concat());
    talk.push(text_message(Role::Assistant, "done"));
    talk.push(text_message(Role::User, "next"));
    let rest = [
        "tool: ok\\n\\nlast",
        "assistant: done",
        "user: next",
        "user: System \\notice\\.",
    ];
    assert_eq!(with(&talk, &notices), [&before[..], &rest].concat());
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
