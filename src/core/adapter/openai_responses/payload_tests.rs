//! Synthetic responses and errors of this protocol: one for every rule.

use super::VERSION;
use crate::adapter::fixture::{self, decode, decoded_answer, events, message, verdict};
use crate::message::{StateMember, StatePlace};

fn check(body: &str, expect: &str) {
    fixture::check(VERSION, body, expect);
}

fn whole(items: &str) -> String {
    ended("completed", "null", items)
}

fn ended(status: &str, reason: &str, items: &str) -> String {
    format!(
        r#"{{"object":"response","status":"{status}","model":"gpt","error":null,"incomplete_details":{reason},"output":[{items}],"usage":{{"input_tokens":3,"output_tokens":4}}}}"#
    )
}

const REASONING: &str = r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"xx"}"#;
const TEXT: &str = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}"#;
const CALL: &str =
    r#"{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":"{\"a\":1}"}"#;

fn call(arguments: &str) -> String {
    CALL.replace(r#""{\"a\":1}""#, arguments)
}

/// The stream of the three items, its last object with `output`.
fn stream(output: &str) -> String {
    let done = format!(
        r#"{{"type":"response.completed","response":{}}}"#,
        whole(output)
    );
    let item = |kind: &str, at: usize, item: &str| {
        format!(r#"{{"type":"response.output_item.{kind}","output_index":{at},"item":{item}}}"#)
    };
    let empty_call = CALL.replace(r#""{\"a\":1}""#, r#""""#);
    let all = [
        r#"{"type":"response.created","response":{"model":"gpt","status":"in_progress","output":[]}}"#.to_owned(),
        item("added", 0, r#"{"type":"reasoning","summary":[]}"#),
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"why"}"#.to_owned(),
        item("done", 0, REASONING),
        item("added", 1, r#"{"type":"message","content":[]}"#),
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"h"}"#.to_owned(),
        r#"{"type":"response.output_text.delta","output_index":1,"delta":"i"}"#.to_owned(),
        item("added", 2, &empty_call),
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"a\""}"#.to_owned(),
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":":1}"}"#.to_owned(),
        done,
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    events(&all)
}

const EXPECT: &str = r#"End: hi <why> [c1 f {"a":1}]"#;

#[test]
fn items_are_text_reasoning_and_calls_from_wherever_they_are_known() {
    let items = [REASONING, TEXT, CALL].join(",");
    check(&whole(&items), EXPECT);
    check(&stream(&items), EXPECT);
    // The last object has no output: items as they were done, and by their pieces where they were not.
    check(&stream(""), EXPECT);
    let message = message(VERSION, &whole(&items));
    let members = message.state.unwrap().members;
    assert_eq!(members[0], StateMember::block(REASONING.to_owned()));
    let plain = REASONING.replace(r#","encrypted_content":"xx""#, "");
    let body = whole(&[&plain, TEXT].join(","));
    let message = fixture::message(VERSION, &body);
    let places = message.state.map_or(Vec::new(), |state| state.members);
    assert!(
        places
            .iter()
            .all(|member| member.place != StatePlace::Block)
    );
}

#[test]
fn arguments_are_the_text_of_one_object_or_the_message_is_rejected() {
    let at = |code: &str| format!("{code} /output/0/arguments");
    check(&whole(&call(r#""{}""#)), "End:  [c1 f {}]");
    check(&whole(&call(r#""""#)), "End:  [c1 f {}]");
    for (text, code) in [
        (r#""{\"a\":""#, "ARGS_INVALID_JSON"),
        (r#""null""#, "ARGS_NOT_OBJECT"),
        ("null", "ARGS_NOT_OBJECT"),
        (r#""{\"a\":1,\"a\":2}""#, "ARGS_DUPLICATE_KEY"),
    ] {
        check(&whole(&call(text)), &at(code));
    }
    // The item's own word that it was cut, even where it reads as an object.
    let cut = CALL.replace(r#""name""#, r#""status":"incomplete","name""#);
    check(
        &ended("incomplete", r#"{"reason":"max_output_tokens"}"#, &cut),
        &at("ARGS_INVALID_JSON"),
    );
    let two = [CALL, CALL].join(",");
    check(&whole(&two), "CALL_ID_DUPLICATE /output/1/call_id");
    let bare = CALL.replace(r#""call_id":"c1","#, "");
    check(&whole(&bare), "End:  [fc f {\"a\":1}]");
    let without_id = bare.replace(r#""id":"fc","#, "");
    check(&whole(&without_id), "End:  [call_1 f {\"a\":1}]");
    check(
        &whole(&CALL.replace(r#""name":"f","#, "")),
        "CALL_NAME_MISSING /output/0/name",
    );
    let many: Vec<String> = (0..129)
        .map(|n| CALL.replace("c1", &n.to_string()))
        .collect();
    check(&whole(&many.join(",")), "TOO_MANY_CALLS /output/128");
}

#[test]
fn a_call_of_an_unoffered_tool_is_named_and_one_that_the_provider_ran_is_not() {
    for kind in [
        "custom_tool_call",
        "mcp_approval_request",
        "apply_patch_call",
        "shell_call",
    ] {
        let item = format!(r#"{{"type":"{kind}","id":"x"}}"#);
        check(
            &whole(&[TEXT, &item].join(",")),
            "CALL_UNEXPECTED /output/1",
        );
    }
    let ran = r#"{"type":"shell_call"},{"type":"shell_call_output"},{"type":"web_search_call"},{"type":"mcp_call"},{"type":"tool_search_call","execution":"server"}"#;
    check(&whole(&[ran, TEXT].join(",")), "End: hi");
}

#[test]
fn the_status_shows_how_it_ended() {
    let length = r#"{"reason":"max_output_tokens"}"#;
    check(&ended("incomplete", length, TEXT), "Length: hi");
    let filter = r#"{"reason":"content_filter"}"#;
    check(&ended("incomplete", filter, TEXT), "ContentFilter: hi");
    check(&ended("incomplete", "null", TEXT), "Unknown: hi");
    for status in ["queued", "in_progress"] {
        check(&ended(status, "null", ""), "fault model");
    }
    for status in ["failed", "cancelled"] {
        check(&ended(status, "null", ""), "fault model");
    }
    let refusal = r#"{"type":"message","content":[{"type":"refusal","refusal":"no"}]}"#;
    check(&whole(refusal), "Refusal: no");
    check(&whole(""), "End: ");
    check(
        r#"{"object":"response","status":"completed"}"#,
        "fault BODY_SHAPE /output",
    );
    check(
        r#"{"object":"response","status":"completed","output":7}"#,
        "fault BODY_SHAPE /output",
    );
    check(&whole("7"), "fault BODY_SHAPE /output/0");
}

#[test]
fn a_stream_without_its_last_object_is_no_message() {
    let full = stream("");
    let cut = full.split("{\"type\":\"response.completed").next().unwrap();
    check(cut, "fault STREAM_INCOMPLETE /status");
    check(
        &format!("{cut}[DONE]\n\n"),
        "fault STREAM_INCOMPLETE /status",
    );
    for end in 0..full.len() {
        let cut = verdict(&decode(VERSION, [&full.as_bytes()[..end]]));
        assert!(cut == EXPECT || !cut.contains("[c1"), "cut at {end}: {cut}");
    }
}

#[test]
fn an_error_is_a_fault_at_every_place() {
    for (error, expect) in [
        (
            r#"{"code":"rate_limit_exceeded","message":"x"}"#,
            "rate_limit",
        ),
        (r#"{"code":"server_error","message":"x"}"#, "model"),
        (r#"{"code":"insufficient_quota","message":"x"}"#, "quota"),
        (
            r#"{"code":"context_length_exceeded","message":"x"}"#,
            "context_overflow",
        ),
        (r#"{"code":"invalid_prompt","message":"x"}"#, "refusal"),
    ] {
        let expect = format!("fault {expect}");
        let failed = ended("failed", "null", TEXT)
            .replace(r#""error":null"#, &format!(r#""error":{error}"#));
        check(&failed, &expect);
        check(
            &events(&[&format!(
                r#"{{"type":"response.failed","response":{failed}}}"#
            )]),
            &expect,
        );
        let bare = error.replace(r#"{"code""#, r#"{"type":"error","code""#);
        check(&format!("event: error\n{}", events(&[&bare])), &expect);
        check(
            &events(&[r#"{"type":"response.created","response":{}}"#, &bare]),
            &expect,
        );
        check(
            &events(&[&format!(r#"{{"type":"error","error":{error}}}"#)]),
            &expect,
        );
    }
    let body = r#"{"code":"invalid-argument","error":"Incorrect API key provided."}"#;
    assert_eq!(
        verdict(&decoded_answer(VERSION, 400, [body.as_bytes()])),
        "fault auth"
    );
}
