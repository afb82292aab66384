//! Synthetic responses and errors of this protocol: one for every rule.

use super::VERSION;
use crate::adapter::Decoded;
use crate::adapter::fixture::{self, decode, decoded_answer, events, message, verdict};
use crate::message::{StateMember, Usage};

fn check(body: &str, expect: &str) {
    fixture::check(VERSION, body, expect);
}

fn whole(blocks: &str, stop: &str) -> String {
    format!(
        r#"{{"type":"message","model":"claude","content":[{blocks}],"stop_reason":"{stop}","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
    )
}

/// A stream of those events between the usual first and last ones.
fn stream(between: &[&str], stop: &str) -> String {
    let start = r#"{"type":"message_start","message":{"model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":2}}}}"#
    );
    let mut all = vec![start];
    all.extend_from_slice(between);
    all.extend([delta.as_str(), r#"{"type":"message_stop"}"#]);
    events(&all)
}

const START_TOOL: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}"#;
const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;

fn args(pieces: &[&str], stop: &str) -> String {
    let deltas: Vec<String> = pieces
        .iter()
        .map(|piece| {
            let piece = serde_json::json!(piece);
            format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"input_json_delta","partial_json":{piece}}}}}"#
            )
        })
        .collect();
    let mut between = vec![START_TOOL];
    between.extend(deltas.iter().map(String::as_str));
    between.push(STOP);
    stream(&between, stop)
}

#[test]
fn blocks_are_text_reasoning_and_calls() {
    let blocks = r#"{"type":"thinking","thinking":"why","signature":"sig"},{"type":"redacted_thinking","data":"xx"},{"type":"text","text":"hi"},{"type":"server_tool_use","id":"s","name":"web","input":{}},{"type":"web_search_tool_result","content":[]},{"type":"tool_use","id":"t1","name":"f","input":{ "a": 1 }}"#;
    let expect = r#"End: hi <why> [t1 f { "a": 1 }]"#;
    check(&whole(blocks, "tool_use"), expect);
    let streamed = stream(
        &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"wh"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"y"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}"#,
            STOP,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xx"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"hi"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{ \"a\": "}}"#,
            r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1 }"}}"#,
            r#"{"type":"content_block_stop","index":3}"#,
        ],
        "tool_use",
    );
    check(&streamed, expect);
    let (body, events) = (
        message(VERSION, &whole(blocks, "tool_use")),
        message(VERSION, &streamed),
    );
    assert_eq!(body, events);
    let members = body.state.unwrap().members;
    let thinking = r#"{"type":"thinking","thinking":"why","signature":"sig"}"#;
    assert_eq!(members[0], StateMember::block(thinking.to_owned()));
    let unsigned = r#"{"type":"thinking","thinking":"why"},{"type":"text","text":"hi"}"#;
    assert_eq!(message(VERSION, &whole(unsigned, "end_turn")).state, None);
}

