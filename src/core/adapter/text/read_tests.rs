//! Responses: what the text of a model becomes, blocking, streamed and byte by byte.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use crate::adapter::fixture::marked_text;
use crate::adapter::{Adapter, Decoded, ResponseMeta};
use crate::contract::TextProfile;

fn decode(profile: TextProfile, body: &str, piece: usize) -> Decoded {
    decode_as(profile.over("openai-chat/1").unwrap(), body, piece)
}

fn decode_as(version: &str, body: &str, piece: usize) -> Decoded {
    let meta = ResponseMeta {
        status: 200,
        ..ResponseMeta::default()
    };
    let mut decoder = Adapter::by_version(version).unwrap().decoder(meta, "asked");
    for bytes in body.as_bytes().chunks(piece) {
        decoder.push(bytes);
    }
    decoder.finish()
}

fn whole(text: &str, finish: &str) -> String {
    let message = json!({"role": "assistant", "content": text});
    json!({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}]})
        .to_string()
}

/// A stream whose deltas are `text` cut at `cuts`.
fn streamed(text: &str, cuts: &[usize], finish: &str) -> String {
    let mut body = String::new();
    let mut from = 0;
    let mut event = |delta: serde_json::Value, finish: serde_json::Value| {
        let chunk = json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        let _ = write!(body, "data: {chunk}\n\n");
    };
    for cut in cuts.iter().copied().chain([text.len()]) {
        event(json!({"content": &text[from..cut]}), json!(null));
        from = cut;
    }
    event(json!({}), json!(finish));
    body + "data: [DONE]\n\n"
}

/// One line: what became of the response, without the hash of its bytes.
fn verdict(decoded: &Decoded) -> String {
    let Decoded::Message(result) = decoded else {
        return format!("{decoded:?}");
    };
    let Some(message) = &result.canonical_message else {
        return format!(
            "{} {}",
            result.failure_code.unwrap(),
            result.pointer.as_deref().unwrap()
        );
    };
    let mut line = format!("{:?}", message.content);
    if let Some(reasoning) = &message.reasoning {
        let _ = write!(line, " ({reasoning})");
    }
    for call in &message.tool_calls {
        let _ = write!(line, " [{} {} {}]", call.id, call.name, call.arguments);
        assert_eq!(call.source_model, "m");
    }
    if let Some(repair) = &result.repair {
        let _ = write!(line, " repaired: {}", repair.steps.join(", "));
    }
    line
}

/// The same verdict however it comes.
fn check_ended(profile: TextProfile, text: &str, finish: &str, expect: &str) {
    assert_eq!(
        verdict(&decode(profile, &whole(text, finish), usize::MAX)),
        expect,
        "{text}"
    );
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let stream = streamed(text, &cuts, finish);
    assert_eq!(
        verdict(&decode(profile, &stream, 1)),
        expect,
        "streamed: {text}"
    );
}

fn check(profile: TextProfile, text: &str, expect: &str) {
    check_ended(profile, text, "stop", expect);
}

const CALL_SHAPE: &str = "CALL_SHAPE /choices/0/message/content";
const INVALID: &str = "ARGS_INVALID_JSON /choices/0/message/content";

#[test]
fn calls_between_tags_are_calls_and_the_rest_is_text() {
    for profile in [TextProfile::Hermes, TextProfile::Qwen] {
        let check = |text: &str, expect: &str| check(profile, text, expect);
        check("MIT.", "\"MIT.\"");
        check(
            "<tool_call>\n{\"name\": \"f\", \"arguments\": { \"a\" : 1.0e2 }}\n</tool_call>",
            "\"\" [call_1 f { \"a\" : 1.0e2 }]",
        );
        check(
            "I look.\n<tool_call>{\"arguments\":{},\"name\":\"f\"}</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call> So.",
            "\"I look.\\nSo.\" [call_1 f {}] [call_2 g {}]",
        );
        // A tag inside a string belongs to the string.
        check(
            r#"<tool_call>{"name":"f","arguments":{"t":"</tool_call><tool_call></think>"}}</tool_call>"#,
            r#""" [call_1 f {"t":"</tool_call><tool_call></think>"}]"#,
        );
        check(
            r#"<tool_call>{"type":"function","name":"f","arguments":{}}</tool_call>"#,
            r#""" [call_1 f {}]"#,
        );
    }
}

