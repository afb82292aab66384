//! The stop reasons of a response that has several of them, and those that its message contradicts.

use serde_json::{Value, json};

use super::Decoded;
use super::fixture::{check, decode, events, verdict};

/// A chat body with that text and those members of its choice, whole and as a stream.
fn chat(finish: &Value) -> [String; 2] {
    let choice = |kind: &str, part: Value, ends: bool| {
        let mut choice = json!({"index": 0});
        choice[kind] = part;
        for (key, value) in finish.as_object().unwrap().iter().filter(|_| ends) {
            choice[key] = value.clone();
        }
        json!({"choices": [choice]}).to_string()
    };
    let text = json!({"content": "The first"});
    let pieces = [
        choice("delta", text.clone(), false),
        choice("delta", json!({}), true),
        "[DONE]".to_owned(),
    ];
    let pieces = pieces.each_ref().map(String::as_str);
    [choice("message", text, true), events(&pieces)]
}

#[test]
fn the_word_of_an_upstream_is_a_cut_a_filter_or_a_fault_beside_a_natural_end() {
    for (upstream, expect) in [
        ("MAX_TOKENS", "Length: The first"),
        ("length", "Length: The first"),
        ("model_context_window_exceeded", "Length: The first"),
        ("SAFETY", "ContentFilter: The first"),
        ("sensitive", "ContentFilter: The first"),
        ("refusal", "Refusal: The first"),
        ("network_error", "fault model"),
        ("abort", "fault model"),
        (
            "MALFORMED_FUNCTION_CALL",
            "CALL_MALFORMED /choices/0/finish_reason",
        ),
        ("end_turn", "End: The first"),
        ("completed", "End: The first"),
        // Not in the table: the server in between knows it.
        ("OTHER", "End: The first"),
        ("weather", "End: The first"),
    ] {
        let finish = json!({"finish_reason": "stop", "native_finish_reason": upstream});
        for version in ["openai-chat/1", "openrouter-chat/1"] {
            for body in chat(&finish) {
                check(version, body, expect);
            }
        }
    }
    // It is no end where the server in between gives none.
    let finish = json!({"finish_reason": "weather", "native_finish_reason": "stop"});
    for body in chat(&finish) {
        check("openai-chat/1", body, "Unknown: The first");
    }
}

#[test]
fn no_later_word_takes_back_a_cut_a_filter_or_a_fault() {
    for (words, expect) in [
        (["length", "stop"], "Length: x"),
        (["stop", "length"], "Length: x"),
        (["sensitive", "stop"], "ContentFilter: x"),
        (["content_filter", "length"], "ContentFilter: x"),
        (["length", "content_filter"], "ContentFilter: x"),
        (["error", "stop"], "fault model"),
        (["length", "error"], "fault model"),
        (["error", "weather"], "fault model"),
        (["weather", "stop"], "End: x"),
        (["stop", "weather"], "Unknown: x"),
    ] {
        let chunk = |delta: Value, word: &str| {
            json!({"choices": [{"index": 0, "delta": delta, "finish_reason": word}]}).to_string()
        };
        let [first, last] = words;
        let chunks = [
            chunk(json!({"content": "x"}), first),
            chunk(json!({}), last),
            "[DONE]".to_owned(),
        ];
        let chunks = chunks.each_ref().map(String::as_str);
        check("openai-chat/1", events(&chunks), expect);
    }
    let delta =
        |word: &str| json!({"type": "message_delta", "delta": {"stop_reason": word}}).to_string();
    let start = json!({"type": "message_start", "message": {"role": "assistant", "content": []}});
    let text = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}});
    let all = [
        start.to_string(),
        text.to_string(),
        json!({"type": "content_block_stop", "index": 0}).to_string(),
        delta("max_tokens"),
        delta("end_turn"),
        json!({"type": "message_stop"}).to_string(),
    ];
    let all = all.each_ref().map(String::as_str);
    check("anthropic-messages/1", events(&all), "Length: x");
}

#[test]
fn a_response_is_cut_where_an_item_or_its_last_event_says_so() {
    let item = |status: &str| {
        let content = json!([{"type": "output_text", "text": "half"}]);
        json!({"type": "message", "role": "assistant", "status": status, "content": content})
    };
    let response = |status: &str, items: Value| json!({"object": "response", "status": status, "output": items});
    let version = "openai-responses/1";
    for (status, expect) in [("incomplete", "Length: half"), ("completed", "End: half")] {
        let whole = response("completed", json!([item(status)]));
        check(version, whole.to_string(), expect);
        let done =
            json!({"type": "response.output_item.done", "output_index": 0, "item": item(status)});
        for items in [json!([item(status)]), json!([])] {
            let end =
                json!({"type": "response.completed", "response": response("completed", items)});
            let stream = events(&[&done.to_string(), &end.to_string()]);
            check(version, stream, expect);
        }
    }
    let kind = |kind: &str| {
        let response = response("completed", json!([item("completed")]));
        events(&[&json!({"type": kind, "response": response}).to_string()])
    };
    check(version, kind("response.incomplete"), "Length: half");
    check(version, kind("response.failed"), "fault model");
}

#[test]
fn text_that_ended_at_a_call_has_lost_the_call() {
    let stop_word = |version: &str, body: &str| match decode(version, [body.as_bytes()]) {
        Decoded::Message(result) => result.stop_word,
        fault @ Decoded::Fault { .. } => panic!("{}", verdict(&fault)),
    };
    for word in ["tool_calls", "TOOL_CALL", "function_call"] {
        for body in chat(&json!({"finish_reason": word})) {
            check("openai-chat/1", &body, "Unknown: The first");
            let expect = format!("{word}, but no call came");
            assert_eq!(stop_word("openai-chat/1", &body), Some(expect));
        }
    }
    let content = json!([{"type": "text", "text": "x"}]);
    let body = json!({"type": "message", "content": content, "stop_reason": "tool_use"});
    check("anthropic-messages/1", body.to_string(), "Unknown: x");
    // A blank text says nothing, so nothing of it could be taken for an answer.
    let blank = r#"{"choices":[{"message":{"content":" "},"finish_reason":"tool_calls"}]}"#;
    check("openai-chat/1", blank, "End:  ");
    // Under a text profile the text holds the calls.
    let call = r#"<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>"#;
    let body = format!(
        r#"{{"choices":[{{"message":{{"content":"{call}"}},"finish_reason":"tool_calls"}}]}}"#
    );
    check("openai-chat+hermes/1", body, "End:  [call_1 f {}]");
}
