//! The JSON parsing suite: what of it passes as a call's arguments.

use std::path::Path;

use super::fixture::{decode, verdict};

const SUITE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/corpus/jsontestsuite"
);

/// The verdict over a call whose only argument is `text`, which is in the body unchanged.
fn written_in(text: &[u8]) -> String {
    let body = [
        br#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"v":"#
            .as_slice(),
        text,
        br#"}}}]},"finish_reason":"tool_calls"}]}"#,
    ]
    .concat();
    verdict(&decode("openai-chat/1", [body.as_slice()]))
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
        println!("skipped 318 cases: {SUITE} is not there");
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