#[test]
fn text_that_is_not_this_form_is_text() {
    let fenced = "```json\n{\"name\":\"f\",\"arguments\":{}}\n```";
    for profile in TextProfile::ALL {
        check(profile, fenced, &format!("{fenced:?}"));
        check(profile, "a <tool_cal", "\"a <tool_cal\"");
        check(profile, r"<\|im_start_|>", r#""<\\|im_start_|>""#);
    }
    let bare = r#"{"name":"f","parameters":{}}"#;
    check(TextProfile::Hermes, bare, &format!("{bare:?}"));
    let tagged = r#"<tool_call>{"name":"f","arguments":{}}</tool_call>"#;
    check(TextProfile::Llama3, tagged, &format!("{tagged:?}"));
    let report = r#"{"name":"Ada","age":36}"#;
    check(TextProfile::Llama3, report, &format!("{report:?}"));
    let prose = format!("I would call {bare}");
    check(TextProfile::Llama3, &prose, &format!("{prose:?}"));
}

#[test]
fn an_escaped_marker_is_text_without_its_backslash() {
    check(
        TextProfile::Hermes,
        r"a <\tool_call> b",
        "\"a <tool_call> b\"",
    );
    check(TextProfile::Qwen, r"<\\/think>", r#""<\\/think>""#);
    check(
        TextProfile::Llama3,
        r#"\{"name":"f","parameters":{}}"#,
        r#""{\"name\":\"f\",\"parameters\":{}}""#,
    );
}

#[test]
fn markup_that_breaks_its_form_rejects_the_message() {
    let check = |text: &str, expect: &str| check(TextProfile::Hermes, text, expect);
    check("<tool_call>", INVALID);
    check("<tool_call>read it</tool_call>", INVALID);
    check(
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":</tool_call>",
        INVALID,
    );
    check("<tool_call>{\"name\":\"f\",\"arguments\":{}", INVALID);
    check(
        "<tool_call>{\"name\":\"f\",\"arguments\":{}} then <tool_call>",
        CALL_SHAPE,
    );
    check(
        "<tool_call>{\"name\":\"f\"}</tool_call>",
        "\"\" [call_1 f {}]",
    );
    check(
        "<tool_call>{\"name\":7,\"arguments\":{}}</tool_call>",
        CALL_SHAPE,
    );
    check(
        "<tool_call>{\"name\":\"f\",\"arguments\":{},\"x\":1}</tool_call>",
        CALL_SHAPE,
    );
    check(
        "<tool_call>{\"name\":\"f\",\"name\":\"g\",\"arguments\":{}}</tool_call>",
        CALL_SHAPE,
    );
    check("<tool_call>[\"f\",{}]</tool_call>", CALL_SHAPE);
    check("so be it</tool_call>", CALL_SHAPE);
    check(
        "<tool_call><tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
        INVALID,
    );
    let content = "/choices/0/message/content";
    for (arguments, code) in [
        ("null", "ARGS_NOT_OBJECT"),
        ("[]", "ARGS_NOT_OBJECT"),
        ("1", "ARGS_NOT_OBJECT"),
        ("\"x\"", "ARGS_NOT_OBJECT"),
        ("{\"a\":1,\"a\":2}", "ARGS_DUPLICATE_KEY"),
    ] {
        let text = format!("<tool_call>{{\"name\":\"f\",\"arguments\":{arguments}}}</tool_call>");
        check(&text, &format!("{code} {content}"));
    }
    check(
        "<tool_call>{\"name\":\"\",\"arguments\":{}}</tool_call>",
        &format!("CALL_NAME_MISSING {content}"),
    );
    let many = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>".repeat(129);
    let body = whole(&many, "stop");
    let got = verdict(&decode(TextProfile::Hermes, &body, usize::MAX));
    assert_eq!(got, format!("TOO_MANY_CALLS {content}"));
}

/// Only a tool answers in the form of a result: what a model writes so, it invents.
#[test]
fn a_message_that_invents_a_result_is_no_answer() {
    for profile in [TextProfile::Hermes, TextProfile::Qwen] {
        let check = |text: &str, expect: &str| check(profile, text, expect);
        let invented = r#"<tool_response>{"name": "f", "content": "6"}</tool_response>"#;
        check(invented, CALL_SHAPE);
        check(&format!("I looked.\n  {invented}"), CALL_SHAPE);
        check(&format!("<think>\nso\n</think>\n\n{invented}"), CALL_SHAPE);
        // Talk about the tag is text, in a line or in code.
        let talk = "The tag <tool_response> holds a result.";
        check(talk, &format!("{talk:?}"));
        let code = "So:\n```\n<tool_response>\n```";
        check(code, &format!("{code:?}"));
        // Beside a call it is text, and the call runs.
        check(
            &format!("<tool_call>{{\"name\":\"f\",\"arguments\":{{}}}}</tool_call>\n{invented}"),
            &format!("{invented:?} [call_1 f {{}}]"),
        );
    }
    let text = "<tool_response>6</tool_response>";
    check(TextProfile::Llama3, text, &format!("{text:?}"));
}

#[test]
fn calls_of_llama_are_the_whole_message_or_follow_the_tag() {
    let check = |text: &str, expect: &str| check(TextProfile::Llama3, text, expect);
    let f = r#"{"name": "f", "parameters": {"a": "</think>; <|python_tag|>"}}"#;
    let called = r#"f {"a": "</think>; <|python_tag|>"}]"#;
    check(f, &format!("\"\" [call_1 {called}"));
    check(
        &format!("\n {f};\n{f}; "),
        &format!("\"\" [call_1 {called} [call_2 {called}"),
    );
    check(
        &format!("Now:\n<|python_tag|>{f}"),
        &format!("\"Now:\" [call_1 {called}"),
    );
    check("<|python_tag|>f(a=1)", INVALID);
    check("{\"name\": \"f\", \"parameters\": {\"a", INVALID);
    check(&format!("{f} and {f}"), CALL_SHAPE);
    check(&format!("<|python_tag|>{f} <|python_tag|>{f}"), CALL_SHAPE);
}

#[test]
fn reasoning_is_split_off_and_never_holds_a_call() {
    for profile in [TextProfile::Hermes, TextProfile::Qwen] {
        let check = |text: &str, expect: &str| check(profile, text, expect);
        let call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
        check("<think>\nhm\n</think>\n\nMIT.", "\"MIT.\" (hm)");
        check("hm</think>MIT.", "\"MIT.\" (hm)");
        check(
            &format!("<think>{call}</think>MIT."),
            &format!("\"MIT.\" ({call})"),
        );
        check(
            &format!("<think>hm</think>{call}"),
            "\"\" (hm) [call_1 f {}]",
        );
        check("<think></think>MIT.", "\"MIT.\"");
        check("<think>hm", "\"\" (hm)");
        check("see <think>", "\"see <think>\"");
    }
    check(
        TextProfile::Llama3,
        "<think>hm</think>MIT.",
        "\"MIT.\" (hm)",
    );
}

#[test]
fn a_repair_is_named_and_still_validated() {
    use TextProfile::{Hermes, Llama3};
    check(
        Hermes,
        "So: <tool_call>{\"name\":\"f\",\"arguments\":{}}\n",
        "\"So:\" [call_1 f {}] repaired: call_closed",
    );
    check(
        Hermes,
        r#"<think>é</think><tool_call>{"name":"f","arguments":"{\"a\": 1}"}</tool_call>"#,
        r#""" (é) [call_1 f {"a": 1}] repaired: arguments_unquoted"#,
    );
    check(
        Hermes,
        r#"<tool_call>{"name":"f","parameters":"{}"}"#,
        r#""" [call_1 f {}] repaired: arguments_key, arguments_unquoted, call_closed"#,
    );
    check(
        Llama3,
        r#"<|python_tag|>{"name":"f","arguments":{}}"#,
        r#""" [call_1 f {}] repaired: arguments_key"#,
    );
    check(
        Hermes,
        r#"<tool_call>{"name":"f","arguments":"{\"a\""}</tool_call>"#,
        "ARGS_NOT_OBJECT /choices/0/message/content",
    );
    let wrong = r#"<tool_call>{"name":"f","parameters":{}}</tool_call>"#;
    let eight = check_repairs(&wrong.repeat(8));
    assert!(eight.ends_with("arguments_key"), "{eight}");
    assert_eq!(check_repairs(&wrong.repeat(9)), CALL_SHAPE);
}

fn check_repairs(text: &str) -> String {
    verdict(&decode(
        TextProfile::Hermes,
        &whole(text, "stop"),
        usize::MAX,
    ))
}

#[test]
fn a_repair_records_what_came_and_what_was_read() {
    let text = r#"<tool_call>{"name":"f","arguments":{}}"#;
    let Decoded::Message(result) = decode(TextProfile::Qwen, &whole(text, "stop"), 7) else {
        panic!("no message");
    };
    let repair = result.repair.unwrap();
    assert_eq!(result.adapter_version, "openai-chat+qwen/1");
    assert_eq!(repair.original, text);
    assert_eq!(repair.repaired, format!("{text}</tool_call>"));
}

#[test]
fn the_text_of_a_refusal_is_neither_call_nor_markup() {
    let text = "<tool_call>";
    check_ended(
        TextProfile::Hermes,
        text,
        "content_filter",
        "\"<tool_call>\"",
    );
    check_ended(TextProfile::Hermes, text, "length", INVALID);
}

#[test]
fn a_call_on_the_wire_is_none_that_was_offered() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"content": null, "tool_calls": [call]});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let got = verdict(&decode(TextProfile::Hermes, &body.to_string(), usize::MAX));
    assert_eq!(got, "CALL_UNEXPECTED /choices/0/message/tool_calls");
}

