//! A found contract that is edited after it was trusted: what the question shows, and what answers it. Against the binary.

use std::process::Command;

use crate::fixture::{Fixture, Left};
use crate::terminal::Terminal;

/// `agent.yaml`, whose tool server leaves `marker`, with a task.
fn edit(fixture: &Fixture, task: &str) {
    let text = format!(
        "task: {task}\ntargets: [{{provider: demo, model: m}}]\n\
         providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n\
         tools: {{mcp: {{own: {{command: touch, args: [marker], sandbox: 'off'}}}}}}\n"
    );
    fixture.write("agent.yaml", &text);
    fixture.write("s.jsonl", "");
}

fn tools(fixture: &Fixture) -> Command {
    fixture.command(&["tools"])
}

/// The question shows the difference since the last trusted version; the key `y` accepts it, and no other key does.
#[test]
fn an_edited_contract_is_asked_about_with_the_difference_and_one_key_accepts_it() {
    let fixture = Fixture::new();
    edit(&fixture, "first");
    fixture.ok(&["trust"]);
    edit(&fixture, "second");
    let marker = fixture.path("marker");
    // Without a terminal nobody is asked, and nothing is started.
    let left: Left = tools(&fixture).output().unwrap().into();
    assert_eq!(left.code, 4, "{}", left.printed());
    assert!(!marker.exists(), "{}", left.printed());
    let ask = |key: &str| {
        let mut asked = Terminal::start(tools(&fixture));
        asked
            .until("agent.yaml changed since you trusted it:")
            .until("-task: first")
            .until("+task: second")
            .until("Trust agent.yaml as it is now? [y/N]")
            .types(key);
        asked.end()
    };
    for no in ["n", "\r", "\u{3}"] {
        let (code, shown) = ask(no);
        assert_eq!(code, 4, "{no:?}: {shown}");
        assert!(!marker.exists(), "{no:?}: {shown}");
    }
    let (_, shown) = ask("y");
    assert!(marker.exists(), "{shown}");
    // A later change is compared with the version that is trusted now.
    edit(&fixture, "third");
    let mut asked = Terminal::start(tools(&fixture));
    asked.until("-task: second").until("[y/N]").types("n");
    asked.end();
    // A file that is trusted no longer has no earlier text.
    fixture.ok(&["trust", "--remove"]);
    let kept = std::fs::read_dir(fixture.path("home/trusted-texts")).unwrap();
    assert_eq!(kept.count(), 0);
    let mut asked = Terminal::start(tools(&fixture));
    asked.until("[y/N]").types("n\r");
    let (_, shown) = asked.end();
    assert!(!shown.contains("changed since"), "{shown}");
}

/// Keys that were pressed before the question are no answer to it, for a new file as for an edited one.
#[test]
fn an_answer_that_was_typed_before_the_question_does_not_count() {
    let fixture = Fixture::new();
    edit(&fixture, "first");
    let mut asked = Terminal::start(tools(&fixture));
    asked
        .types("y\r")
        .until("Trust agent.yaml as it is now? [y/N]");
    asked.types("n\r");
    let (code, shown) = asked.end();
    assert_eq!(code, 4, "{shown}");
    assert!(!fixture.path("marker").exists(), "{shown}");
}

/// More than the shown text is new, so a whole line answers: the `y` that is taken back is no answer.
#[test]
fn a_new_layer_of_an_edited_contract_is_accepted_by_no_single_key() {
    let fixture = Fixture::new();
    edit(&fixture, "first");
    fixture.ok(&["trust"]);
    edit(&fixture, "second");
    let text = fixture.read("agent.yaml");
    fixture.write("agent.yaml", &text.replace("mcp: {", "mcp: {more: , "));
    let layer = r#"{"mcpServers": {"more": {"command": "true"}}}"#;
    fixture.write(".ai-agent.json", layer);
    let ask = |line: &str| {
        let mut asked = Terminal::start(tools(&fixture));
        asked
            .until("+task: second")
            .until("Trust agent.yaml and .ai-agent.json as they are now? [y/N]")
            .types(line);
        asked.end()
    };
    let (code, shown) = ask("y\u{7f}n\r");
    assert_eq!(code, 4, "{shown}");
    assert!(!fixture.path("marker").exists(), "{shown}");
    let (_, shown) = ask("y\r");
    assert!(fixture.path("marker").exists(), "{shown}");
}
