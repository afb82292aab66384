//! The readings that every protocol shares: how an answer ended, blank arguments, divided characters, reasoning between tags.

use serde_json::{Value, json};

use super::Decoded;
use super::fixture::{decoded_in_pieces, verdict};

/// A message in the protocol's forms: its texts, its calls with argument texts, a stop reason and usage.
struct Said<'a> {
    texts: &'a [&'a str],
    calls: &'a [&'a str],
    stop: Option<&'a str>,
    tokens: i64,
}

impl Said<'_> {
    const NOTHING: Self = Said {
        texts: &[],
        calls: &[],
        stop: None,
        tokens: 7,
    };
}

/// JSON text in which `HIGH` and `LOW` are the escapes of a pair's halves.
fn halved(value: &Value) -> String {
    value
        .to_string()
        .replace("HIGH", "\\ud83d")
        .replace("LOW", "\\ude00")
}

fn events(values: &[Value]) -> String {
    let lines = values
        .iter()
        .map(|value| format!("data: {}\n\n", halved(value)));
    lines.collect()
}

/// The protocols' own words for a normal end.
fn end_of(version: &str) -> &'static str {
    match version {
        "google-gemini/1" => "STOP",
        "anthropic-messages/1" => "end_turn",
        "openai-responses/1" => "completed",
        _ => "stop",
    }
}

/// The message streamed, in every protocol with a stream of text.
fn streams(said: &Said<'_>) -> Vec<(&'static str, String)> {
    let (texts, calls) = (said.texts, said.calls);
    let stop = |version: &str| {
        said.stop
            .map(|stop| if stop == "END" { end_of(version) } else { stop })
    };
    let tokens = said.tokens;
    let chat = |text: &&str| json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    let function = |arguments: &str| json!({"name": "f", "arguments": arguments});
    let mut chunks: Vec<Value> = texts.iter().map(chat).collect();
    chunks.extend(calls.iter().enumerate().map(|(n, call)| {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": n, "id": format!("c{n}"), "function": function(call)}]}}]})
    }));
    chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": stop("openai-chat/1")}], "usage": {"prompt_tokens": tokens}}));
    let chat = events(&chunks);

    let mut blocks = vec![
        json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": tokens}}}),
    ];
    blocks.extend(texts.iter().map(|text| {
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
    }));
    for (n, call) in (1..).zip(calls) {
        blocks.push(json!({"type": "content_block_start", "index": n, "content_block": {"type": "tool_use", "id": format!("c{}", n - 1), "name": "f"}}));
        blocks.push(json!({"type": "content_block_delta", "index": n, "delta": {"type": "input_json_delta", "partial_json": call}}));
        blocks.push(json!({"type": "content_block_stop", "index": n}));
    }
    if let Some(stop) = stop("anthropic-messages/1") {
        blocks.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}}));
    }

    let mut items: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}))
        .collect();
    for (n, call) in (1..).zip(calls) {
        let item = json!({"type": "function_call", "call_id": format!("c{}", n - 1), "name": "f", "arguments": call});
        items.push(json!({"type": "response.output_item.done", "output_index": n, "item": item}));
    }
    if let Some(stop) = stop("openai-responses/1") {
        items.push(json!({"type": "response.completed", "response": {"status": stop, "usage": {"input_tokens": tokens}}}));
    }

    let parts = texts.iter().map(|text| json!({"text": text}));
    let mut candidates: Vec<Value> = parts
        .map(|part| json!({"candidates": [{"content": {"parts": [part]}}]}))
        .collect();
    candidates.push(json!({"candidates": [{"finishReason": stop("google-gemini/1")}], "usageMetadata": {"promptTokenCount": tokens}}));

    let line = |text: &&str| halved(&json!({"message": {"content": text}, "done": false})) + "\n";
    let mut lines: String = texts.iter().map(line).collect();
    let called: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(n, call)| json!({"id": format!("c{n}"), "function": function(call)}))
        .collect();
    lines += &halved(
        &json!({"message": {"content": "", "tool_calls": called}, "done_reason": stop("ollama-chat/1"), "prompt_eval_count": tokens}),
    );

    let mut streams = vec![
        ("openai-chat/1", chat.clone()),
        ("openrouter-chat/1", chat),
        ("anthropic-messages/1", events(&blocks)),
        ("openai-responses/1", events(&items)),
        ("ollama-chat/1", lines),
    ];
    if calls.is_empty() {
        streams.push(("google-gemini/1", events(&candidates)));
    }
    streams
}

/// The verdict, the same in one piece and byte by byte.
fn read(version: &str, body: &str) -> Decoded {
    let whole = decoded_in_pieces(version, body, true, usize::MAX);
    assert_eq!(decoded_in_pieces(version, body, true, 1), whole, "{body}");
    whole
}

