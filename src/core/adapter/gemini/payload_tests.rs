//! Synthetic responses and errors of this protocol: one for every rule.

use super::VERSION;
use crate::adapter::Decoded;
use crate::adapter::fixture::{self, decode, decoded_answer, events, message, verdict};
use crate::message::{ReasoningPart, Usage};

fn check(body: &str, expect: &str) {
    fixture::check(VERSION, body, expect);
}

fn chunk(parts: &str, finish: &str) -> String {
    let finish = if finish.is_empty() {
        String::new()
    } else {
        format!(r#","finishReason":{finish}"#)
    };
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{parts}]}}{finish}}}],"modelVersion":"gem"}}"#
    )
}

fn whole(parts: &str) -> String {
    chunk(parts, r#""STOP""#)
}

/// The same chunks as events and as one array.
fn check_stream(chunks: &[String], expect: &str) {
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    check(&events(&chunks), expect);
    check(&format!("[{}\n]", chunks.join("\n,\r\n")), expect);
}

const THOUGHT: &str = r#"{"text":"why","thought":true}"#;
const TEXT: &str = r#"{"text":"hi","thoughtSignature":"s1"}"#;
const CALL: &str = r#"{"functionCall":{"name":"f","args":{ "a": 1.50 }},"thoughtSignature":"s2"}"#;

#[test]
fn parts_are_text_reasoning_and_calls() {
    let expect = "End: hi <why> [call_1 f { \"a\": 1.50 }]";
    let code = r#"{"executableCode":{"code":"1"}}"#;
    let parts = [THOUGHT, TEXT, code, CALL].join(",");
    check(&whole(&parts), expect);
    let first = chunk(&[THOUGHT, TEXT].join(","), "");
    check_stream(&[first.clone(), chunk(CALL, r#""STOP""#)], expect);
    check_stream(&[first.clone(), chunk(CALL, ""), chunk("", "1")], expect);
    check_stream(
        &[first.clone(), chunk(CALL, "")],
        "fault STREAM_INCOMPLETE /candidates/0/finishReason",
    );
    let open = format!("[{first}");
    check(&open, "fault STREAM_INCOMPLETE ");
    check(&format!("[{first}, {{\"cand"), "fault STREAM_INCOMPLETE ");
    check(&format!("[{first} x]"), "fault BODY_INVALID_JSON ");
    check("[]", "fault STREAM_INCOMPLETE /candidates/0/finishReason");
    let parts = message(VERSION, &whole(&parts))
        .reasoning_trace
        .unwrap()
        .parts;
    assert_eq!(parts[1], ReasoningPart::Call(Some("s2".to_owned())));
}

#[test]
fn a_call_without_arguments_has_none() {
    for call in [
        r#"{"functionCall":{"name":"f"}}"#,
        r#"{"functionCall":{"name":"f","args":null}}"#,
        r#"{"functionCall":{"name":"f","args":{}}}"#,
    ] {
        check(&whole(call), "End:  [call_1 f {}]");
    }
    let call = |args: &str| format!(r#"{{"functionCall":{{"id":"x","name":"f","args":{args}}}}}"#);
    let at = |code: &str| format!("{code} /candidates/0/content/parts/0/functionCall/args");
    check(&whole(&call("[]")), &at("ARGS_NOT_OBJECT"));
    check(&whole(&call(r#""{}""#)), &at("ARGS_NOT_OBJECT"));
    check(&whole(&call(r#"{"a":1,"a":2}"#)), &at("ARGS_DUPLICATE_KEY"));
    check(
        &whole(&[call("{}"), call("{}")].join(",")),
        "CALL_ID_DUPLICATE /candidates/0/content/parts/1/functionCall/id",
    );
    check(
        &whole(r#"{"functionCall":{"args":{"a":1}}}"#),
        "CALL_NAME_MISSING /candidates/0/content/parts/0/functionCall/name",
    );
    check(
        &whole(r#"{"functionCall":7}"#),
        "CALL_SHAPE /candidates/0/content/parts/0/functionCall",
    );
    let many = vec![r#"{"functionCall":{"name":"f"}}"#; 129].join(",");
    check(
        &whole(&many),
        "TOO_MANY_CALLS /candidates/0/content/parts/128",
    );
}

#[test]
fn arguments_that_arrive_value_by_value_are_put_together() {
    let piece = |call: &str| chunk(&format!(r#"{{"functionCall":{call}}}"#), "");
    let begun = piece(r#"{"name":"f","willContinue":true}"#);
    let values = piece(
        r#"{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}"#,
    );
    let more =
        piece(r#"{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"}],"willContinue":true}"#);
    let end = piece("{}");
    let last = chunk(r#"{"text":""}"#, r#""STOP""#);
    let expect = r#"End:  [call_1 f {"a":"xy"}]"#;
    check_stream(
        &[
            begun.clone(),
            values.clone(),
            more.clone(),
            end.clone(),
            last.clone(),
        ],
        expect,
    );
    // The last piece may end the call itself.
    let ends = more.replace(r#","willContinue":true}}"#, "}}");
    check_stream(&[begun.clone(), values.clone(), ends, last.clone()], expect);
    let at = "/candidates/0/content/parts";
    check_stream(
        &[begun.clone(), values.clone(), last.clone()],
        &format!("fault STREAM_INCOMPLETE {at}/0/functionCall/willContinue"),
    );
    check_stream(
        &[begun.clone(), values, begun.clone(), last.clone()],
        &format!("CALL_SHAPE {at}/2/functionCall/name"),
    );
    let astray = piece(r#"{"partialArgs":[{"stringValue":"x"}],"willContinue":true}"#);
    check_stream(
        &[begun, astray, last],
        &format!("CALL_SHAPE {at}/1/functionCall/partialArgs"),
    );
}

#[test]
fn every_finish_reason_is_read() {
    for (reason, expect) in [
        ("STOP", "End: hi"),
        ("MAX_TOKENS", "Length: hi"),
        ("SAFETY", "ContentFilter: hi"),
        ("RECITATION", "ContentFilter: hi"),
        ("PROHIBITED_CONTENT", "ContentFilter: hi"),
        ("OTHER", "Unknown: hi"),
        (
            "MALFORMED_FUNCTION_CALL",
            "CALL_MALFORMED /candidates/0/finishReason",
        ),
        (
            "UNEXPECTED_TOOL_CALL",
            "CALL_UNEXPECTED /candidates/0/finishReason",
        ),
        ("MISSING_THOUGHT_SIGNATURE", "fault model"),
    ] {
        check(&chunk(TEXT, &format!("\"{reason}\"")), expect);
    }
    check(&chunk(TEXT, "3"), "ContentFilter: hi");
    let bare = r#"{"candidates":[{"finishReason":"SAFETY","index":0}]}"#;
    check(bare, "ContentFilter: ");
    check(
        r#"{"candidates":[{"index":1,"content":{"parts":[{"text":"x"}]}},{"index":0,"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#,
        "End: hi",
    );
    check(r#"{"usageMetadata":{}}"#, "fault BODY_SHAPE /candidates");
}

#[test]
fn a_blocked_prompt_and_an_error_are_faults_at_every_place() {
    let blocked = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":4}}"#;
    check(blocked, "fault content_filter");
    check_stream(&[blocked.to_owned()], "fault content_filter");
    let error = |code: u16, status: &str, message: &str, details: &str| {
        format!(
            r#"{{"error":{{"code":{code},"status":"{status}","message":"{message}","details":[{details}]}}}}"#
        )
    };
    let at = |body: &str, status: u16, expect: &str| {
        let decoded = decoded_answer(VERSION, status, [body.as_bytes()]);
        assert_eq!(verdict(&decoded), format!("fault {expect}"), "{body}");
        // The same error as a chunk of a response that began well.
        check_stream(
            &[chunk(TEXT, ""), body.to_owned()],
            &format!("fault {expect}"),
        );
    };
    let key = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
    at(&error(400, "INVALID_ARGUMENT", "bad", key), 400, "auth");
    at(&error(403, "PERMISSION_DENIED", "x", ""), 403, "model");
    at(
        &error(404, "NOT_FOUND", "models/x is not found", ""),
        404,
        "model",
    );
    at(&error(503, "UNAVAILABLE", "overloaded", ""), 503, "model");
    at(&error(504, "DEADLINE_EXCEEDED", "x", ""), 504, "timeout");
    at(
        &error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "",
        ),
        400,
        "context_overflow",
    );
    let retry = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}"#;
    let limited = error(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota",
        retry,
    );
    at(&limited, 429, "rate_limit");
    let Decoded::Fault { fault, .. } = decoded_answer(VERSION, 429, [limited.as_bytes()]) else {
        panic!("no fault")
    };
    assert_eq!(fault.retry_after_ms, Some(34_500));
}

#[test]
fn usage_counts_thoughts_and_what_the_cache_gave() {
    let body = whole(TEXT).replace(
        r#""modelVersion""#,
        r#""usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2},"modelVersion""#,
    );
    let Decoded::Message(result) = decode(VERSION, [body.as_bytes()]) else {
        panic!("a fault")
    };
    let expect = Usage {
        cache_read: 4,
        cache_write: 0,
        cost_fault: false,
        cost_micro_usd: None,
        estimated: false,
        input: 6,
        output: 5,
    };
    assert_eq!(result.usage, Some(expect));
}

#[test]
fn a_call_at_the_very_end_of_a_cut_output_is_cut() {
    let limit = "\"MAX_TOKENS\"";
    let cut = "ARGS_INVALID_JSON /candidates/0/content/parts";
    check(&chunk(CALL, limit), &format!("{cut}/0/functionCall/args"));
    let two = format!("{CALL},{CALL}");
    check(&chunk(&two, limit), &format!("{cut}/1/functionCall/args"));
    let pieces = [chunk(CALL, ""), chunk("{\"text\":\"\"}", limit)];
    check_stream(&pieces, &format!("{cut}/0/functionCall/args"));
    // What came before text that was cut is whole.
    check(
        &chunk(&format!("{CALL},{TEXT}"), limit),
        "Length: hi [call_1 f { \"a\": 1.50 }]",
    );
    check(&chunk(CALL, "\"STOP\""), "End:  [call_1 f { \"a\": 1.50 }]");
}
