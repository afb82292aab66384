//! A call with unreadable arguments next to whole ones, and null instead of arguments: in every protocol, strict and not.

use serde_json::{Value, json};

use super::Decoded;
use super::fixture::{decoded_in_pieces, events, verdict};
use crate::message::{AdapterStatus, FailureCode, ProtocolAdapterResult};

/// The verdict, the same in one piece and byte by byte.
fn validated(version: &str, body: &str, strict: bool) -> Decoded {
    let whole = decoded_in_pieces(version, body, strict, usize::MAX);
    assert_eq!(
        decoded_in_pieces(version, body, strict, 1),
        whole,
        "{version} {body}"
    );
    whole
}

fn message(decoded: Decoded) -> ProtocolAdapterResult {
    match decoded {
        Decoded::Message(result) => *result,
        Decoded::Fault { .. } => panic!("{decoded:?}"),
    }
}

/// Calls with those argument texts, each of a tool `f`, in every protocol and form that carries arguments as text; and where
/// the n-th one's arguments stand.
fn bodies(texts: &[&str]) -> Vec<(&'static str, String, String)> {
    let line = |value: Value| format!("data: {value}\n\n");
    let all = |call: &dyn Fn(usize, &str) -> Value| -> Vec<Value> {
        texts.iter().enumerate().map(|(n, t)| call(n, t)).collect()
    };
    let id = |n: usize| format!("c{n}");
    let chat =
        all(&|n, t| json!({"id": id(n), "index": n, "function": {"name": "f", "arguments": t}}));
    let items = all(
        &|n, t| json!({"type": "function_call", "call_id": id(n), "name": "f", "arguments": t}),
    );
    let in_text: Vec<String> = texts
        .iter()
        .map(|t| format!("<tool_call>{{\"name\": \"f\", \"arguments\": {t}}}</tool_call>"))
        .collect();
    let mut blocks = line(json!({"type": "message_start", "message": {"content": []}}));
    for (n, text) in texts.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": id(n), "name": "f"});
        let piece = json!({"type": "input_json_delta", "partial_json": text});
        blocks += &line(json!({"type": "content_block_start", "index": n, "content_block": start}));
        blocks += &line(json!({"type": "content_block_delta", "index": n, "delta": piece}));
        blocks += &line(json!({"type": "content_block_stop", "index": n}));
    }
    blocks += &line(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    blocks += &line(json!({"type": "message_stop"}));
    let streamed = line(json!({"choices": [{"index": 0, "delta": {"tool_calls": chat}}]}))
        + &line(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
        + "data: [DONE]\n\n";
    let whole =
        |message: Value| json!({"choices": [{"message": message, "finish_reason": "stop"}]});
    let pointer = "/choices/0/message/tool_calls/N/function/arguments";
    let mut bodies = vec![
        (
            "openai-chat",
            pointer,
            whole(json!({"tool_calls": chat})).to_string(),
        ),
        ("openai-chat", pointer, streamed.clone()),
        ("openrouter-chat", pointer, streamed),
        (
            "openai-responses",
            "/output/N/arguments",
            json!({"status": "completed", "output": items}).to_string(),
        ),
        ("anthropic-messages", "/content/N/input", blocks),
        (
            "ollama-chat",
            "/message/tool_calls/N/function/arguments",
            json!({"message": {"content": "", "tool_calls": chat}, "done": true}).to_string(),
        ),
    ];
    // A text profile names a call by the id that it gives it, and its values are JSON already.
    if texts
        .iter()
        .all(|text| serde_json::from_str::<Value>(text).is_ok())
    {
        let body = whole(json!({"content": in_text.join("\n")})).to_string();
        bodies.push(("openai-chat+hermes", "call_M", body));
    }
    bodies
        .into_iter()
        .map(|(name, pointer, body)| (name, pointer.to_owned(), body))
        .collect()
}

fn pointer(pattern: &str, n: usize) -> String {
    pattern
        .replace('N', &n.to_string())
        .replace('M', &(n + 1).to_string())
}

#[test]
fn a_call_that_cannot_be_read_does_not_take_the_others_with_it_but_under_strict() {
    for (bad, code) in [
        ("{\"path\":\"a", FailureCode::ArgsInvalidJson),
        ("null", FailureCode::ArgsNotObject),
        ("[1]", FailureCode::ArgsNotObject),
        ("{\"a\":1,\"a\":2}", FailureCode::ArgsDuplicateKey),
    ] {
        for (name, pattern, body) in bodies(&["{\"a\":0}", bad, " {} "]) {
            let version = format!("{name}/1");
            let strict = verdict(&validated(&version, &body, true));
            assert!(strict.starts_with(code.as_str()), "{version} {strict}");
            let result = message(validated(&version, &body, false));
            assert_eq!(result.status, AdapterStatus::Recovered, "{version} {bad}");
            let repair = result.repair.unwrap();
            assert_eq!(repair.original, bad, "{version}");
            assert_eq!(repair.repaired, "", "{version}");
            assert_eq!(
                repair.steps,
                [format!("{}: call_dropped", pointer(&pattern, 1))]
            );
            let calls = result.canonical_message.unwrap().tool_calls;
            let outcomes: Vec<_> = calls
                .iter()
                .map(|call| (call.arguments.as_str(), call.fault))
                .collect();
            let whole = if name.contains('+') { "{}" } else { " {} " };
            assert_eq!(
                outcomes,
                [("{\"a\":0}", None), ("{}", Some(code)), (whole, None)]
            );
        }
    }
}

#[test]
fn a_message_of_which_no_call_can_be_read_is_rejected_in_every_mode() {
    for (name, pattern, body) in bodies(&["null", "[]"]) {
        for strict in [true, false] {
            let version = format!("{name}/1");
            let found = verdict(&validated(&version, &body, strict));
            let expect = if name.contains('+') {
                "ARGS_NOT_OBJECT /choices/0/message/content".to_owned()
            } else {
                format!("ARGS_NOT_OBJECT {}", pointer(&pattern, 0))
            };
            assert_eq!(found, expect, "{version}");
        }
    }
}

/// Flaws that break the whole message and not the arguments of one call: ids are ambiguous, or a part is missing.
#[test]
fn a_flaw_of_the_message_rejects_it_in_every_mode() {
    let call = |id: &str, name: &str, text: &str| json!({"id": id, "function": {"name": name, "arguments": text}});
    let check = |calls: Value, expect: &str| {
        let body =
            json!({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "stop"}]});
        for strict in [true, false] {
            let found = verdict(&validated("openai-chat/1", &body.to_string(), strict));
            assert!(found.starts_with(expect), "{found}");
        }
    };
    check(
        json!([call("a", "f", "{}"), call("b", "", "{")]),
        "CALL_NAME_MISSING",
    );
    check(
        json!([call("a", "f", "{}"), call("a", "f", "{")]),
        "CALL_ID_DUPLICATE",
    );
    check(json!([call("a", "f", "{}"), {"id": "b"}]), "CALL_SHAPE");
    let open = events(&[
        r#"{"type":"message_start","message":{"content":[]}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"f"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let found = verdict(&validated("anthropic-messages/1", &open, false));
    assert_eq!(found, "fault STREAM_INCOMPLETE /content/1");
}

#[test]
fn the_last_call_of_a_cut_output_is_the_only_one_that_is_lost() {
    let input =
        |n: u8| json!({"type": "tool_use", "id": format!("c{n}"), "name": "f", "input": {"n": n}});
    let body = json!({"content": [input(1), input(2)], "stop_reason": "max_tokens"}).to_string();
    let strict = verdict(&validated("anthropic-messages/1", &body, true));
    assert_eq!(strict, "ARGS_INVALID_JSON /content/1/input");
    let calls = message(validated("anthropic-messages/1", &body, false));
    let calls = calls.canonical_message.unwrap().tool_calls;
    let faults: Vec<_> = calls.iter().map(|call| call.fault).collect();
    assert_eq!(faults, [None, Some(FailureCode::ArgsInvalidJson)]);
    // What came of it reads as an object, and is not what was meant.
    assert_eq!(calls[1].arguments.as_str(), "{}");
}

#[test]
fn null_arguments_are_no_object_unless_the_protocol_reads_them_as_none() {
    let check = |name: &str, body: Value, expect: &str| {
        let body = body.to_string();
        for strict in [true, false] {
            let version = format!("{name}/1");
            let found = verdict(&validated(&version, &body, strict));
            assert_eq!(found, expect, "{version} {body}");
        }
    };
    let function = json!({"name": "f", "arguments": null});
    check(
        "openai-responses",
        json!({"status": "completed", "output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": null}]}),
        "ARGS_NOT_OBJECT /output/0/arguments",
    );
    check(
        "anthropic-messages",
        json!({"content": [{"type": "tool_use", "id": "a", "name": "f", "input": null}], "stop_reason": "tool_use"}),
        "ARGS_NOT_OBJECT /content/0/input",
    );
    check(
        "bedrock-converse",
        json!({"output": {"message": {"content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": null}}]}}, "stopReason": "tool_use"}),
        "ARGS_NOT_OBJECT /output/message/content/0/toolUse/input",
    );
    check(
        "ollama-chat",
        json!({"message": {"tool_calls": [{"function": function}]}, "done": true}),
        "ARGS_NOT_OBJECT /message/tool_calls/0/function/arguments",
    );
    // In two protocols, null means no arguments.
    let none = "End:  [call_1 f {}]";
    check(
        "openai-chat",
        json!({"choices": [{"message": {"tool_calls": [{"function": function}]}, "finish_reason": "stop"}]}),
        none,
    );
    check(
        "google-gemini",
        json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": null}}]}, "finishReason": "STOP"}]}),
        none,
    );
}

