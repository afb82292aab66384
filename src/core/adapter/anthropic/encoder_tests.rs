//! Requests of this protocol.

use std::sync::Arc;

use serde_json::{Value, json};

use super::VERSION;
use crate::adapter::Adapter;
use crate::adapter::fixture::{body, conversation, encode, message, terms_of, text_message};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

fn terms(sampling: &Value) -> crate::contract::Terms {
    terms_of(VERSION, sampling)
}

#[test]
fn a_body_is_these_bytes() {
    let expect = concat!(
        r#"{"model":"m","system":[{"type":"text","text":"Be \"brief\".","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"Grüße\n"}]},"#,
        r#"{"role":"assistant","content":["#,
        r#"{"type":"tool_use","id":"a","name":"read","input":{ "path": "x\u0000", "n": 1.0e2 }},"#,
        r#"{"type":"tool_use","id":"b","name":"read","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"},"#,
        r#"{"type":"tool_result","tool_use_id":"b","content":"no","cache_control":{"type":"ephemeral"}}]}],"#,
        r#""tools":[{"name":"read","description":"does read","#,
        r#""input_schema":{"type":"object","properties":{"path":{"type":"string"}},"a":1}},"#,
        r#"{"name":"write","description":"does write","input_schema":{"type":"object","properties":{}}}],"#,
        r#""tool_choice":{"type":"auto","disable_parallel_tool_use":true},"#,
        r#""max_tokens":4096,"temperature":0.7,"stream":false}"#,
    );
    let mut talk = conversation();
    talk.pop();
    talk.push(Arc::new(AgentMessage::observation("b", "no", 1)));
    // An answer without a word is no turn.
    talk.push(text_message(Role::Assistant, " "));
    let got = encode(&terms(&json!({"top_p": 1.0})), &talk, ToolExposure::Auto);
    assert_eq!(got, expect);
}

#[test]
fn tools_are_offered_as_the_shape_requires() {
    let check = |talk: &[Arc<AgentMessage>], exposure, expect: Value| {
        let got = body(&terms(&json!({})), talk, exposure);
        assert_eq!(got["tool_choice"], expect);
        assert_eq!(got["tools"].is_null(), expect.is_null());
    };
    let fresh = [text_message(Role::User, "x")];
    check(&fresh, ToolExposure::Withheld, Value::Null);
    // The protocol takes a conversation with calls only beside tools.
    check(
        &conversation(),
        ToolExposure::Withheld,
        json!({"type": "none"}),
    );
    check(
        &fresh,
        ToolExposure::Forced,
        json!({"type": "any", "disable_parallel_tool_use": true}),
    );
}

#[test]
fn parameters_are_sent_as_the_protocol_takes_them() {
    let check = |sampling: Value, exposure, expect: Value| {
        let mut got = body(
            &terms(&sampling),
            &[text_message(Role::User, "x")],
            exposure,
        );
        let map = got.as_object_mut().unwrap();
        for key in ["model", "messages", "tools", "tool_choice", "stream"] {
            map.remove(key);
        }
        assert_eq!(got, expect, "{sampling}");
    };
    let auto = ToolExposure::Auto;
    check(
        json!({"temperature": 2.0, "top_p": 0.5}),
        auto,
        json!({"max_tokens": 4096, "temperature": 1.0, "top_p": 0.5}),
    );
    let thinking = |tokens: u64| {
        json!({
            "max_tokens": 4096,
            "thinking": {"type": "enabled", "budget_tokens": tokens},
        })
    };
    check(json!({"reasoning": "medium"}), auto, thinking(2048));
    check(json!({"reasoning": "minimal"}), auto, thinking(1024));
    check(json!({"reasoning_tokens": 9999}), auto, thinking(4095));
    let plain = json!({"max_tokens": 4096, "temperature": 0.7});
    check(
        json!({"reasoning": "high"}),
        ToolExposure::Forced,
        plain.clone(),
    );
    check(json!({"reasoning_tokens": 0}), auto, plain);
    check(
        json!({"reasoning": "high", "max_output_tokens": 1000, "temperature": null}),
        auto,
        json!({"max_tokens": 1000}),
    );
    let uncached = encode(&terms(&json!({"caching": "none"})), &conversation(), auto);
    assert!(!uncached.contains("cache_control"), "{uncached}");
}

/// The parts of a response go out again in their positions, to their own model and to no other.
#[test]
fn signed_reasoning_goes_back_to_its_own_model_only() {
    let response = r#"{"type":"message","model":"m-2026","content":[{"type":"thinking","thinking":"why","signature":"s1"},{"type":"text","text":"hi"},{"type":"redacted_thinking","data":"xx"},{"type":"tool_use","id":"t1","name":"read","input":{"a":1}}],"stop_reason":"tool_use"}"#;
    let reply = Arc::new(message(VERSION, response));
    let talk = [text_message(Role::User, "x"), Arc::clone(&reply)];
    let own = body(&terms(&json!({})), &talk, ToolExposure::Auto);
    let came: Value = serde_json::from_str(response).unwrap();
    assert_eq!(own["messages"][1]["content"], came["content"]);
    let without = json!([came["content"][1], came["content"][3]]);
    let other = |change: fn(&mut Value)| {
        let terms = crate::adapter::fixture::terms(|v| {
            v["targets"][0]["adapter_version"] = json!(VERSION);
            v["targets"][0]["model"] = json!("m");
            change(v);
        });
        let got = body(&terms, &talk, ToolExposure::Auto);
        assert_eq!(got["messages"][1]["content"], without);
    };
    other(|v| v["targets"][0]["model"] = json!("n"));
    // Another provider serves a model of that name: the message does not name its provider.
    other(|v| {
        v["providers"]["q"] = v["providers"]["p"].clone();
        let mut second = v["targets"][0].clone();
        second["provider"] = json!("q");
        v["targets"].as_array_mut().unwrap().push(second);
    });
    for version in [
        "openai-chat/1",
        "openai-responses/1",
        "google-gemini/1",
        "ollama-chat/1",
    ] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        for secret in ["why", "s1", "xx"] {
            assert!(
                !sent.contains(&format!("\"{secret}\"")),
                "{version}: {sent}"
            );
        }
    }
    // A message whose text was changed since, such as one that was held back, has lost its places.
    let mut changed = (*reply).clone();
    changed.content.push('!');
    let talk = [text_message(Role::User, "x"), Arc::new(changed)];
    let sent = encode(&terms(&json!({})), &talk, ToolExposure::Auto);
    assert!(!sent.contains("s1"), "{sent}");
}

#[test]
fn an_id_of_another_provider_is_made_one_of_this() {
    let mut talk = conversation();
    let mut call = (*talk[2]).clone();
    call.tool_calls[0].id = "functions.read:0".to_owned();
    talk[2] = Arc::new(call);
    talk[3] = Arc::new(AgentMessage::observation("functions.read:0", "ok", 1));
    let got = body(&terms(&json!({})), &talk, ToolExposure::Auto);
    assert_eq!(got["messages"][1]["content"][0]["id"], "functions_read_0");
    assert_eq!(
        got["messages"][2]["content"][0]["tool_use_id"],
        "functions_read_0"
    );
}

#[test]
fn requests_go_where_the_protocol_has_them() {
    let terms = terms(&json!({}));
    let adapter = Adapter::of_target(&terms, 0).unwrap();
    assert_eq!(adapter.path(&terms.targets[0]), "messages");
    assert_eq!(adapter.key_header().name, "x-api-key");
    assert_eq!(adapter.key_header().prefix, "");
    assert_eq!(adapter.headers(), [("anthropic-version", "2023-06-01")]);
}
