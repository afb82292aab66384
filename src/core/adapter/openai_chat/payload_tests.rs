//! Synthetic responses: one for every rule.

use super::test_support::{call, check, decode, message, result, stream, verdict, whole};
use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::message::{AdapterStatus, Digest, Usage};

const AT_ARGS: &str = "/choices/0/message/tool_calls/0/function/arguments";

#[test]
fn text_comes_as_string_null_or_parts() {
    check(&whole(r#"{"content":"hi"}"#, "stop"), "End: hi");
    check(&whole(r#"{"content":null}"#, "stop"), "End: ");
    check(&whole(r#"{"content":""}"#, "stop"), "End: ");
    check(&whole("{}", "stop"), "End: ");
    check(
        &whole(
            r#"{"content":[{"type":"text","text":"a"},"b",{"type":"reference","reference_ids":[1]},{"text":"c"}]}"#,
            "stop",
        ),
        "End: abc",
    );
    check(
        &whole(r#"{"content":{"text":"a"}}"#, "stop"),
        "MESSAGE_SHAPE /choices/0/message/content",
    );
    check(
        &whole(r#"{"content":["a",7]}"#, "stop"),
        "MESSAGE_SHAPE /choices/0/message/content/1",
    );
    check(
        &whole(r#"{"content":"\ud800"}"#, "stop"),
        "fault BODY_INVALID_JSON /choices/0/message/content",
    );
}

#[test]
fn every_dialect_of_reasoning_is_reasoning_once() {
    let check = |body: &str| {
        let message = message(body);
        assert_eq!(message.reasoning.as_deref(), Some("why"), "{body}");
        assert_eq!(message.content, "hi", "{body}");
    };
    check(&whole(r#"{"content":"hi","reasoning":"why"}"#, "stop"));
    check(&whole(
        r#"{"content":"hi","reasoning_content":"why","reasoning":"why"}"#,
        "stop",
    ));
    let details = r#"[{"type":"reasoning.text","text":"w"},{"type":"reasoning.encrypted","data":"x"},{"type":"reasoning.summary","summary":"hy"}]"#;
    check(&whole(
        &format!(r#"{{"content":"hi","reasoning_details":{details}}}"#),
        "stop",
    ));
    check(&whole(
        &format!(r#"{{"content":"hi","reasoning":"why","reasoning_details":{details}}}"#),
        "stop",
    ));
    check(&whole(
        r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}],"closed":true},{"type":"text","text":"hi"}]}"#,
        "stop",
    ));
    check(&stream(
        &[
            r#"{"reasoning_content":"w"}"#,
            r#"{"reasoning":"hy"}"#,
            r#"{"content":"hi","reasoning":null}"#,
        ],
        "stop",
    ));
    assert_eq!(
        message(&whole(r#"{"content":"hi","reasoning":""}"#, "stop")).reasoning,
        None
    );
}

#[test]
fn arguments_are_the_text_of_one_object_or_the_message_is_rejected() {
    let at = |code: &str| format!("{code} {AT_ARGS}");
    check(
        &whole(&call(r#""{\"a\": 1e400 }""#), "tool_calls"),
        "End:  [a f {\"a\": 1e400 }]",
    );
    for cut in [r#""{\"a\":""#, r#""{} {}""#, r#""{'a':1}""#, r#""\ud800""#] {
        for finish in ["tool_calls", "length", "stop"] {
            check(&whole(&call(cut), finish), &at("ARGS_INVALID_JSON"));
        }
    }
    for other in [r#""null""#, r#""[]""#, r#""\"x\"""#] {
        check(&whole(&call(other), "tool_calls"), &at("ARGS_NOT_OBJECT"));
    }
    for other in ["1", "true", "[1]", "{}"] {
        check(&whole(&call(other), "tool_calls"), &at("CALL_SHAPE"));
    }
    check(
        &whole(&call(r#""{\"p\":1,\"p\":2}""#), "tool_calls"),
        &at("ARGS_DUPLICATE_KEY"),
    );
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let deep = serde_json::Value::from(deep).to_string();
    check(&whole(&call(&deep), "tool_calls"), &at("ARGS_TOO_DEEP"));
    // A blank text, or no field at all, is what a cut leaves behind, and no arguments where the output ended.
    for (finish, expect) in [
        ("tool_calls", "End:  [a f {}]"),
        (
            "length",
            "ARGS_INVALID_JSON /choices/0/message/tool_calls/0/function/arguments",
        ),
        (
            "novel",
            "ARGS_INVALID_JSON /choices/0/message/tool_calls/0/function/arguments",
        ),
    ] {
        let bare = call("null").replace(r#","arguments":null"#, "");
        check(&whole(&call("null"), finish), expect);
        check(&whole(&call(r#""""#), finish), expect);
        check(&whole(&call(r#"" \n""#), finish), expect);
        check(&stream(&[&call(r#""""#)], finish), expect);
        check(&whole(&bare, finish), expect);
        check(&stream(&[&bare], finish), expect);
        let native = whole(&bare, finish).replace(
            r#""finish_reason""#,
            r#""native_finish_reason":"max_output_tokens","finish_reason""#,
        );
        check(&native, &at("ARGS_INVALID_JSON"));
    }
}

#[test]
fn under_strict_mode_another_shape_is_rejected_at_its_pointer() {
    let piece =
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 1}}}]}"#;
    let at_args = format!("CALL_SHAPE {AT_ARGS}");
    check(&whole(&call(r#"{"x": 1}"#), "tool_calls"), &at_args);
    check(&stream(&[piece], "stop"), &at_args);
    let user = r#"{"role":"user","content":"x"}"#;
    check(
        &whole(user, "stop"),
        "MESSAGE_SHAPE /choices/0/message/role",
    );
    check(
        &stream(&[user], "stop"),
        "MESSAGE_SHAPE /choices/0/message/role",
    );
    let image = r#"{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}}]}"#;
    check(
        &whole(image, "stop"),
        "MESSAGE_SHAPE /choices/0/message/content/1",
    );
    check(
        &stream(&[image], "stop"),
        "MESSAGE_SHAPE /choices/0/message/content/1",
    );
}

#[test]
fn without_strict_mode_another_shape_is_a_recorded_repair() {
    let recovered = |body: &str| {
        let adapter = Adapter::by_version("openai-chat/1").unwrap().under(false);
        let meta = ResponseMeta {
            status: 200,
            ..ResponseMeta::default()
        };
        let mut decoder = adapter.decoder(meta, "m");
        decoder.push(body.as_bytes());
        let Decoded::Message(result) = decoder.finish() else {
            panic!("a fault: {body}");
        };
        assert_eq!(result.status, AdapterStatus::Recovered, "{body}");
        let message = result.canonical_message.unwrap();
        let arguments = message
            .tool_calls
            .iter()
            .map(|call| call.arguments.as_str());
        let arguments: Vec<String> = arguments.map(str::to_owned).collect();
        (message.content, arguments, result.repair.unwrap().steps)
    };
    let piece =
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{ "b":1.50 }}}]}"#;
    let quoted = vec![format!("{AT_ARGS}: arguments_quoted")];
    for body in [whole(piece, "tool_calls"), stream(&[piece], "stop")] {
        let expect = (
            String::new(),
            vec![r#"{ "b":1.50 }"#.to_owned()],
            quoted.clone(),
        );
        assert_eq!(recovered(&body), expect);
    }
    let user = r#"{"role":"user","content":"x"}"#;
    for body in [
        whole(user, "stop"),
        stream(&[user, r#"{"role":"user"}"#], "stop"),
    ] {
        let steps = vec!["/choices/0/message/role: role_replaced".to_owned()];
        assert_eq!(recovered(&body), ("x".to_owned(), Vec::new(), steps));
    }
    let image = r#"{"content":[{"type":"text","text":"a"},{"type":"output_image"}]}"#;
    let steps = vec!["/choices/0/message/content/1: part_dropped".to_owned()];
    assert_eq!(
        recovered(&whole(image, "stop")),
        ("a".to_owned(), Vec::new(), steps)
    );
}

#[test]
fn a_call_of_another_shape_is_rejected_at_its_pointer() {
    let calls = |calls: &str, expect: &str| {
        check(
            &whole(&format!(r#"{{"tool_calls":{calls}}}"#), "tool_calls"),
            expect,
        );
    };
    let ok = r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#;
    calls("[]", "End: ");
    calls("null", "End: ");
    calls(r#"{"id":"a"}"#, "CALL_SHAPE /choices/0/message/tool_calls");
    calls(
        &format!("[{ok},7]"),
        "CALL_SHAPE /choices/0/message/tool_calls/1",
    );
    calls(
        r#"[{"id":"a","name":"f","arguments":"{}"}]"#,
        "CALL_SHAPE /choices/0/message/tool_calls/0/function",
    );
    calls(
        r#"[{"id":"a","function":"f"}]"#,
        "CALL_SHAPE /choices/0/message/tool_calls/0/function",
    );
    calls(
        r#"[{"id":"a","function":{"name":7,"arguments":"{}"}}]"#,
        "CALL_SHAPE /choices/0/message/tool_calls/0/function/name",
    );
    calls(
        r#"[{"id":"a","type":"custom","custom":{"name":"f","input":"x"}}]"#,
        "CALL_SHAPE /choices/0/message/tool_calls/0/type",
    );
    for nameless in [
        r#"{"arguments":"{}"}"#,
        r#"{"name":"","arguments":"{}"}"#,
        r#"{"name":null}"#,
    ] {
        calls(
            &format!(r#"[{ok},{{"id":"b","function":{nameless}}}]"#),
            "CALL_NAME_MISSING /choices/0/message/tool_calls/1/function/name",
        );
    }
    calls(
        &format!("[{ok},{ok}]"),
        "CALL_ID_DUPLICATE /choices/0/message/tool_calls/1/id",
    );
}

#[test]
fn the_call_of_the_dialect_before_tools_is_no_call_of_ours() {
    check(
        &whole(
            r#"{"content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
            "function_call",
        ),
        "CALL_SHAPE /choices/0/message/function_call",
    );
    check(
        &whole(
            r#"{"content":"x","function_call":{"name":"","arguments":" "}}"#,
            "stop",
        ),
        "End: x",
    );
    check(
        &whole(r#"{"content":"x","function_call":null}"#, "stop"),
        "End: x",
    );
}

#[test]
fn missing_ids_are_made_from_the_place_and_never_collide() {
    let body = whole(
        r#"{"tool_calls":[
            {"id":"call_2","function":{"name":"a","arguments":"{}"}},
            {"function":{"name":"b","arguments":"{}"}},
            {"id":"","function":{"name":"c","arguments":"{}"}},
            {"id":7,"function":{"name":"d","arguments":"{}"}}]}"#,
        "stop",
    );
    check(
        &body,
        "End:  [call_2 a {}] [call_3 b {}] [call_4 c {}] [7 d {}]",
    );
}

#[test]
fn the_129th_call_rejects_the_message() {
    let calls = |n: usize| {
        let one = r#"{"function":{"name":"f","arguments":"{}"}}"#;
        whole(
            &format!(r#"{{"tool_calls":[{}]}}"#, vec![one; n].join(",")),
            "tool_calls",
        )
    };
    assert_eq!(message(&calls(128)).tool_calls.len(), 128);
    for n in [129, 5_000] {
        let decoded = decode([calls(n).as_bytes()]);
        assert_eq!(
            verdict(&decoded),
            "TOO_MANY_CALLS /choices/0/message/tool_calls/128"
        );
    }
    let deltas: Vec<String> = (0..129)
        .map(|i| {
            format!(
                r#"{{"tool_calls":[{{"index":{i},"function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
            )
        })
        .collect();
    let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
    let decoded = decode([stream(&deltas, "tool_calls").as_bytes()]);
    assert_eq!(
        verdict(&decoded),
        "TOO_MANY_CALLS /choices/0/message/tool_calls/128"
    );
}

#[test]
fn the_stop_reason_is_read_and_proves_nothing() {
    for (finish, expect) in [
        ("stop", "End"),
        ("tool_calls", "Unknown"),
        ("function_call", "Unknown"),
        ("eos", "End"),
        ("eos_token", "End"),
        ("end_turn", "End"),
        ("stop_sequence", "End"),
        ("COMPLETE", "End"),
        ("model_context_window_exceeded", "Length"),
        ("sensitive", "ContentFilter"),
        ("OTHER", "Unknown"),
        ("null", "Unknown"),
        ("length", "Length"),
        ("content_filter", "ContentFilter"),
        ("", "Unknown"),
        ("whatever", "Unknown"),
    ] {
        check(
            &whole(r#"{"content":"x"}"#, finish),
            &format!("{expect}: x"),
        );
    }
    for broken in [
        "network_error",
        "abort",
        "error",
        "insufficient_system_resource",
    ] {
        check(&whole(r#"{"content":"x"}"#, broken), "fault model");
        check(&stream(&[r#"{"content":"x"}"#], broken), "fault model");
    }
    let word = |finish: &str| result(&whole(r#"{"content":"x"}"#, finish)).stop_word;
    assert_eq!(word(r"whatever\u0007").as_deref(), Some(r"whatever\u0007"));
    assert_eq!(word("stop"), None);
    assert_eq!(word(""), None);
    assert!(word(&"é".repeat(500)).unwrap().len() <= 200);
    check(
        &whole(r#"{"content":null,"refusal":"I will not"}"#, "stop"),
        "Refusal: I will not",
    );
    check(&whole(r#"{"content":"x","refusal":""}"#, "stop"), "End: x");
    check(
        &whole(r#"{"content":[{"type":"refusal","refusal":"no"}]}"#, "stop"),
        "Refusal: no",
    );
    // A cut is cut whatever the reason, and a whole call is whole.
    check(&whole(&call(r#""{}""#), "length"), "Length:  [a f {}]");
}

#[test]
fn a_content_filter_that_leaves_the_message_out_is_a_content_filter() {
    let filtered = r#"{"choices":[{"index":0,"finish_reason":"content_filter","content_filter_results":{"hate":{"filtered":true}}}]}"#;
    check(filtered, "ContentFilter: ");
    check(
        &format!("data: {filtered}\n\ndata: [DONE]\n\n"),
        "ContentFilter: ",
    );
    let stopped = filtered.replace("\"content_filter\"", "\"stop\"");
    check(&stopped, "fault BODY_SHAPE /choices/0/message");
}

#[test]
fn only_the_choice_of_index_0_counts() {
    check(
        r#"{"choices":[{"index":1,"message":{"content":"b"},"finish_reason":"length"},{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#,
        "End: a",
    );
    check(
        r#"{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}"#,
        "Unknown: a",
    );
    check(
        r#"{"choices":[{"index":1,"message":{"content":"b"}}]}"#,
        "fault BODY_SHAPE /choices/0/message",
    );
    check(
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\n",
        "Length: a",
    );
}

#[test]
fn a_body_without_a_message_is_described() {
    check("{}", "fault BODY_SHAPE /choices/0/message");
    check(r#"{"choices":[]}"#, "fault BODY_SHAPE /choices/0/message");
    check(r#"{"choices":{}}"#, "fault BODY_SHAPE /choices");
    check(r#"{"choices":[7]}"#, "fault BODY_SHAPE /choices/0");
    check(
        r#"{"choices":[{"message":"x"}]}"#,
        "MESSAGE_SHAPE /choices/0/message",
    );
    check(
        r#"{"object":"text_completion","choices":[{"text":"x","finish_reason":"stop"}]}"#,
        "fault BODY_SHAPE /choices/0/message",
    );
    check(
        r#"{"choices":[{"message":{"content":"x""#,
        "fault BODY_INVALID_JSON ",
    );
    check("{\"choices\":[]}x", "fault BODY_INVALID_JSON ");
    for no_answer in [
        "",
        " \n",
        "<html>x</html>",
        "[]",
        "upstream error",
        "\u{feff}",
        "null",
    ] {
        check(no_answer, "fault invalid_response");
    }
    let bytes = b"{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}";
    assert_eq!(
        verdict(&decode([bytes.as_slice()])),
        "fault BODY_INVALID_JSON "
    );
}

#[test]
fn a_body_or_line_beyond_the_bound_is_too_large() {
    let block = vec![b'x'; 1024 * 1024];
    let long_line =
        std::iter::once(b"data: ".as_slice()).chain(std::iter::repeat_n(block.as_slice(), 17));
    assert_eq!(verdict(&decode(long_line)), "TOO_LARGE ");
    let body = std::iter::once(b"{\"choices\":\"".as_slice())
        .chain(std::iter::repeat_n(block.as_slice(), 64));
    assert_eq!(verdict(&decode(body)), "TOO_LARGE ");
    let comments = format!(": {}\n", "x".repeat(1024 * 1024));
    assert_eq!(
        verdict(&decode(std::iter::repeat_n(comments.as_bytes(), 64))),
        "TOO_LARGE "
    );
}

#[test]
fn usage_is_taken_from_wherever_it_is_reported() {
    let check = |body: &str| {
        let usage = result(body).usage;
        let expect = Usage {
            input: 3,
            output: 4,
            ..Usage::default()
        };
        assert_eq!(usage, Some(expect), "{body}");
    };
    let usage = r#"{"prompt_tokens":3,"completion_tokens":4}"#;
    let body = whole(r#"{"content":"x"}"#, "stop");
    check(&body.replace("{\"id\"", &format!("{{\"usage\":{usage},\"id\"")));
    check(&body.replace(
        "{\"id\"",
        &format!("{{\"x_groq\":{{\"usage\":{usage}}},\"id\""),
    ));
    check(&body.replace("{\"index\"", &format!("{{\"usage\":{usage},\"index\"")));
    let cut = format!(
        "{}data: {{\"choices\":[],\"usage\":{usage}}}\n\ndata: {{\"choices\":[],\"usage\":null}}\n\n",
        stream(&[r#"{"content":"x"}"#], "stop").replace("data: [DONE]\n\n", "")
    );
    check(&cut);
    assert_eq!(result(&body).usage, None);
}

#[test]
fn the_hash_is_over_the_bytes_as_received() {
    let body = stream(&[r#"{"content":"x"}"#], "stop") + "trailing";
    assert_eq!(result(&body).raw_hash, Digest::of(body.as_bytes()));
    let Decoded::Fault { fault, .. } = decode([b"<html>".as_slice()]) else {
        panic!("no fault");
    };
    assert_eq!(fault.raw_hash, Some(Digest::of(b"<html>")));
    assert_eq!(
        fault.message,
        "the body is a web page (text/html), no JSON object: base_url leads to something else than the model's API: <html>"
    );
}
