//! Synthetic responses of this protocol, as bodies and as frames.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::VERSION;
use crate::adapter::fixture::{self, decode, decoded_answer, verdict};
use crate::adapter::frames::tests::frame;

fn check(body: impl AsRef<[u8]>, expect: &str) {
    fixture::check(VERSION, body, expect);
}

fn whole(blocks: &str, stop: &str) -> String {
    format!(
        r#"{{"output":{{"message":{{"role":"assistant","content":[{blocks}]}}}},"stopReason":"{stop}","usage":{{"inputTokens":1,"outputTokens":2}}}}"#
    )
}

fn stream(events: &[(&str, &str)]) -> Vec<u8> {
    events
        .iter()
        .flat_map(|(kind, payload)| {
            frame(
                &[(":event-type", kind), (":message-type", "event")],
                payload,
            )
        })
        .collect()
}

const EXPECT: &str = "End: hi <why> [t1 f {\"a\":1}]";
const EVENTS: [(&str, &str); 11] = [
    ("messageStart", r#"{"role":"assistant"}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"why"}}}"#,
    ),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"s"}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":0}"#),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":1,"delta":{"text":"hi"}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":1}"#),
    (
        "contentBlockStart",
        r#"{"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}"#,
    ),
    (
        "contentBlockDelta",
        r#"{"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":1}"}}}"#,
    ),
    ("contentBlockStop", r#"{"contentBlockIndex":2}"#),
    ("messageStop", r#"{"stopReason":"tool_use"}"#),
    (
        "metadata",
        r#"{"usage":{"inputTokens":1,"outputTokens":2}}"#,
    ),
];

#[test]
fn a_body_and_its_frames_give_the_same_message() {
    let blocks = r#"{"reasoningContent":{"reasoningText":{"text":"why","signature":"s"}}},{"text":"hi"},{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}"#;
    check(whole(blocks, "tool_use"), EXPECT);
    check(stream(&EVENTS), EXPECT);
    check(STANDARD.encode(stream(&EVENTS)), EXPECT);
    let cited = r#"{"citationsContent":{"content":[{"text":"h"},{"text":"i"}],"citations":[]}},{"toolResult":{}},{"toolUse":{"toolUseId":"s","name":"nova","type":"server_tool_use","input":{}}}"#;
    check(whole(cited, "end_turn"), "End: hi");
}

#[test]
fn a_call_without_pieces_of_arguments_has_none_and_one_that_was_cut_is_rejected() {
    let mut events = EVENTS.to_vec();
    events.remove(7);
    check(stream(&events), "End: hi <why> [t1 f {}]");
    let at = "/output/message/content/2/toolUse/input";
    events[8] = ("messageStop", r#"{"stopReason":"max_tokens"}"#);
    check(stream(&events), &format!("ARGS_INVALID_JSON {at}"));
    let call = r#"{"toolUse":{"toolUseId":"t","name":"f","input":{}}}"#;
    check(
        whole(call, "max_tokens"),
        "ARGS_INVALID_JSON /output/message/content/0/toolUse/input",
    );
    check(whole(call, "tool_use"), "End:  [t f {}]");
}

#[test]
fn a_stream_that_is_cut_or_damaged_is_no_message() {
    let full = stream(&EVENTS);
    for end in 1..full.len() {
        let cut = verdict(&decode(VERSION, [&full[..end]]));
        let fine = cut == EXPECT || cut.starts_with("fault STREAM_INCOMPLETE");
        assert!(fine, "cut at {end}: {cut}");
    }
    let mut damaged = full;
    damaged[200] ^= 1;
    let found = verdict(&decode(VERSION, [damaged.as_slice()]));
    assert!(found.starts_with("fault BODY_SHAPE"), "{found}");
    check("Ahem", "fault STREAM_INCOMPLETE ");
}

#[test]
fn every_stop_reason_is_read() {
    for (stop, expect) in [
        ("end_turn", "End: x"),
        ("max_tokens", "Length: x"),
        ("guardrail_intervened", "ContentFilter: x"),
        ("content_filtered", "ContentFilter: x"),
        ("malformed_tool_use", "CALL_MALFORMED /stopReason"),
        ("malformed_model_output", "CALL_MALFORMED /stopReason"),
        ("novel", "Unknown: x"),
    ] {
        check(whole(r#"{"text":"x"}"#, stop), expect);
    }
}

#[test]
fn an_exception_is_a_fault() {
    for (kind, expect) in [
        ("throttlingException", "fault rate_limit"),
        ("serviceUnavailableException", "fault model"),
        ("modelTimeoutException", "fault timeout"),
        ("modelStreamErrorException", "fault model"),
    ] {
        let mut body = stream(&EVENTS[..4]);
        let headers = [(":exception-type", kind), (":message-type", "exception")];
        body.extend(frame(&headers, r#"{"message":"x"}"#));
        check(body, expect);
    }
    for (status, words, expect) in [
        (
            400,
            "Input is too long for requested model.",
            "context_overflow",
        ),
        (
            403,
            "The security token included in the request is invalid.",
            "auth",
        ),
        (404, "gone", "model"),
        (408, "x", "timeout"),
        (424, "x", "model"),
        (429, "Too many requests", "rate_limit"),
    ] {
        let body = format!(r#"{{"message":"{words}"}}"#);
        let decoded = decoded_answer(VERSION, status, [body.as_bytes()]);
        assert_eq!(verdict(&decoded), format!("fault {expect}"), "{status}");
    }
}