#[test]
fn a_null_at_the_start_of_a_stream_is_replaced_by_what_follows() {
    let stream = |pieces: &str| {
        events(&[
            r#"{"type":"message_start","message":{"content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":null}}"#,
            pieces,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
            r#"{"type":"message_stop"}"#,
        ])
    };
    let check = |pieces: &str, expect: &str| {
        let found = verdict(&validated("anthropic-messages/1", &stream(pieces), true));
        assert_eq!(found, expect);
    };
    check(r#"{"type":"ping"}"#, "End:  [a f {}]");
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}"#;
    check(piece, "End:  [a f {\"n\":1}]");
}

/// The embedded model's own form: a call in the text between tags.
#[test]
fn the_embedded_model_loses_one_call_and_not_all() {
    let text = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\
                <tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>";
    let body = format!(
        "{}\n{}\n",
        json!({"text": text}),
        json!({"stop": "end", "usage": {"input": 1, "output": 1}})
    );
    let strict = verdict(&validated("local-hermes/1", &body, true));
    assert_eq!(strict, "ARGS_NOT_OBJECT /tool_calls/1");
    let result = message(validated("local-hermes/1", &body, false));
    assert_eq!(result.status, AdapterStatus::Recovered);
    let calls = result.canonical_message.unwrap().tool_calls;
    assert_eq!(calls[0].fault, None);
    assert_eq!(calls[1].fault, Some(FailureCode::ArgsNotObject));
}
