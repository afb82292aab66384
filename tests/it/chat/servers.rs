//! The tool servers of a conversation: started once, up between its messages, and gone with it.

use serde_json::{Value, json};

use super::*;
use crate::harness::{COUNTING_SERVER, Harness};

/// A tool server that writes a line into `starts` when it starts.
fn counting() -> String {
    let command = format!(
        "echo $$ >> starts; exec python3 {} executions",
        shell_word(COUNTING_SERVER)
    );
    let server = json!({"command": "sh", "args": ["-c", command]});
    format!("tools: {{workspace: ., mcp: {{fs: {server}}}}}\n")
}

/// A chat whose model calls the server in each answer.
fn calling(fixture: &Fixture) -> Terminal {
    let call = calls("fs__count", "{}");
    let said = ["One.", "Two.", "Three."].map(says);
    let lines: Vec<&str> = said.iter().flat_map(|said| [&*call, &**said]).collect();
    chat(fixture, &counting(), &lines)
}

/// Counts the starts of the server.
fn starts(fixture: &Fixture) -> usize {
    fixture.read("starts").lines().count()
}

/// Returns the facts about tool servers in entry 0 of a run.
fn stated(fixture: &Fixture, run: &str) -> Value {
    let raw = fixture.ok(&["show", run, "--raw"]);
    let first: Value = serde_json::from_str(raw.lines().next().unwrap()).unwrap();
    let started = &first["event"]["event"]["value"];
    assert!(started.get("tool_servers").is_some(), "{first}");
    json!([started["tool_servers"], started["bring_up"]])
}

#[cfg(target_os = "linux")]
#[test]
fn a_tool_server_is_started_once_for_a_whole_conversation_and_ends_with_it() {
    if !Harness::has_python() {
        return;
    }
    let fixture = Fixture::new();
    let mut chat = calling(&fixture);
    for (message, answer) in [("first", "One."), ("second", "Two."), ("third", "Three.")] {
        chat.types(&format!("{message}\r"))
            .until(answer)
            .until("> ");
    }
    chat.types("/tools\r").until("fs__count").until("> ");
    assert_eq!(starts(&fixture), 1);
    assert_eq!(fixture.processes().len(), 1, "it is up between messages");
    chat.types("/quit\r");
    assert_eq!(chat.end().0, 0);
    assert!(
        fixture.processes().is_empty(),
        "it outlives the conversation"
    );
    assert_eq!(fixture.read("executions").lines().count(), 3);
    // Each run has the records that it has alone.
    let runs = runs(&fixture);
    assert_eq!(runs.len(), 3);
    fixture.ok(&["continue", &runs[2], "aside"]);
    let alone = stated(&fixture, "last");
    for run in &runs {
        fixture.ok(&["verify", run]);
        fixture.ok(&["replay", run]);
        assert_eq!(stated(&fixture, run), alone, "{run}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_tool_server_that_died_between_two_messages_is_started_again() {
    if !Harness::has_python() {
        return;
    }
    let fixture = Fixture::new();
    let mut chat = calling(&fixture);
    chat.types("first\r").until("One.").until("> ");
    let before = fixture.processes();
    let killed = Command::new("kill").arg("-KILL").args(&before).status();
    assert!(killed.unwrap().success());
    // Another one may take its place at once.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while fixture.processes().iter().any(|id| before.contains(id)) {
        assert!(std::time::Instant::now() < until, "{before:?} still run");
        std::thread::yield_now();
    }
    chat.types("second\r").until("Two.").until("> ");
    assert_eq!(starts(&fixture), 2);
    // A process that is asked to end takes them along, too.
    chat.signal("TERM");
    assert_eq!(chat.end().0, 0);
    assert!(
        fixture.processes().is_empty(),
        "it outlives the conversation"
    );
}

#[test]
fn a_chat_shows_the_text_that_was_held_back_and_why() {
    let fixture = Fixture::new();
    let more = "tool_policy: required\ntools: {builtin: [echo]}\n";
    let mut chat = chat(&fixture, more, &[&says("A held reply."), &says("Another.")]);
    chat.types("Thanks!\r")
        .until("were withheld because no tool call had been validated yet; /show prints them")
        .until("> ");
    chat.types("/show\r")
        .until("held back, entry ")
        .until("written before a call was validated, so it is no answer")
        .until("A held reply.")
        .until("> ");
    chat.types("/exit\r");
    let (_, shown) = chat.end();
    assert!(!shown.contains("--withheld"), "{shown}");
}
