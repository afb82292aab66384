//! Requests: the bytes, and that a conversation is rendered once.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::adapter::fixture::{conversation, encode, terms, text_message};
use crate::adapter::{Adapter, AdapterError, RequestEncoder, RequestShape};
use crate::contract::Terms;
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, MAX_EXACT, Role};

#[test]
fn a_body_is_these_bytes() {
    let expect = concat!(
        r#"{"model":"gpt \"x\"","messages":["#,
        r#"{"role":"system","content":"Be \"brief\"."},"#,
        r#"{"role":"user","content":"Grüße\n"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"read","arguments":"{ \"path\": \"x\\u0000\", \"n\": 1.0e2 }"}},"#,
        r#"{"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"ok"}],"#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"does read","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"a":1}}},"#,
        r#"{"type":"function","function":{"name":"write","description":"does write","parameters":{"type":"object","properties":{}}}}],"#,
        r#""parallel_tool_calls":false,"tool_choice":"auto","#,
        r#""max_tokens":4096,"temperature":0.7,"seed":7,"stream":false}"#,
    );
    assert_eq!(
        encode(&terms(|_| ()), &conversation(), ToolExposure::Auto),
        expect
    );
}

/// The body's fields beside model and messages, as JSON.
fn fields(terms: &Terms, tools: ToolExposure) -> Value {
    let body = encode(terms, &[text_message(Role::User, "x")], tools);
    let mut value: Value = serde_json::from_str(&body).unwrap();
    let map = value.as_object_mut().unwrap();
    map.remove("model");
    map.remove("messages");
    if let Some(tools) = map.get_mut("tools") {
        let names: Vec<Value> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["function"]["name"].clone())
            .collect();
        *tools = names.into();
    }
    value
}

#[test]
fn tools_are_offered_as_the_shape_requires() {
    let check = |change: fn(&mut Value), tools: ToolExposure, expect: Value| {
        let mut got = fields(&terms(change), tools);
        let map = got.as_object_mut().unwrap();
        map.retain(|key, _| key.contains("tool"));
        assert_eq!(got, expect);
    };
    let both = json!(["read", "write"]);
    check(|_| (), ToolExposure::Withheld, json!({}));
    check(
        |_| (),
        ToolExposure::Forced,
        json!({"tools": both, "parallel_tool_calls": false, "tool_choice": "required"}),
    );
    check(
        |v| v["parallel_tool_calls"] = json!(true),
        ToolExposure::Auto,
        json!({"tools": both, "tool_choice": "auto"}),
    );
    check(
        |v| v["allowed_tools"] = json!(["write"]),
        ToolExposure::Auto,
        json!({"tools": ["write"], "parallel_tool_calls": false, "tool_choice": "auto"}),
    );
    check(
        |v| v["allowed_tools"] = json!([]),
        ToolExposure::Forced,
        json!({}),
    );
    check(
        |v| v["tool_policy"] = json!("forbidden"),
        ToolExposure::Auto,
        json!({}),
    );
}

#[test]
fn parameters_are_sent_where_the_provider_knows_them() {
    let check = |kind: &str, sampling: Value, expect: Value| {
        let terms = terms(|v| {
            v["providers"]["p"]["type"] = json!(kind);
            for (key, value) in sampling.as_object().unwrap() {
                v["targets"][0]["sampling"][key] = value.clone();
            }
        });
        assert_eq!(
            fields(&terms, ToolExposure::Withheld),
            expect,
            "{kind} {sampling}"
        );
    };
    let plain = json!({"max_tokens": 4096, "temperature": 0.7, "seed": 7, "stream": false});
    let with = |key: &str, value: Value| {
        let mut expect = plain.clone();
        expect[key] = value;
        expect
    };
    check("openai", json!({}), plain.clone());
    check(
        "openrouter",
        json!({}),
        with("repetition_penalty", json!(1.1)),
    );
    check("scripted", json!({}), with("repeat_penalty", json!(1.1)));
    check(
        "openai",
        json!({"reasoning": "low", "reasoning_tokens": 9}),
        with("reasoning_effort", json!("low")),
    );
    let quiet = json!({"repeat_penalty": null, "reasoning": "low"});
    check(
        "openrouter",
        quiet.clone(),
        with("reasoning", json!({"effort": "low"})),
    );
    let mut counted = quiet;
    counted["reasoning_tokens"] = json!(9);
    check(
        "openrouter",
        counted,
        with("reasoning", json!({"max_tokens": 9})),
    );
    check(
        "openai",
        json!({"temperature": null, "top_p": 0.5, "stream": true, "seed": MAX_EXACT}),
        json!({
            "max_tokens": 4096, "top_p": 0.5, "seed": MAX_EXACT, "stream": true,
            "stream_options": {"include_usage": true},
        }),
    );
}

