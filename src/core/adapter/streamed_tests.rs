//! Calls that are whole while their message still arrives: no earlier than they are, and as the message holds them.

use serde_json::{Value, json};

use super::fixture::message;
use super::{Adapter, ResponseMeta};
use crate::message::ToolInvocation;

fn events(values: &[Value]) -> String {
    let lines = values.iter().map(|value| format!("data: {value}\n\n"));
    lines.collect()
}

/// A chat stream of two calls, each in two pieces.
fn chat() -> String {
    let delta = |call: Value| json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
    let begun = |n: u64| {
        let function = json!({"name": "read", "arguments": "{\"path\": \"}"});
        delta(json!({"index": n, "id": format!("c{n}"), "type": "function", "function": function}))
    };
    let rest = |n: u64| delta(json!({"index": n, "function": {"arguments": "a\"}"}}));
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    events(&[begun(0), rest(0), begun(1), rest(1), end]) + "data: [DONE]\n\n"
}

/// The same in Anthropic's protocol.
fn messages() -> String {
    let block = |n: u64| {
        let call = json!({"type": "tool_use", "id": format!("c{n}"), "name": "read", "input": {}});
        let piece = |text: &str| {
            let delta = json!({"type": "input_json_delta", "partial_json": text});
            json!({"type": "content_block_delta", "index": n, "delta": delta})
        };
        [
            json!({"type": "content_block_start", "index": n, "content_block": call}),
            piece("{\"path\": \"}"),
            piece("a\"}"),
            json!({"type": "content_block_stop", "index": n}),
        ]
    };
    let start = json!({"type": "message_start", "message": {"role": "assistant", "content": []}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
    let mut all = vec![start];
    all.extend(block(0));
    all.extend(block(1));
    all.extend([delta, json!({"type": "message_stop"})]);
    events(&all)
}

/// The calls that are whole after the first `length` bytes.
fn whole(version: &str, body: &str, length: usize) -> Vec<ToolInvocation> {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = Adapter::by_version(version).unwrap().decoder(meta, "m");
    decoder.push(&body.as_bytes()[..length]);
    (0..).map_while(|at| decoder.call(at)).collect()
}

#[test]
fn a_call_is_whole_once_its_arguments_are_and_stays_so() {
    for (version, body) in [
        ("openai-chat/1", chat()),
        ("anthropic-messages/1", messages()),
    ] {
        let calls = message(version, &body).tool_calls;
        assert_eq!(calls.len(), 2);
        let mut seen = 0;
        for length in 0..=body.len() {
            let whole = whole(version, &body, length);
            assert_eq!(whole, calls[..whole.len()], "{version} at {length}");
            assert!(whole.len() >= seen, "{version} at {length}");
            seen = whole.len();
            let pieces = body[..length].matches("a\\\"}").count();
            assert!(seen <= pieces, "{version} at {length}: before its end");
        }
        assert_eq!(seen, 2, "{version}");
        let middle = body.find("c1").unwrap();
        assert_eq!(whole(version, &body, middle).len(), 1, "{version}");
    }
}

#[test]
fn a_call_without_an_id_is_known_with_its_message() {
    let body = chat().replace("\"id\":\"c0\",", "");
    assert_eq!(whole("openai-chat/1", &body, body.len()), []);
}
