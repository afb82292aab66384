//! Requests of this protocol.

use std::sync::Arc;

use serde_json::{Value, json};

use super::VERSION;
use crate::adapter::Adapter;
use crate::adapter::fixture::{body, conversation, encode, message, terms_of, text_message};
use crate::kernel::ToolExposure;
use crate::message::Role;

#[test]
fn a_body_is_these_bytes() {
    let expect = concat!(
        r#"{"model":"m","input":["#,
        r#"{"type":"message","role":"system","content":"Be \"brief\"."},"#,
        r#"{"type":"message","role":"user","content":"Grüße\n"},"#,
        r#"{"type":"function_call","call_id":"a","name":"read","arguments":"{ \"path\": \"x\\u0000\", \"n\": 1.0e2 }"},"#,
        r#"{"type":"function_call","call_id":"b","name":"read","arguments":"{}"},"#,
        r#"{"type":"function_call_output","call_id":"a","output":"ok"}],"#,
        r#""tools":[{"type":"function","name":"read","description":"does read","#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}},"a":1},"strict":false},"#,
        r#"{"type":"function","name":"write","description":"does write","parameters":{"type":"object","properties":{}},"strict":false}],"#,
        r#""parallel_tool_calls":false,"tool_choice":"required","#,
        r#""max_output_tokens":4096,"temperature":0.7,"include":["reasoning.encrypted_content"],"store":false,"stream":false}"#,
    );
    let got = encode(
        &terms_of(VERSION, &json!({})),
        &conversation(),
        ToolExposure::Forced,
    );
    assert_eq!(got, expect);
}

#[test]
fn reasoning_is_asked_for_and_goes_back_to_its_own_model_only() {
    let thinking = json!({"reasoning": "high", "top_p": 0.5});
    let item = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"xx"}"#;
    let response = format!(
        r#"{{"status":"completed","output":[{item},{{"type":"function_call","call_id":"c","name":"read","arguments":"{{}}"}},{{"type":"message","content":[{{"type":"output_text","text":"hi"}}]}}]}}"#
    );
    let talk = [
        text_message(Role::User, "x"),
        Arc::new(message(VERSION, &response)),
    ];
    let got = body(&terms_of(VERSION, &thinking), &talk, ToolExposure::Withheld);
    let items: Vec<Value> = got["input"].as_array().unwrap()[1..].to_vec();
    assert_eq!(items[0], serde_json::from_str::<Value>(item).unwrap());
    assert_eq!(items[1]["type"], "function_call");
    assert_eq!(items[2]["content"], "hi");
    assert_eq!(got["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(got["reasoning"], json!({"effort": "high"}));
    assert!(got["temperature"].is_null() && got["top_p"].is_null());
    for version in ["anthropic-messages/1", "google-gemini/1"] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        assert!(!sent.contains("xx"), "{version}: {sent}");
    }
}

#[test]
fn requests_go_where_the_protocol_has_them() {
    let terms = terms_of(VERSION, &json!({}));
    let adapter = Adapter::of_target(&terms, 0).unwrap();
    assert_eq!(adapter.path(&terms.targets[0]), "responses");
    assert_eq!(adapter.key_header().name, "authorization");
    assert_eq!(adapter.key_header().prefix, "Bearer ");
}
