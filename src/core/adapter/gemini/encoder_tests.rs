//! Requests of this protocol.

use std::sync::Arc;

use serde_json::{Value, json};

use super::VERSION;
use crate::adapter::Adapter;
use crate::adapter::fixture::{body, conversation, encode, message, terms_of, text_message};
use crate::kernel::ToolExposure;
use crate::message::{AgentMessage, Role};

#[test]
fn a_body_is_these_bytes() {
    let expect = concat!(
        r#"{"contents":[{"role":"user","parts":[{"text":"Grüße\n"}]},"#,
        r#"{"role":"model","parts":["#,
        r#"{"functionCall":{"name":"read","args":{ "path": "x\u0000", "n": 1.0e2 }}},"#,
        r#"{"functionCall":{"name":"read","args":{}}}]},"#,
        r#"{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"ok"}}},"#,
        r#"{"functionResponse":{"name":"read","response":{"output":"no"}}}]}],"#,
        r#""systemInstruction":{"parts":[{"text":"Be \"brief\"."}]},"#,
        r#""tools":[{"functionDeclarations":[{"name":"read","description":"does read","#,
        r#""parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}},"a":1}},"#,
        r#"{"name":"write","description":"does write","parametersJsonSchema":{"type":"object","properties":{}}}]}],"#,
        r#""toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"#,
        r#""generationConfig":{"maxOutputTokens":4096,"temperature":0.7,"seed":7}}"#,
    );
    let mut talk = conversation();
    talk.pop();
    talk.push(Arc::new(AgentMessage::observation("b", "no", 1)));
    let got = encode(&terms_of(VERSION, &json!({})), &talk, ToolExposure::Forced);
    assert_eq!(got, expect);
}

#[test]
fn parameters_are_sent_as_the_protocol_takes_them() {
    let check = |sampling: Value, expect: Value| {
        let terms = terms_of(VERSION, &sampling);
        let got = body(
            &terms,
            &[text_message(Role::User, "x")],
            ToolExposure::Withheld,
        );
        assert_eq!(got["generationConfig"], expect);
        assert!(got["tools"].is_null() && got["toolConfig"].is_null());
    };
    check(
        json!({"seed": 2_147_483_648_u64, "temperature": null, "top_p": 0.5}),
        json!({"maxOutputTokens": 4096, "topP": 0.5}),
    );
    check(
        json!({"reasoning": "low", "temperature": null}),
        json!({
            "maxOutputTokens": 4096, "seed": 7,
            "thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": true},
        }),
    );
}

#[test]
fn signatures_go_back_on_their_own_parts() {
    let response = r#"{"candidates":[{"content":{"parts":[{"text":"why","thought":true},{"text":"a"},{"text":"b","thoughtSignature":"s1"},{"functionCall":{"name":"read","args":{"a":1}},"thoughtSignature":"s2"},{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}"#;
    let talk = [
        text_message(Role::User, "x"),
        Arc::new(message(VERSION, response)),
    ];
    let got = body(&terms_of(VERSION, &json!({})), &talk, ToolExposure::Auto);
    let came: Value = serde_json::from_str(response).unwrap();
    let came = came["candidates"][0]["content"]["parts"]
        .as_array()
        .unwrap();
    assert_eq!(got["contents"][1]["parts"], json!(came[1..]));
    let sent = encode(
        &terms_of("anthropic-messages/1", &json!({})),
        &talk,
        ToolExposure::Auto,
    );
    assert!(!sent.contains("s1") && !sent.contains("s2"), "{sent}");
}

#[test]
fn the_path_names_the_model_and_whether_it_streams() {
    let path = |model: &str, stream: bool| {
        let mut terms = terms_of(VERSION, &json!({"stream": stream}));
        model.clone_into(&mut terms.targets[0].model);
        let adapter = Adapter::of_target(&terms, 0).unwrap();
        adapter.path(&terms.targets[0]).into_owned()
    };
    assert_eq!(path("g-3", false), "models/g-3:generateContent");
    assert_eq!(
        path("g-3", true),
        "models/g-3:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        path("tunedModels/x", false),
        "tunedModels/x:generateContent"
    );
    assert_eq!(path("a?b", false), "models/a%3Fb:generateContent");
    let adapter = Adapter::by_version(VERSION).unwrap();
    assert_eq!(adapter.key_header().name, "x-goog-api-key");
}