fn check(said: &Said<'_>, expect: &str) {
    for (version, body) in streams(said) {
        assert_eq!(verdict(&read(version, &body)), expect, "{version} {body}");
    }
}

#[test]
fn halves_of_a_surrogate_pair_in_two_pieces_are_one_character() {
    let said = |texts| Said {
        texts,
        stop: Some("END"),
        ..Said::NOTHING
    };
    check(&said(&["aHIGH", "LOWb"]), "End: a😀b");
    check(&said(&["HIGH", "LOW", "HIGH", "LOW"]), "End: 😀😀");
    check(&said(&["aHIGH", "b"]), "fault BODY_INVALID_JSON ");
    let chat = |pieces: &[&str]| {
        let call = |n: &&str| json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": n}}]}}]});
        let mut chunks: Vec<Value> = pieces.iter().map(call).collect();
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        events(&chunks)
    };
    let body = chat(&["{\"a\":\"HIGH", "LOW\"}"]);
    assert_eq!(
        verdict(&read("openai-chat/1", &body)),
        "End:  [a f {\"a\":\"😀\"}]"
    );
}

#[test]
fn reasoning_between_tags_at_the_beginning_is_no_text() {
    let said = |texts| Said {
        texts,
        stop: Some("END"),
        ..Said::NOTHING
    };
    check(&said(&["<thi", "nk>a</think>", "\n\nb"]), "End: b <a>");
    check(&said(&["<think>a"]), "End:  <a>");
    check(&said(&["a</th", "ink>b"]), "End: a</think>b");
    check(&said(&["a <think>b</think>"]), "End: a <think>b</think>");
}

#[test]
fn blank_arguments_are_none_where_the_output_ended_and_cut_elsewhere() {
    for blank in ["", " \n"] {
        let calls = ["{\"a\":1}", blank];
        let said = |stop| Said {
            calls: &calls,
            stop: Some(stop),
            ..Said::NOTHING
        };
        check(&said("END"), "End:  [c0 f {\"a\":1}] [c1 f {}]");
        for (version, body) in streams(&said("weather")) {
            let found = verdict(&read(version, &body));
            // A piece of no arguments is how a call without any looks in these blocks.
            let is_own = version == "anthropic-messages/1" && blank.is_empty();
            let expect = if is_own {
                "Unknown: "
            } else {
                "ARGS_INVALID_JSON"
            };
            assert!(found.starts_with(expect), "{version} {found}");
        }
    }
}

#[test]
fn a_reason_that_is_in_no_table_is_unknown_and_keeps_its_word() {
    let said = Said {
        texts: &["x"],
        stop: Some("weather"),
        ..Said::NOTHING
    };
    check(&said, "Unknown: x");
    for (version, body) in streams(&said) {
        let Decoded::Message(result) = read(version, &body) else {
            panic!("a fault: {version}");
        };
        assert_eq!(result.stop_word.as_deref(), Some("weather"), "{version}");
    }
}

#[test]
fn a_stream_with_neither_reason_nor_mark_is_a_fault_and_with_the_mark_it_ended() {
    let said = Said {
        texts: &["x"],
        ..Said::NOTHING
    };
    for (version, body) in streams(&said) {
        let found = verdict(&read(version, &body));
        assert!(
            found.starts_with("fault STREAM_INCOMPLETE /"),
            "{version} {found}"
        );
        let mark = match version {
            "openai-chat/1" | "openrouter-chat/1" => "data: [DONE]\n\n",
            "anthropic-messages/1" => "data: {\"type\":\"message_stop\"}\n\n",
            "ollama-chat/1" => "\n{\"done\":true}\n",
            _ => continue,
        };
        assert_eq!(
            verdict(&read(version, &(body + mark))),
            "End: x",
            "{version}"
        );
    }
}

#[test]
fn a_body_without_a_message_is_a_fault_in_every_protocol() {
    for (version, _) in streams(&Said::NOTHING) {
        for body in ["{}", r#"{"choices":[],"candidates":[],"id":"x"}"#] {
            let found = verdict(&read(version, body));
            assert!(found.starts_with("fault "), "{version} {found}");
        }
        assert_eq!(
            verdict(&read(version, "<html>x</html>")),
            "fault invalid_response"
        );
    }
}

#[test]
fn absurd_usage_is_unknown_usage() {
    for tokens in [7, -7, 1 << 60] {
        let said = Said {
            texts: &["x"],
            stop: Some("END"),
            tokens,
            ..Said::NOTHING
        };
        for (version, body) in streams(&said) {
            let Decoded::Message(result) = read(version, &body) else {
                panic!("a fault: {version}");
            };
            assert_eq!(result.usage.is_some(), tokens == 7, "{version} {tokens}");
        }
    }
}
