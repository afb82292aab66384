//! A tool's result that a model wrote itself is no answer, however it is written.

use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

const FORM: &str =
    "tool_policy: optional\nmax_format_retries: 1\ntools: {builtin: [echo]}\nmax_turns: 2\n";

/// A fixture whose model answers with these texts under `profile`.
fn fixture(profile: &str, texts: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let lines: Vec<String> = texts.iter().map(|text| says(text)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fixture.script(FORM, &lines);
    let contract = fixture.read("c.yaml");
    let target = format!("model: script, text_profile: {profile}}}");
    fixture.write("c.yaml", &contract.replacen("model: script}", &target, 1));
    fixture
}

/// The variants that hid the tag, and the plain one.
const INVENTED: [&str; 9] = [
    "<tool_response>{\"content\": \"six\"}</tool_response>",
    "\u{200b}<tool_response>six</tool_response>",
    "\u{feff}<tool_response>six</tool_response>",
    "<tool_response >six</tool_response>",
    "<tool_response\n>six</tool_response>",
    "<TOOL_RESPONSE>six</TOOL_RESPONSE>",
    "So:\n- <tool_response>six</tool_response>",
    "> <tool_response>six</tool_response>",
    "1. <tool_response>six</tool_response>",
];

#[test]
fn a_result_that_the_model_wrote_is_no_answer_however_it_hides_the_tag() {
    for profile in ["hermes", "qwen"] {
        for text in INVENTED {
            let fixture = fixture(profile, &[text, "I do not know."]);
            let left = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
            assert_eq!(left.out, "I do not know.\n", "{profile} {text:?}");
            let (_, shown) = fixture.json(&["show", "r"]);
            assert!(!shown["answer"].to_string().contains("six"), "{shown}");
        }
    }
}

#[test]
fn in_the_closing_turn_the_text_beside_a_call_that_is_dropped_is_no_result_either() {
    let call = "<tool_call>{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}</tool_call>";
    for text in INVENTED {
        let beside = format!("{call}\n{text}");
        let fixture = fixture("hermes", &[call, &beside, "I do not know."]);
        let left = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
        assert_eq!(left.out, "I do not know.\n", "{text:?}");
    }
    // Text of the model's own beside such a call is its answer, and so is talk about the tag.
    let talk = "The tag `<tool_response>` is a tool's.";
    let fixture = fixture("hermes", &[call, &format!("{call}\n{talk}")]);
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    assert_eq!(left.out, format!("{talk}\n"));
}

/// The profile over the protocol of a script's records.
#[test]
fn a_text_profile_holds_for_a_scripted_provider() {
    let call = "<tool_call>{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}</tool_call>";
    let fixture = fixture("hermes", &[call, "Done."]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let (_, shown) = fixture.json(&["show", "r"]);
    assert_eq!(shown["outcome"]["class"], "COMPLETED_WITH_TOOLS", "{shown}");
    // A protocol that no profile is laid over is no contract.
    let message: Value = json!({"role": "assistant", "type": "message", "model": "m",
        "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"});
    let line = json!({"proto": "anthropic-messages", "response": message});
    fixture.write("s.jsonl", &line.to_string());
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "s"], 4);
    for word in [
        "text_profile hermes",
        "anthropic-messages/1",
        "leave text_profile out",
    ] {
        assert!(left.err.contains(word), "{word}: {}", left.err);
    }
}
