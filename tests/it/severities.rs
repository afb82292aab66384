//! The lines of `--verbose` (001 §1): severities, turns, thinking and tags.

use serde_json::json;

use crate::fixture::{Fixture, calls, says};
use crate::terminal::Terminal;

const OPTIONAL: &str = "tool_policy: optional\ntools: {builtin: [echo, read_file]}\n";
const MISSING: &str = r#"{"path":"none.txt"}"#;

/// A line of a script: the model thinks, then says this.
fn thinks(thought: &str, content: &str) -> String {
    let message = json!({"role": "assistant", "content": content, "reasoning_content": thought});
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    json!({"response": {"choices": [choice]}}).to_string()
}

/// A call that a person denied has a number, too, in its own turn.
/// 001/1.loop.1, 001/1.loop.2, 001/1.loop.3, 001/1.tools.1, 001/1.tools.2, 001/1.reasoning.3, 001/1.logs.5
#[test]
fn each_turn_has_a_header_and_a_failed_tool_is_an_error_in_its_place() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("{OPTIONAL}require_approval: [echo]\napproval_timeout_ms: 1\n"),
        &[
            &calls("echo", r#"{"text":"x"}"#),
            &calls("read_file", MISSING),
            &says("Done."),
        ],
    );
    let said = fixture.run(&["run", "c.yaml", "--verbose"]).err;
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with('[')).collect();
    let begins = [
        "[VRB] turn 1 of 10",
        "[VRB] → [1.0] llm demo:script: messages 1, 2 bytes",
        "[VRB] ← [1.0] llm demo:script: tokens ",
        "[VRB] turn 2 of 10",
        "[VRB] → [2.0] llm demo:script: messages 3, ",
        "[VRB] ← [2.0] llm demo:script: tokens ",
        "[VRB] → [2.1] tool builtin:read_file: {\"path\":\"none.txt\"}, 19 bytes",
        "[ERR] ← [2.1] tool builtin:read_file: NOT_FOUND: ",
        "[VRB] turn 3 of 10",
        "[VRB] → [3.0] llm demo:script: messages 5, ",
        "[VRB] ← [3.0] llm demo:script: tokens ",
        "[VRB] EXIT-FINAL-ANSWER fatal=false: ",
        "[FIN] llm demo:script: 3 ok, 0 failed, ",
        "[FIN] tool builtin:read_file: 0 ok, 1 failed, ",
        "[FIN] run: 3 turns, ",
    ];
    assert_eq!(lines.len(), begins.len(), "{said}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{begin}: {said}");
    }
}

/// A notice and the description of tags stand in one request only, and are counted there.
/// 001/1.logs.8
#[test]
fn a_request_counts_every_message_that_it_carries() {
    let fixture = Fixture::new();
    fixture.script(OPTIONAL, &[&says(""), &says("Done.")]);
    let said = fixture.run(&["run", "c.yaml", "--verbose"]).err;
    let notice = "System notice: the response was empty. Call a tool or answer.";
    let bytes = "hi".len() + notice.len();
    let again = format!("[VRB] → [1.0] llm demo:script: messages 2, {bytes} bytes, attempt 2\n");
    assert!(said.contains(&again), "{again}: {said}");
    fixture.script(
        &format!("{OPTIONAL}tool_transport: xml\n"),
        &[&says("Done.")],
    );
    let said = fixture.run(&["run", "c.yaml", "--verbose"]).err;
    let first = "[VRB] → [1.0] llm demo:script: messages 2, ";
    assert!(said.contains(first), "{said}");
}

/// 001/1.logs.1, 001/1.logs.3
#[test]
fn every_severity_marks_its_lines() {
    let fixture = Fixture::new();
    let long = json!({"text": "some words ".repeat(50)}).to_string();
    fixture.script(
        &format!("{OPTIONAL}tool_output_budget: {{max_bytes_per_call: 100}}\n"),
        &[
            &calls("echo", &long),
            &calls("read_file", MISSING),
            &thinks("Let me see.", "Done."),
        ],
    );
    let said = fixture
        .run(&["run", "c.yaml", "--verbose", "--trace-llm"])
        .err;
    for begin in [
        "[VRB] → [1.0] llm demo:script: ",
        "[WRN] ← [1.1] tool builtin:echo: Tool response exceeded max size (actual ",
        "[ERR] ← [2.1] tool builtin:read_file: ",
        "[TRC] → [1.0] llm demo:script, request 1, ",
        "[TRC] ← request 1: ",
        "[THK] ← [3.0] llm demo:script: thinking",
        "[FIN] run: 3 turns, ",
    ] {
        assert!(said.contains(begin), "{begin}: {said}");
    }
}

