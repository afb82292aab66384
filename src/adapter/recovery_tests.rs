//! Argument text that is no JSON object, under strict mode and without it, in every protocol that carries it as text.

use serde_json::json;

use super::fixture::verdict;
use super::{Adapter, Decoded, ResponseMeta};
use crate::message::{AdapterStatus, ProtocolAdapterResult};

fn judge(version: &str, body: &str, strict: bool, piece: usize) -> Decoded {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let adapter = Adapter::by_version(version).unwrap().under(strict);
    let mut decoder = adapter.decoder(meta, "m");
    for bytes in body.as_bytes().chunks(piece) {
        decoder.push(bytes);
    }
    decoder.finish()
}

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
        ("openai-chat/2", chat, body.to_string()),
        ("openai-chat/2", chat, stream.clone()),
        ("openrouter-chat/2", chat, stream),
        (
            "openai-responses/2",
            "/output/0/arguments",
            items.to_string(),
        ),
        ("anthropic-messages/2", "/content/0/input", blocks),
        (
            "ollama-chat/2",
            "/message/tool_calls/0/function/arguments",
            line.to_string(),
        ),
    ]
}

#[test]
fn only_without_strict_mode_is_an_argument_text_repaired_and_the_repair_is_recorded() {
    let original = "{'path': 'a',}";
    for (version, place, body) in bodies(original) {
        let strict = judge(version, &body, true, usize::MAX);
        assert_eq!(
            verdict(&strict),
            format!("ARGS_INVALID_JSON {place}"),
            "{version}"
        );
        // Who asks an adapter without a contract gets the strict one.
        let alone = Adapter::by_version(version).unwrap();
        assert_eq!(alone, alone.under(true));
        let lenient = message(judge(version, &body, false, usize::MAX));
        assert_eq!(lenient.status, AdapterStatus::Recovered, "{version}");
        assert_eq!(
            (lenient.failure_code, lenient.pointer.as_deref()),
            (None, None)
        );
        let repair = lenient.repair.as_ref().unwrap();
        assert_eq!(repair.original, original);
        assert_eq!(repair.repaired, "{\"path\": \"a\"}");
        let steps = ["quotes_replaced", "comma_removed"].map(|step| format!("{place}: {step}"));
        assert_eq!(repair.steps, steps, "{version}");
        let calls = &lenient.canonical_message.as_ref().unwrap().tool_calls;
        assert_eq!(calls[0].arguments.as_str(), repair.repaired);
        for piece in [1, 7] {
            assert_eq!(
                message(judge(version, &body, false, piece)),
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
            let result = message(judge(version, &body, strict, usize::MAX));
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
            for (version, place, body) in bodies(text) {
                let verdict = verdict(&judge(version, &body, strict, usize::MAX));
                assert_eq!(verdict, format!("{code} {place}"), "{version}: {text}");
            }
        }
    }
}

#[test]
fn the_repairs_of_several_calls_stand_in_one_record() {
    let call = |text: &str| json!({"function": {"name": "f", "arguments": text}});
    let calls = [call("{a:1}"), call("{\"a\":2}"), call("{\"a\":3}}")];
    let body =
        json!({"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let result = message(judge("openai-chat/2", &body.to_string(), false, usize::MAX));
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
    let decoded = judge("openai-chat+hermes/2", &body, false, usize::MAX);
    let verdict = verdict(&decoded);
    assert!(!verdict.starts_with("End"), "{verdict}");
}