#[test]
fn a_call_without_pieces_of_arguments_has_none() {
    check(&args(&[], "tool_use"), "End:  [t1 f {}]");
    check(&args(&[""], "tool_use"), "End:  [t1 f {}]");
    check(
        &args(&["{\"a\"", ":1}"], "tool_use"),
        "End:  [t1 f {\"a\":1}]",
    );
    let block = r#"{"type":"tool_use","id":"t1","name":"f","input":{}}"#;
    check(&whole(block, "tool_use"), "End:  [t1 f {}]");
    check(
        &whole(&block.replace(r#","input":{}"#, ""), "tool_use"),
        "End:  [t1 f {}]",
    );
}

#[test]
fn arguments_are_the_text_of_one_object_or_the_message_is_rejected() {
    let at = |code: &str| format!("{code} /content/0/input");
    for (text, code) in [
        ("{\"a\":", "ARGS_INVALID_JSON"),
        ("null", "ARGS_NOT_OBJECT"),
        ("[]", "ARGS_NOT_OBJECT"),
        ("{\"p\":1,\"p\":2}", "ARGS_DUPLICATE_KEY"),
    ] {
        check(&args(&[text], "tool_use"), &at(code));
        if !code.ends_with("INVALID_JSON") && text != "null" {
            let block = format!(r#"{{"type":"tool_use","id":"t1","name":"f","input":{text}}}"#);
            check(&whole(&block, "tool_use"), &at(code));
        }
    }
}

/// A body shows `{}` where the arguments were cut; the stop reason shows it, and only that it was cut.
#[test]
fn a_call_at_the_end_of_a_cut_output_is_cut() {
    let call = r#"{"type":"tool_use","id":"t1","name":"f","input":{}}"#;
    for stop in ["max_tokens", "model_context_window_exceeded"] {
        check(&whole(call, stop), "ARGS_INVALID_JSON /content/0/input");
        check(&args(&["{}"], stop), "ARGS_INVALID_JSON /content/0/input");
        let text = r#"{"type":"text","text":"x"}"#;
        check(
            &whole(&format!("{call},{text}"), stop),
            "Length: x [t1 f {}]",
        );
    }
    check(&whole(call, "end_turn"), "End:  [t1 f {}]");
}

#[test]
fn ids_and_names_are_validated_as_in_every_protocol() {
    let call = |id: &str, name: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#)
    };
    let two = format!("{},{}", call("a", "f"), call("a", "g"));
    check(&whole(&two, "tool_use"), "CALL_ID_DUPLICATE /content/1/id");
    check(&whole(&call("", "f"), "tool_use"), "End:  [call_1 f {}]");
    check(
        &whole(&call("a", ""), "tool_use"),
        "CALL_NAME_MISSING /content/0/name",
    );
    let many: Vec<String> = (0..129).map(|n| call(&n.to_string(), "f")).collect();
    check(
        &whole(&many.join(","), "tool_use"),
        "TOO_MANY_CALLS /content/128",
    );
}

#[test]
fn every_stop_reason_is_read() {
    let text = r#"{"type":"text","text":"x"}"#;
    for (stop, expect) in [
        ("end_turn", "End: x"),
        ("stop_sequence", "End: x"),
        ("max_tokens", "Length: x"),
        ("refusal", "Refusal: x"),
        ("novel", "Unknown: x"),
        ("pause_turn", "TURN_PAUSED /stop_reason"),
    ] {
        check(&whole(text, stop), expect);
    }
    check(&whole("", "end_turn"), "End: ");
}

#[test]
fn a_stream_is_whole_with_its_end_or_a_reason_and_its_calls_stopped() {
    let full = args(&["{}"], "tool_use");
    let without = |event: &str| {
        let kept = full.split("\n\n").filter(|e| !e.contains(event));
        kept.collect::<Vec<_>>().join("\n\n")
    };
    check(&without("message_stop"), "End:  [t1 f {}]");
    check(&without("message_delta"), "End:  [t1 f {}]");
    check(
        &without("content_block_stop"),
        "fault STREAM_INCOMPLETE /content/0",
    );
    let cut = full.split("{\"type\":\"message_delta").next().unwrap();
    check(cut, "fault STREAM_INCOMPLETE /stop_reason");
    check(
        &stream(
            &[
                r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
            ],
            "tool_use",
        ),
        "fault BODY_SHAPE /content/4",
    );
    check(
        "data: {\"type\":\"message_stop\"}\n\n",
        "fault BODY_SHAPE /content",
    );
    check("{\"input_tokens\":12}", "fault BODY_SHAPE /content");
    // A restarted proxy spliced two messages into one stream.
    let (first, _) = full.split_once("{\"type\":\"content_block_stop").unwrap();
    let spliced = format!("{first}{}", full.strip_prefix("data: ").unwrap());
    check(&spliced, "fault BODY_SHAPE /message_start");
    for end in 0..full.len() {
        let cut = verdict(&decode(VERSION, [&full.as_bytes()[..end]]));
        let whole = cut == "End:  [t1 f {}]";
        assert!(whole || !cut.contains("[t1"), "cut at {end}: {cut}");
    }
}

#[test]
fn an_error_is_a_fault_at_every_place() {
    let error = |kind: &str, words: &str| {
        format!(
            r#"{{"type":"error","error":{{"type":"{kind}","message":"{words}"}},"request_id":"r"}}"#
        )
    };
    let at = |status: u16, kind: &str, words: &str, expect: &str| {
        let body = error(kind, words);
        let decoded = decoded_answer(VERSION, status, [body.as_bytes()]);
        assert_eq!(
            verdict(&decoded),
            format!("fault {expect}"),
            "{status} {kind}"
        );
    };
    at(529, "overloaded_error", "Overloaded", "model");
    at(500, "api_error", "Internal server error", "model");
    at(504, "timeout_error", "x", "timeout");
    at(429, "rate_limit_error", "x", "rate_limit");
    at(401, "authentication_error", "invalid x-api-key", "auth");
    at(403, "permission_error", "x", "model");
    at(402, "billing_error", "x", "quota");
    at(
        400,
        "invalid_request_error",
        "Your credit balance is too low",
        "quota",
    );
    at(404, "not_found_error", "model: x", "model");
    at(413, "request_too_large", "x", "context_overflow");
    at(
        400,
        "invalid_request_error",
        "prompt is too long: 9 tokens > 8 maximum",
        "context_overflow",
    );
    at(
        400,
        "invalid_request_error",
        "temperature: range: 0..1",
        "model",
    );
    for (kind, expect) in [
        ("overloaded_error", "fault model"),
        ("rate_limit_error", "fault rate_limit"),
    ] {
        let error = error(kind, "x");
        check(&stream(&[START_TOOL, &error], "tool_use"), expect);
        check(&format!("event: error\ndata: {error}\n\n"), expect);
        check(&error, expect);
    }
}

#[test]
fn usage_is_the_last_of_every_number() {
    let body = events(&[
        r#"{"type":"message_start","message":{"model":"c","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"output_tokens":1}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let Decoded::Message(result) = decode(VERSION, [body.as_bytes()]) else {
        panic!("a fault")
    };
    let expect = Usage {
        cache_read: 100,
        cache_write: 5,
        cost_fault: false,
        cost_micro_usd: None,
        estimated: false,
        input: 15,
        output: 7,
    };
    assert_eq!(result.usage, Some(expect));
}