#[test]
fn notices_follow_the_conversation_in_one_request_only() {
    let terms = terms(|_| ());
    let mut encoder = RequestEncoder::new(&terms, 0).unwrap();
    let notice = [AgentMessage::text(Role::User, "System notice: again.", 1)];
    let mut messages = |conversation: &[Arc<AgentMessage>],
                        notices: &[AgentMessage]|
     -> Vec<String> {
        let shape = RequestShape {
            closing: false,
            without_state: false,
            xml: None,
            notices,
            tools: ToolExposure::Auto,
        };
        let body: Value = serde_json::from_slice(&encoder.encode(conversation, &shape)).unwrap();
        let messages = body["messages"].as_array().unwrap();
        messages
            .iter()
            .map(|m| m["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let conversation = [
        text_message(Role::System, "s"),
        text_message(Role::User, "u"),
    ];
    assert_eq!(
        messages(&conversation, &notice),
        ["s", "u", "System notice: again."]
    );
    assert_eq!(messages(&conversation, &[]), ["s", "u"]);
    assert_eq!(messages(&[], &notice), ["System notice: again."]);
    assert_eq!(messages(&[], &[]), [""; 0]);
}

#[test]
fn no_adapter_is_an_error_by_name() {
    assert_eq!(
        Adapter::by_version("openai-chat/2")
            .unwrap_err()
            .to_string(),
        "unknown adapter version \"openai-chat/2\"; this build has anthropic-messages/1, bedrock-converse/1, google-gemini/1, \
         local-hermes/1, ollama-chat/1, openai-chat/1, openai-responses/1, openrouter-chat/1"
    );
    let adapter = Adapter::by_version("openai-chat/1").unwrap();
    assert_eq!(
        (adapter.version(), &*adapter.path(&terms(|_| ()).targets[0])),
        ("openai-chat/1", "chat/completions")
    );
    assert_eq!(Adapter::of_target(&terms(|_| ()), 0), Ok(adapter));
    assert_eq!(
        RequestEncoder::new(&terms(|_| ()), 1).unwrap_err(),
        AdapterError::UnknownTarget {
            index: 1,
            targets: 1
        }
    );
    let foreign = terms(|v| v["targets"][0]["adapter_version"] = json!("gemini/1"));
    assert!(matches!(
        RequestEncoder::new(&foreign, 0),
        Err(AdapterError::UnknownVersion { .. })
    ));
    let silent = terms(|v| v["targets"][0]["adapter_version"] = json!("bedrock-converse/1"));
    assert_eq!(
        RequestEncoder::new(&silent, 0).unwrap_err().to_string(),
        "adapter bedrock-converse/1 reads responses and writes no requests"
    );
}

proptest! {
    /// Whatever was encoded before, extended, cut back or replaced: the bytes are those of a fresh encoder.
    #[test]
    fn a_kept_encoder_gives_the_bytes_of_a_fresh_one(
        version in proptest::sample::select(&[
            "anthropic-messages/1", "google-gemini/1", "ollama-chat/1", "openai-chat/1", "openai-responses/1",
        ][..]),
        steps in proptest::collection::vec((0_usize..6, proptest::collection::vec("[ab\"]{0,3}", 0..4)), 1..8),
    ) {
        let terms = terms(|v| v["targets"][0]["adapter_version"] = json!(version));
        let mut kept = RequestEncoder::new(&terms, 0).unwrap();
        let mut talk: Vec<Arc<AgentMessage>> = Vec::new();
        for (keep, texts) in steps {
            talk.truncate(keep);
            talk.extend(texts.iter().map(|text| text_message(Role::User, text)));
            let shape = RequestShape { closing: false, without_state: false, xml: None, notices: &[], tools: ToolExposure::Auto };
            let got = String::from_utf8(kept.encode(&talk, &shape).to_vec()).unwrap();
            prop_assert_eq!(&got, &encode(&terms, &talk, ToolExposure::Auto));
            prop_assert!(serde_json::from_str::<Value>(&got).is_ok());
        }
    }
}
