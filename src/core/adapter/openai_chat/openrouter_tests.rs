//! Tests of OpenRouter's dialect: errors in every position.

use std::sync::Arc;

use serde_json::{Value, json};

use super::OPENROUTER_VERSION as VERSION;
use crate::adapter::Decoded;
use crate::adapter::fixture::{
    body, check, decode, decoded_answer, encode, events, message, terms_of, text_message, verdict,
};
use crate::kernel::ToolExposure;
use crate::message::Role;

fn choice(fields: &str) -> String {
    format!(r#"{{"id":"gen","provider":"X","model":"x/y","choices":[{{"index":0,{fields}}}]}}"#)
}

const CALL: &str = r#""tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]"#;

#[test]
fn results_carry_the_version_of_the_dialect() {
    let body = choice(
        r#""message":{"content":"hi"},"finish_reason":"stop","native_finish_reason":"completed""#,
    );
    check(VERSION, &body, "End: hi");
    let Decoded::Message(result) = decode(VERSION, [body.as_bytes()]) else {
        panic!("a fault")
    };
    assert_eq!(result.adapter_version, "openrouter-chat/1");
}

#[test]
fn an_error_is_a_fault_at_any_position() {
    let error = |code: u16, more: &str| {
        format!(r#"{{"code":{code},"message":"Provider returned error"{more}}}"#)
    };
    let upstream = r#","metadata":{"provider_name":"G","raw":"{\"error\":\"slow down\"}"}"#;
    let moderated = r#","metadata":{"reasons":["violence"],"flagged_input":"…"}"#;
    for (code, more, expect) in [
        (
            400,
            r#","metadata":{"raw":"prompt is too long: 9 > 8"}"#,
            "context_overflow",
        ),
        (401, "", "auth"),
        (402, "", "quota"),
        (403, moderated, "content_filter"),
        (403, "", "model"),
        (408, "", "timeout"),
        (429, upstream, "rate_limit"),
        (502, upstream, "model"),
        (503, "", "model"),
    ] {
        let expect = format!("fault {expect}");
        let error = error(code, more);
        // As the answer, in a body of status 200, in a choice, and in the last chunk of a stream that began well.
        let body = format!(r#"{{"error":{error},"user_id":"u"}}"#);
        assert_eq!(
            verdict(&decoded_answer(VERSION, code, [body.as_bytes()])),
            expect
        );
        check(VERSION, &body, &expect);
        let inside = choice(&format!(
            r#""message":{{"content":"",{CALL}}},"finish_reason":"error","error":{error}"#
        ));
        check(VERSION, &inside, &expect);
        let begun = choice(&format!(
            r#""delta":{{"content":"hi",{CALL}}},"finish_reason":null"#
        ));
        let last = choice(r#""delta":{"content":""},"finish_reason":"error""#)
            .replace(r#""choices""#, &format!(r#""error":{error},"choices""#));
        let stream = format!(
            ": OPENROUTER PROCESSING\n\n{}data: [DONE]\n\n",
            events(&[&begun, &last])
        );
        check(VERSION, &stream, &expect);
    }
    // A reason without an error has the same meaning.
    let silent = choice(r#""message":{"content":"hi"},"finish_reason":"error""#);
    check(VERSION, &silent, "fault model");
}

/// Recorded there: arguments that were cut, under the finish reason of complete ones.
#[test]
fn a_cut_call_is_rejected_with_any_finish_reason() {
    for finish in ["tool_calls", "stop", "length"] {
        let cut = CALL.replace(r#""{}""#, r#""{\"path\":\"a""#);
        let body = choice(&format!(
            r#""message":{{{cut}}},"finish_reason":"{finish}""#
        ));
        check(
            VERSION,
            &body,
            "ARGS_INVALID_JSON /choices/0/message/tool_calls/0/function/arguments",
        );
    }
}

#[test]
fn signed_details_of_reasoning_go_back_to_their_model_only() {
    let details = r#"[{"type":"reasoning.text","text":"why","signature":"sig","format":"f","index":0},{"type":"reasoning.encrypted","data":"xx","id":"r","index":1}]"#;
    let whole = choice(&format!(
        r#""message":{{"content":"hi","reasoning":"why",{CALL},"reasoning_details":{details}}},"finish_reason":"tool_calls""#
    ));
    let delta = |fields: &str| choice(&format!(r#""delta":{{{fields}}},"finish_reason":null"#));
    let stream = events(&[
        &delta(
            r#""reasoning":"wh","reasoning_details":[{"type":"reasoning.text","text":"wh","format":"f","index":0}]"#,
        ),
        &delta(
            r#""reasoning":"y","reasoning_details":[{"type":"reasoning.text","text":"y","index":0}]"#,
        ),
        &delta(r#""reasoning_details":[{"type":"reasoning.text","signature":"sig","index":0}]"#),
        &delta(
            r#""reasoning_details":[{"type":"reasoning.encrypted","data":"xx","id":"r","index":1}]"#,
        ),
        &delta(&format!(r#""content":"hi",{CALL}"#)),
        &choice(r#""delta":{},"finish_reason":"tool_calls""#),
    ]);
    let expected = message(VERSION, &whole);
    assert_eq!(message(VERSION, &stream), expected);
    let plain = details
        .replace(r#","signature":"sig""#, "")
        .replace(r#","data":"xx""#, "");
    assert_eq!(
        message(VERSION, &whole.replace(details, &plain)).reasoning_trace,
        None
    );
    assert_eq!(message("openai-chat/1", &whole).reasoning_trace, None);
    let talk = [text_message(Role::User, "x"), Arc::new(expected)];
    let sent = body(&terms_of(VERSION, &json!({})), &talk, ToolExposure::Auto);
    let came: Value = serde_json::from_str(details).unwrap();
    assert_eq!(sent["messages"][1]["reasoning_details"], came);
    for version in ["openai-chat/1", "anthropic-messages/1"] {
        let sent = encode(&terms_of(version, &json!({})), &talk, ToolExposure::Auto);
        assert!(
            !sent.contains("sig") && !sent.contains("xx"),
            "{version}: {sent}"
        );
    }
}
