//! The commands of a conversation that change something, and what of a run is shown in one.

use super::*;

#[test]
fn the_lines_of_the_machine_are_shown_in_a_chat_with_verbose_only() {
    for is_verbose in [false, true] {
        let options = if is_verbose { &["--verbose"][..] } else { &[] };
        let fixture = Fixture::new();
        let lines = [calls("echo", "{\"text\":\"hi\"}"), says("One.")];
        let lines = lines.each_ref().map(String::as_str);
        let mut chat = chat_with(&fixture, "tools: {builtin: [echo]}\n", &lines, options);
        chat.types("first\r").until("One.").until("> ");
        chat.types("/quit\r");
        let (code, shown) = chat.end();
        assert_eq!(code, 0, "{shown}");
        for machine in [
            "PRECHECK → INFER",
            "EXECUTE → OBSERVE",
            "COMPLETED_WITH_TOOLS",
        ] {
            assert_eq!(shown.contains(machine), is_verbose, "{machine}: {shown}");
        }
    }
}

/// A failed call of a successful run is no line of the machine, so a chat shows it.
#[test]
fn a_chat_says_that_a_call_of_an_answer_failed() {
    let fixture = Fixture::new();
    let lines = [calls("read_file", "{\"path\":\"none\"}"), says("One.")];
    let more = "tools: {builtin: [read_file], workspace: .}\n";
    let mut chat = chat(&fixture, more, &lines.each_ref().map(String::as_str));
    chat.types("first\r")
        .until("One.")
        .until("1 of 1 call reported an error")
        .until("> ");
    chat.types("/quit\r");
    assert_eq!(chat.end().0, 0);
}

/// Forgetting takes back no file change, so `/undo` begins with those of the last run, forgotten or not.
#[test]
fn the_hint_of_forget_says_how_often_undo_has_to_be_typed() {
    let fixture = Fixture::new();
    fixture.write("w/kept.txt", "kept\n");
    let writes = |content: &str| {
        let arguments = json!({"path": "a.txt", "content": content});
        calls("write_file", &arguments.to_string())
    };
    let lines = [writes("1\n"), says("One."), writes("2\n"), says("Two.")];
    let more = "tools: {builtin: [write_file], workspace: w}\n";
    let mut chat = chat(&fixture, more, &lines.each_ref().map(String::as_str));
    chat.types("first\r").until("One.").until("> ");
    chat.types("second\r").until("Two.").until("> ");
    chat.types("/forget\r")
        .until("remain; /undo reverts file changes")
        .until("> ");
    chat.types("/forget\r").until("when typed 2").until("> ");
    chat.types("/undo\r").until("restored").until("> ");
    assert_eq!(fixture.read("w/a.txt"), "1\n");
    chat.types("/undo\r").until("removed").until("> ");
    assert!(!fixture.path("w/a.txt").exists());
    chat.types("/quit\r");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn undo_in_a_chat_reverts_file_changes_and_forget_takes_messages_back() {
    let fixture = Fixture::new();
    fixture.write("w/kept.txt", "kept\n");
    let writes = |content: &str| {
        let arguments = json!({"path": "a.txt", "content": content});
        calls("write_file", &arguments.to_string())
    };
    let lines = [writes("1\n"), says("One."), writes("2\n"), says("Two.")];
    let more = "tools: {builtin: [write_file], workspace: w}\n";
    let mut chat = chat(&fixture, more, &lines.each_ref().map(String::as_str));
    chat.types("first\r").until("One.").until("> ");
    chat.types("second\r").until("Two.").until("> ");
    assert_eq!(fixture.read("w/a.txt"), "2\n");
    // A message that was forgotten has changed files all the same.
    chat.types("/forget\r")
        .until("the next message continues run")
        .until("changes made by its tools remain; /undo reverts")
        .until("> ");
    assert_eq!(fixture.read("w/a.txt"), "2\n");
    chat.types("/undo\r").until("restored").until("> ");
    assert_eq!(fixture.read("w/a.txt"), "1\n");
    chat.types("/undo\r").until("removed").until("> ");
    assert!(!fixture.path("w/a.txt").exists());
    chat.types("/undo\r").until("nothing to undo").until("> ");
    assert_eq!(fixture.read("w/kept.txt"), "kept\n");
    // The first message is still part of the conversation.
    chat.types("/forget\r")
        .until("starts a new conversation")
        .until("> ");
    chat.types("/quit\r");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(runs(&fixture).len(), 2, "forgotten runs stay in the store");
}