proptest! {
    #[test]
    fn where_a_stream_is_cut_changes_nothing(
        text in marked_text(),
        cut_points in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        piece in 1_usize..40,
    ) {
        for profile in TextProfile::ALL {
            let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let mut cuts: Vec<usize> = if bounds.is_empty() {
                Vec::new()
            } else {
                cut_points.iter().map(|cut_point| *cut_point.get(&bounds)).collect()
            };
            cuts.sort_unstable();
            let blocking = verdict(&decode(profile, &whole(&text, "stop"), usize::MAX));
            let stream = verdict(&decode(profile, &streamed(&text, &cuts, "stop"), piece));
            prop_assert_eq!(blocking, stream);
        }
    }
}

#[test]
fn calls_are_read_from_the_text_of_other_wire_protocols_too() {
    let call =
        "Let me look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let line = |content: &str, done: bool| {
        json!({"model": "m", "message": {"role": "assistant", "content": content}, "done": done, "done_reason": if done { json!("stop") } else { json!(null) }})
            .to_string()
    };
    let (head, tail) = call.split_at(20);
    let streamed = format!(
        "{}\n{}\n{}\n",
        line(head, false),
        line(tail, false),
        line("", true)
    );
    let bodies = [
        ("ollama-chat/1", line(call, true)),
        ("ollama-chat/1", streamed),
        ("openrouter-chat/1", whole(call, "stop")),
    ];
    for (wire, body) in bodies {
        let version = TextProfile::Hermes.over(wire).unwrap();
        for piece in [1, body.len()] {
            let read = verdict(&decode_as(version, &body, piece));
            let native = verdict(&decode(TextProfile::Hermes, &whole(call, "stop"), 1));
            assert_eq!(read, native, "{version}");
        }
    }
    let version = TextProfile::Qwen.over("ollama-chat/1").unwrap();
    let cut = line("<tool_call>\n{\"name\": ", true);
    let read = verdict(&decode_as(version, &cut, cut.len()));
    assert_eq!(read, "ARGS_INVALID_JSON /message/content");
    let called = json!({"message": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}, "done": true}).to_string();
    let read = verdict(&decode_as(version, &called, 1));
    assert_eq!(read, "CALL_UNEXPECTED /message/tool_calls");
}