/// 001/1.reasoning.2, 001/1.logs.2, 001/1.logs.4
#[test]
fn thinking_is_grey_on_stderr_and_a_line_feed_closes_it() {
    let fixture = Fixture::new();
    let thinks = thinks("Let me see.", "Done.");
    fixture.script("tool_policy: optional\n", &[&thinks]);
    let loud = fixture.ends(&["run", "c.yaml", "--verbose"], 0);
    let expect = "[THK] ← [1.0] llm demo:script: thinking\nLet me see.\n";
    assert!(loud.err.contains(expect), "{}", loud.err);
    assert!(!loud.out.contains("Let me see."), "{}", loud.out);
    let piped = fixture.ends(&["run", "c.yaml"], 0);
    assert!(!piped.printed().contains("Let me see."), "{}", piped.err);
    let mut command = fixture.command(&["run", "c.yaml", "--verbose"]);
    command.env_remove("NO_COLOR");
    let (_, shown) = Terminal::sized(command, 200).end();
    for painted in [
        "\u{1b}[2mLet me see.\u{1b}[0m\r\n",
        "\u{1b}[2m[VRB] turn 1 of 10\u{1b}[0m",
        "\u{1b}[1m[FIN] run: ",
    ] {
        assert!(shown.contains(painted), "{painted:?}: {shown:?}");
    }
}

/// 001/1.exit.1, 001/13.appendices.2
#[test]
fn a_slow_model_and_a_dry_run_have_their_own_tags() {
    let fixture = Fixture::new();
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let dry = ["run", "c.yaml", "--dry-run"];
    assert!(!fixture.ends(&dry, 0).err.contains("EXIT-"));
    let said = fixture.ends(&[&dry[..], &["--verbose"]].concat(), 0).err;
    assert!(said.contains("[VRB] EXIT-DRY-RUN fatal=false: "), "{said}");
    let slow = [
        "--set",
        "max_attempts_per_turn=1",
        "--set",
        "llm_timeout_ms=50",
    ];
    let run = ["run", "c.yaml", "--verbose", "--json"];
    let left = fixture.ends(&[&run[..], &slow].concat(), 1);
    assert_eq!(left.document()["exit_tag"], "EXIT-LLM-TIMEOUT");
    let tag = "[ERR] EXIT-LLM-TIMEOUT fatal=true: FAILED_BUDGET_EXHAUSTED (attempts_exhausted)";
    assert!(left.err.contains(tag), "{}", left.err);
}

/// 001/1.context.2
#[test]
fn a_full_context_is_said_by_its_tag_and_the_model_may_still_answer() {
    let fixture = Fixture::new();
    fixture.write("big.txt", &"some words\n".repeat(1_090));
    let budget = "context_window: 3000, buffer: 0, reserved_synthesis: 0, minimum_loop_margin: 0";
    let terms = format!(
        "{OPTIONAL}sampling: {{max_output_tokens: 500}}\n\
         context_budget: {{{budget}, force_synthesis_at_ratio: 1}}\n"
    );
    let big = calls("read_file", r#"{"path":"big.txt"}"#);
    fixture.script(&terms, &[&big, &says("It did not fit.")]);
    let left = fixture.run(&["run", "c.yaml", "--verbose", "--json"]);
    let begun = "[WRN] EXIT-TOKEN-LIMIT fatal=false: the context is used up; no more tools in the last turn\n\
                 [VRB] turn 2 of 10\n";
    assert!(left.err.contains(begun), "{}", left.err);
    assert!(
        left.err.contains("[VRB] EXIT-FINAL-ANSWER "),
        "{}",
        left.err
    );
    let conversation = left.document()["conversation"].to_string();
    let words = "Maximum number of turns/steps reached. No more tools: ";
    assert!(conversation.contains(words), "{conversation}");
}
