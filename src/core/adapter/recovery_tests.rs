//! Argument text that is no JSON object, under strict mode and without it, in every protocol that carries it as text.

use serde_json::json;

use super::fixture::{decoded_in_pieces, verdict};
use super::{Adapter, Decoded};
use crate::message::{AdapterStatus, FailureCode, ProtocolAdapterResult};

fn message(decoded: Decoded) -> ProtocolAdapterResult {
    match decoded {
        Decoded::Message(result) => *result,
        Decoded::Fault { .. } => panic!("{decoded:?}"),
    }
}

/// One call with that argument text, in every protocol and form that carries arguments as text.
fn bodies(arguments: &str) -> Vec<(&'static str, &'static str, String)> {
    let function = json!({"name": "f", "arguments": arguments});
    let events = |events: &[serde_json::Value]| {
        let lines: Vec<String> = events.iter().map(|e| format!("data: {e}\n\n")).collect();
        lines.concat()
    };
    let chat = "/choices/0/message/tool_calls/0/function/arguments";
    let body = json!({"choices": [{"message": {"tool_calls": [{"id": "a", "function": function}]}, "finish_reason": "tool_calls"}]});
    let stream = events(&[
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": function}]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]) + "data: [DONE]\n\n";
    let items = json!({"status": "completed", "output": [
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments}
    ]});
    let blocks = events(&[
        json!({"type": "message_start", "message": {"content": []}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "f"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": arguments}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ]);
    let line = json!({"message": {"content": "", "tool_calls": [{"id": "a", "function": function}]}, "done": true, "done_reason": "stop"});
    vec![
        ("openai-chat/1", chat, body.to_string()),
        ("openai-chat/1", chat, stream.clone()),
        ("openrouter-chat/1", chat, stream),
        (
            "openai-responses/1",
            "/output/0/arguments",
            items.to_string(),
        ),
        ("anthropic-messages/1", "/content/0/input", blocks),
        (
            "ollama-chat/1",
            "/message/tool_calls/0/function/arguments",
            line.to_string(),
        ),
    ]
}

#[test]
fn only_without_strict_mode_is_an_argument_text_repaired_and_the_repair_is_recorded() {
    let original = "{'path': 'a',}";
    for (version, pointer, body) in bodies(original) {
        let strict = decoded_in_pieces(version, &body, true, usize::MAX);
        assert_eq!(
            verdict(&strict),
            format!("ARGS_INVALID_JSON {pointer}"),
            "{version}"
        );
        // Who asks an adapter without a contract gets the strict one.
        let alone = Adapter::by_version(version).unwrap();
        assert_eq!(alone, alone.under(true));
        let lenient = message(decoded_in_pieces(version, &body, false, usize::MAX));
        assert_eq!(lenient.status, AdapterStatus::Recovered, "{version}");
        assert_eq!(
            (lenient.failure_code, lenient.pointer.as_deref()),
            (None, None)
        );
        let repair = lenient.repair.as_ref().unwrap();
        assert_eq!(repair.original, original);
        assert_eq!(repair.repaired, "{\"path\": \"a\"}");
        let steps = ["quotes_replaced", "comma_removed"].map(|step| format!("{pointer}: {step}"));
        assert_eq!(repair.steps, steps, "{version}");
        let calls = &lenient.canonical_message.as_ref().unwrap().tool_calls;
        assert_eq!(calls[0].arguments.as_str(), repair.repaired);
        for piece in [1, 7] {
            assert_eq!(
                message(decoded_in_pieces(version, &body, false, piece)),
                lenient,
                "{version}"
            );
        }
    }
}

#[test]
fn what_is_an_object_passes_bit_for_bit_and_what_was_cut_is_refused_in_both_modes() {
    for strict in [true, false] {
        let whole = " { \"a\" : 1.50 }\n";
        for (version, _, body) in bodies(whole) {
            let result = message(decoded_in_pieces(version, &body, strict, usize::MAX));
            assert_eq!(result.status, AdapterStatus::Native, "{version}");
            let calls = &result.canonical_message.unwrap().tool_calls;
            assert_eq!(calls[0].arguments.as_str(), whole, "{version}");
        }
        for (text, code) in [
            ("{\"path\":\"a", "ARGS_INVALID_JSON"),
            ("{\"path\":\"a\"", "ARGS_INVALID_JSON"),
            ("null", "ARGS_NOT_OBJECT"),
            ("[{}]", "ARGS_NOT_OBJECT"),
            ("{\"a\":1,\"a\":2}", "ARGS_DUPLICATE_KEY"),
        ] {
            for (version, pointer, body) in bodies(text) {
                let verdict = verdict(&decoded_in_pieces(version, &body, strict, usize::MAX));
                assert_eq!(verdict, format!("{code} {pointer}"), "{version}: {text}");
            }
        }
    }
}

#[test]
fn the_repairs_of_several_calls_are_in_one_record() {
    let call = |text: &str| json!({"function": {"name": "f", "arguments": text}});
    let calls = [call("{a:1}"), call("{\"a\":2}"), call("{\"a\":3}}")];
    let body =
        json!({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let result = message(decoded_in_pieces(
        "openai-chat/1",
        &body.to_string(),
        false,
        usize::MAX,
    ));
    let repair = result.repair.unwrap();
    assert_eq!(repair.original, "{a:1}\n{\"a\":3}}");
    assert_eq!(repair.repaired, "{\"a\":1}\n{\"a\":3}");
    let at = |n: usize, step: &str| {
        format!("/choices/0/message/tool_calls/{n}/function/arguments: {step}")
    };
    assert_eq!(
        repair.steps,
        [at(0, "key_quoted"), at(2, "object_extracted")]
    );
}

#[test]
fn a_repaired_call_on_the_wire_is_no_call_of_a_text_profile() {
    let (_, _, body) = bodies("{a:1}").swap_remove(0);
    let decoded = decoded_in_pieces("openai-chat+hermes/1", &body, false, usize::MAX);
    let verdict = verdict(&decoded);
    assert!(!verdict.starts_with("End"), "{verdict}");
}

/// The same bodies, with the protocol's own word for an output that ended at its limit.
fn cut(body: &str) -> String {
    let whole = [
        (
            "\"finish_reason\":\"tool_calls\"",
            "\"finish_reason\":\"length\"",
        ),
        (
            "\"status\":\"completed\"",
            "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}",
        ),
        (
            "\"stop_reason\":\"tool_use\"",
            "\"stop_reason\":\"max_tokens\"",
        ),
        ("\"done_reason\":\"stop\"", "\"done_reason\":\"length\""),
    ];
    let found = whole.iter().find(|(end, _)| body.contains(end)).unwrap();
    body.replace(found.0, found.1)
}

#[test]
fn what_ends_an_output_that_was_cut_is_never_repaired() {
    for text in [
        r#"{"s":"rm -rf /tmp/x"}, "dry_run": tr"#,
        "{'a':1}",
        "{\"a\":1}} and",
        r#""{\"a\":1}""#,
    ] {
        for (version, pointer, body) in bodies(text) {
            let found = verdict(&decoded_in_pieces(version, &cut(&body), false, usize::MAX));
            let code = if text.starts_with('"') && !version.starts_with("anthropic") {
                "ARGS_NOT_OBJECT"
            } else {
                "ARGS_INVALID_JSON"
            };
            assert_eq!(found, format!("{code} {pointer}"), "{version}: {text}");
        }
    }
    // A reason that a server in between translated, and a response that reports only that it is not whole.
    let (version, pointer, body) = bodies("{'a':1}").swap_remove(0);
    let native = "\"finish_reason\":\"tool_calls\",\"native_finish_reason\":\"MAX_TOKENS\"";
    let body = body.replace("\"finish_reason\":\"tool_calls\"", native);
    let found = verdict(&decoded_in_pieces(version, &body, false, usize::MAX));
    assert_eq!(found, format!("ARGS_INVALID_JSON {pointer}"));
    let (version, pointer, body) = bodies("{'a':1}").swap_remove(3);
    let body = body.replace("completed", "incomplete");
    let found = verdict(&decoded_in_pieces(version, &body, false, usize::MAX));
    assert_eq!(found, format!("ARGS_INVALID_JSON {pointer}"));
}

#[test]
fn of_a_cut_output_the_last_call_is_left_out_and_those_before_it_are_repaired() {
    let call = |text: &str| json!({"function": {"name": "f", "arguments": text}});
    let calls = [call("{a:1}"), call("{b:2}")];
    let body = json!({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "length"}]});
    let result = message(decoded_in_pieces(
        "openai-chat/1",
        &body.to_string(),
        false,
        usize::MAX,
    ));
    let calls = result.canonical_message.unwrap().tool_calls;
    let calls_and_repairs: Vec<_> = calls
        .iter()
        .map(|call| (call.arguments.as_str(), call.fault))
        .collect();
    let lost = Some(FailureCode::ArgsInvalidJson);
    assert_eq!(calls_and_repairs, [("{\"a\":1}", None), ("{}", lost)]);
    let at = |n: usize, step: &str| {
        format!("/choices/0/message/tool_calls/{n}/function/arguments: {step}")
    };
    assert_eq!(
        result.repair.unwrap().steps,
        [at(0, "key_quoted"), at(1, "call_dropped")]
    );
}

#[test]
fn the_form_of_a_text_that_was_cut_is_not_completed() {
    let check = |version: &str, text: &str, reason: &str, expect: &str| {
        let body = json!({"choices": [{"message": {"content": text}, "finish_reason": reason}]});
        let found = verdict(&decoded_in_pieces(
            version,
            &body.to_string(),
            false,
            usize::MAX,
        ));
        assert_eq!(found, expect, "{version} {reason}: {text}");
    };
    let open = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}";
    let bare = "<function=f>\n<parameter=a>\n1\n</parameter>\n</function>";
    let pointer = "CALL_SHAPE /choices/0/message/content";
    let read = "End:  [call_1 f {\"a\":1}]";
    check("openai-chat+hermes/1", open, "stop", read);
    check("openai-chat+hermes/1", open, "length", pointer);
    check(
        "openai-chat+qwen/1",
        bare,
        "stop",
        "End:  [call_1 f {\"a\": \"1\"}]",
    );
    check("openai-chat+qwen/1", bare, "length", pointer);
}
