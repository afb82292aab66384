//! Hostile responses, the same for every protocol.

use std::path::Path;

use proptest::prelude::*;

use super::fixture::{decode, verdict};
use crate::adapter::{Adapter, Decoded};
use monolith_testkit::skipped::skip;

/// Pieces of all protocols, whole and broken, in no order that any of them has.
const WORDS: &[&str] = &[
    "data: ",
    "event: error\n",
    "\n",
    "\n\n",
    "\r",
    "[DONE]",
    "{",
    "}",
    "[",
    "]",
    ",",
    "null",
    "AAAA",
    "\u{0}\u{0}\u{0}\u{10}",
    "\u{feff}",
    r#"{"error":{"message":"x"}}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"a","function":{"name":"f"}}]},"finish_reason":"stop"}]}"#,
    r#"{"choices":[{"message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}}]}"#,
    r#"{"type":"message_start","message":{"content":[]}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":"f","arguments":"{}"}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":18446744073709551615,"delta":"{"}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
    r#"{"status":"completed","output":[{"type":"function_call"}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]","boolValue":true}]}}]},"finishReason":"STOP"}]}"#,
    r#"{"message":{"content":"x","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":true}"#,
    r#"{"output":{"message":{"content":[{"toolUse":{"name":"f","input":{}}}]}},"stopReason":"max_tokens"}"#,
];

fn is_sound(decoded: &Decoded) -> bool {
    let Decoded::Message(result) = decoded else {
        return true;
    };
    let calls = result
        .canonical_message
        .iter()
        .flat_map(|message| &message.tool_calls);
    result.canonical_message.is_some() != result.failure_code.is_some()
        && calls.into_iter().all(|call| {
            call.arguments.to_value().is_object() && !call.name.is_empty() && !call.id.is_empty()
        })
}

proptest! {
    #[test]
    fn whatever_arrives_gets_one_sound_verdict_in_every_protocol(
        words in proptest::collection::vec(proptest::sample::select(WORDS), 0..14),
        noise in proptest::collection::vec(any::<u8>(), 0..6),
        at in 0_usize..400,
        size in 1_usize..40,
    ) {
        let mut bytes = words.concat().into_bytes();
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise);
        for adapter in Adapter::all() {
            let whole = decode(adapter.version(), [bytes.as_slice()]);
            prop_assert!(is_sound(&whole), "{}: {whole:?}", adapter.version());
            let split = decode(adapter.version(), bytes.chunks(size));
            prop_assert_eq!(&split, &whole, "{}", adapter.version());
        }
    }
}

/// A body of every protocol whose one message holds `calls`, each made by `call` of its number.
fn bodies(count: usize, arguments: &str) -> Vec<(&'static str, String)> {
    let calls = |one: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..count).map(one).collect();
        all.join(",")
    };
    let text = serde_json::json!(arguments);
    let chat =
        calls(&|n| format!(r#"{{"id":"{n}","function":{{"name":"f","arguments":{text}}}}}"#));
    let chat = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{chat}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let blocks =
        calls(&|n| format!(r#"{{"type":"tool_use","id":"{n}","name":"f","input":{arguments}}}"#));
    let uses = calls(&|n| {
        format!(r#"{{"toolUse":{{"toolUseId":"{n}","name":"f","input":{arguments}}}}}"#)
    });
    let parts =
        calls(&|n| format!(r#"{{"functionCall":{{"id":"{n}","name":"f","args":{arguments}}}}}"#));
    let ollama =
        calls(&|n| format!(r#"{{"id":"{n}","function":{{"name":"f","arguments":{arguments}}}}}"#));
    let items = calls(&|n| {
        format!(r#"{{"type":"function_call","call_id":"{n}","name":"f","arguments":{arguments}}}"#)
    });
    vec![
        ("openai-chat/1", chat.clone()),
        ("openrouter-chat/1", chat),
        (
            "anthropic-messages/1",
            format!(r#"{{"content":[{blocks}],"stop_reason":"tool_use"}}"#),
        ),
        (
            "bedrock-converse/1",
            format!(r#"{{"output":{{"message":{{"content":[{uses}]}}}},"stopReason":"tool_use"}}"#),
        ),
        (
            "google-gemini/1",
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{parts}]}},"finishReason":"STOP"}}]}}"#
            ),
        ),
        (
            "ollama-chat/1",
            format!(
                r#"{{"message":{{"content":"","tool_calls":[{ollama}]}},"done":true,"done_reason":"stop"}}"#
            ),
        ),
        (
            "openai-responses/1",
            format!(r#"{{"status":"completed","output":[{items}]}}"#),
        ),
    ]
}

fn check(count: usize, arguments: &str, expect: &[&str]) {
    for (version, body) in bodies(count, arguments) {
        let verdict = verdict(&decode(version, [body.as_bytes()]));
        let got = verdict.split(' ').next().unwrap();
        assert!(expect.contains(&got), "{version}: {got}");
    }
}

#[test]
fn a_hundred_thousand_calls_and_ten_thousand_levels_are_rejected_everywhere() {
    check(128, "{}", &["End:"]);
    check(129, "{}", &["TOO_MANY_CALLS"]);
    // Beyond the bound of parts the message is too large before its calls are counted.
    check(100_000, "{}", &["TOO_MANY_CALLS", "TOO_LARGE"]);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    check(1, &deep, &["ARGS_TOO_DEEP"]);
    check(1, r#"{"a":1,"a":2}"#, &["ARGS_DUPLICATE_KEY"]);
    check(1, "[]", &["ARGS_NOT_OBJECT"]);
}

const SUITE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/corpus/jsontestsuite"
);

/// The verdict over a call whose only argument is `text`, which is in the body unchanged.
fn written_in(text: &[u8]) -> String {
    let body = [
        br#"{"content":[{"type":"tool_use","id":"a","name":"f","input":{"v":"#.as_slice(),
        text,
        br#"}}],"stop_reason":"tool_use"}"#,
    ]
    .concat();
    verdict(&decode("anthropic-messages/1", [body.as_slice()]))
}

/// The verdict over a call whose arguments are given as the text of a JSON string.
fn quoted(text: &str) -> String {
    let arguments = serde_json::json!(format!("{{\"v\":{text}}}"));
    let body = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    verdict(&decode("openai-chat/1", [body.as_bytes()]))
}

#[test]
fn what_is_json_is_an_argument_and_what_is_none_rejects_the_message() {
    let Ok(files) = std::fs::read_dir(Path::new(SUITE)) else {
        skip(318, "cases of JSON", &format!("{SUITE} is missing"));
        return;
    };
    let (mut accepted, mut rejected) = (0, 0);
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let mut verdicts = vec![written_in(&bytes)];
        verdicts.extend(std::str::from_utf8(&bytes).map(quoted));
        for verdict in verdicts {
            let native = verdict.starts_with("End: ");
            // The one rule beyond the grammar: no key occurs twice.
            let twice = name.starts_with("y_object_duplicated_key");
            if name.starts_with("n_") || twice {
                assert!(!native, "{name}: {verdict}");
                rejected += 1;
            } else if name.starts_with("y_") {
                assert!(native, "{name}: {verdict}");
                accepted += 1;
            }
        }
    }
    println!("{accepted} accepted, {rejected} rejected");
}
