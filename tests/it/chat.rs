//! A person at a terminal: an answer that streams, and a conversation.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::fixture::{Fixture, Left, calls, says, shell_word};
use crate::terminal::Terminal;

mod commands;
mod servers;

const DIM: &str = "\u{1b}[2m";

/// A line of a script: a streamed answer in two pieces, which may be reset after so many bytes.
fn streams(first: &str, second: &str, reset_after: Option<usize>) -> String {
    let chunk = |text: &str| {
        let choice = json!({"index": 0, "delta": {"content": text}, "finish_reason": null});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let body = [
        chunk(first),
        chunk(second),
        format!("data: {end}\n\ndata: [DONE]\n\n"),
    ];
    let after = reset_after.map(|pieces| body[..pieces].concat().len());
    let mut line = json!({"stream": true, "response": body.concat()});
    if let Some(after) = after {
        line["fault"] = json!("reset");
        line["after_bytes"] = json!(after);
    }
    line.to_string()
}

fn on_a_terminal(fixture: &Fixture, args: &[&str], variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = fixture.command(args);
    command.env_remove("NO_COLOR");
    command.envs(variables.iter().copied());
    Terminal::start(command).end()
}

#[test]
fn an_answer_streams_once_and_transitions_are_dim_beside_it() {
    let fixture = Fixture::new();
    let line = streams("The licence ", "is MIT.", None);
    fixture.script("sampling: {stream: true}\n", &[&line]);
    let (code, shown) = on_a_terminal(&fixture, &["run", "c.yaml"], &[]);
    assert_eq!(code, 0, "{shown}");
    assert_eq!(shown.matches("The licence").count(), 1, "{shown}");
    let answer = shown
        .find("The licence is MIT.")
        .expect("it is in one piece");
    let judged = shown.find("INFER → VALIDATE_CALLS").unwrap();
    assert!(answer < judged, "it is shown before it is judged: {shown}");
    let dim = shown.lines().filter(|line| line.contains(" → "));
    for line in dim {
        // On a slow machine what was waited for stood in the line before.
        let line = line.rsplit("\u{1b}[2K").next().unwrap_or_default();
        assert!(line.starts_with(DIM), "{line:?}");
    }
    assert!(shown.contains("COMPLETED_CHAT_ONLY"), "{shown}");
    assert!(shown.contains("   ·   monolith replay "), "{shown}");

    let plain = [("NO_COLOR", "1")];
    fixture.script("", &[&says("Plain."), &line]);
    let (_, shown) = on_a_terminal(&fixture, &["run", "c.yaml"], &plain);
    let shown = shown.replace("\u{1b}[2K", "");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert_eq!(shown.matches("Plain.").count(), 1, "{shown}");
}

/// The answer of the last attempt came whole, and the provider says that it refused.
#[test]
fn the_text_of_a_last_attempt_that_counts_for_nothing_is_marked_as_discarded() {
    let fixture = Fixture::new();
    let refused = streams("I would ", "rather not.", None);
    let refused = refused.replace(
        "\\\"finish_reason\\\":\\\"stop\\\"",
        "\\\"finish_reason\\\":\\\"content_filter\\\"",
    );
    assert!(refused.contains("content_filter"), "{refused}");
    fixture.script(
        "sampling: {stream: true}\nmax_attempts_per_turn: 1\n",
        &[&refused],
    );
    let (code, shown) = on_a_terminal(&fixture, &["run", "c.yaml"], &[("NO_COLOR", "1")]);
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("(content_filter)"), "{shown}");
    assert_eq!(
        shown.matches("discarded: the text above").count(),
        1,
        "{shown}"
    );
}

#[test]
fn the_text_of_a_failed_attempt_is_marked_as_discarded() {
    let fixture = Fixture::new();
    let broken = streams("A wrong ", "beginning", Some(1));
    fixture.script(
        "sampling: {stream: true}\n",
        &[&broken, &streams("The whole ", "answer.", None)],
    );
    let (code, shown) = on_a_terminal(&fixture, &["run", "c.yaml"], &[("NO_COLOR", "1")]);
    assert_eq!(code, 0, "{shown}");
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    let wrong = at("A wrong");
    let mark = at("discarded: the text above belongs to a failed attempt");
    let whole = at("The whole answer.");
    assert!(wrong < mark && mark < whole, "{shown}");
    assert_eq!(shown.matches("discarded").count(), 1, "{shown}");
}

#[test]
fn in_a_pipe_the_answer_is_on_stdout_once_and_the_outcome_is_one_line() {
    let fixture = Fixture::new();
    let line = streams("The licence ", "is MIT.", None);
    let broken = streams("A wrong ", "beginning", Some(1));
    fixture.script("sampling: {stream: true}\n", &[&broken, &line]);
    let left = fixture.ends(&["run", "c.yaml"], 0);
    assert_eq!(left.out, "The licence is MIT.\n");
    assert_eq!(left.err.lines().count(), 1, "{}", left.err);
    assert!(left.err.contains("COMPLETED_CHAT_ONLY"), "{}", left.err);
    let left = fixture.ends(&["run", "c.yaml", "--quiet"], 0);
    assert_eq!(
        (left.out.as_str(), left.err.as_str()),
        ("The licence is MIT.\n", "")
    );
    fixture.ends(&["run", "c.yaml", "--quiet", "--verbose"], 4);
}

#[test]
fn quiet_shows_the_answer_alone_on_a_terminal_too() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("The licence is MIT.")]);
    let (code, shown) = on_a_terminal(&fixture, &["run", "c.yaml", "--quiet"], &[]);
    assert_eq!((code, shown.as_str()), (0, "The licence is MIT.\r\n"));
}

#[test]
fn what_is_waited_for_is_named_until_it_is_there() {
    let fixture = Fixture::new();
    let able = json!({"command": env!("CARGO_BIN_EXE_monolith"), "args": ["__slow-tool"]});
    let servers =
        format!("tools: {{mcp: {{able: {able}, later: {{command: sleep, args: ['600']}}}}}}\n");
    fixture.script(&servers, &[&says("One.")]);
    let mut command = fixture.command(&["run", "c.yaml"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.until("starting tool servers: later");
    terminal.signal("INT");
    assert_eq!(terminal.end().0, 1);
}

#[test]
fn a_start_that_was_waited_for_says_how_long_it_took() {
    let fixture = Fixture::new();
    let go = fixture.path("go");
    let starts = format!(
        "until [ -e {} ]; do sleep 0.05; done; exec {} __slow-tool",
        shell_word(&go),
        shell_word(env!("CARGO_BIN_EXE_monolith"))
    );
    let late = json!({"command": "sh", "args": ["-c", starts]});
    let servers = format!("tools: {{mcp: {{late: {late}}}}}\n");
    fixture.script(&servers, &[&says("One.")]);
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml"]));
    terminal.until("starting tool servers: late");
    std::fs::write(&go, "").unwrap();
    terminal.until("ready after ").until("; the run begins");
    assert_eq!(terminal.end().0, 0);
}

/// A chat whose model answers with these lines.
fn chat(fixture: &Fixture, more: &str, lines: &[&str]) -> Terminal {
    chat_with(fixture, more, lines, &[])
}

fn chat_with(fixture: &Fixture, more: &str, lines: &[&str], options: &[&str]) -> Terminal {
    fixture.script(more, lines);
    let mut command: Command = fixture.command(&["chat", "c.yaml"]);
    command.args(options);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.until("c.yaml with demo/script. Each message");
    terminal.until("/quit ends.").until("> ");
    terminal
}

fn runs(fixture: &Fixture) -> Vec<String> {
    let (_, list) = fixture.json(&["list"]);
    let runs = list["runs"].as_array().unwrap().iter();
    runs.map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_message_of_a_chat_continues_the_run_before() {
    let fixture = Fixture::new();
    let lines = ["One.", "Two."].map(says);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut chat = chat(&fixture, "tools: {builtin: [echo]}\n", &lines);
    chat.types("/forget\r").until("nothing to forget");
    chat.types("/undo\r").until("nothing to undo");
    chat.types("/tools\r").until("echo  ");
    chat.types("first\r").until("One.");
    chat.types("second\r").until("Two.");
    // Nothing gives the script a price, which is not the same as nothing.
    chat.types("/cost\r")
        .until("2 runs, ")
        .until(", cost unknown, ");
    chat.types("/frob\r").until("unknown command /frob");
    // None of these is a message.
    chat.types("/frob it\r").until("unknown command /frob");
    chat.types("/undo 2\r").until("/undo takes no argument");
    chat.types("/exit now\r").until("/exit takes no argument");
    chat.types("exit\r")
        .until("exit was not sent; /exit ends the conversation");
    // A conversation takes no option, so the command is one of the shell.
    chat.types("/show\r")
        .until("2 earlier messages; monolith show ")
        .until(" --full shows them too")
        .until("COMPLETED_CHAT_ONLY");
    chat.types("/forget\r")
        .until("is removed from this conversation; the next message")
        .until("continues run");
    // A script is played on from where the run before had come.
    chat.types("third\r").until("Two.");
    chat.types("/quit\r");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("monolith continue"), "{shown}");
    let (_, last) = fixture.json(&["show", "last"]);
    let said: Vec<&str> = last["conversation"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["first", "One.", "third", "Two."]);
    for run in runs(&fixture) {
        fixture.ok(&["verify", &run]);
        fixture.ok(&["replay", &run]);
    }
}

/// Returns the requests and answers of the last run.
fn texts_of(fixture: &Fixture) -> Vec<String> {
    let (_, last) = fixture.json(&["show", "last"]);
    let messages = last["conversation"].as_array().unwrap().iter();
    messages
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Between two messages nothing holds the run that the next one continues. It has ended, so others can only go on from it too, or
/// take it away; and what was put in its place is another run.
#[test]
fn what_other_processes_do_to_a_run_between_two_messages_is_harmless_or_noticed() {
    let fixture = Fixture::new();
    let lines = ["One.", "Two.", "Three."].map(says);
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut chat = chat(&fixture, "", &lines);
    chat.types("first\r").until("One.").until("> ");
    let first = runs(&fixture).remove(0);
    fixture.ok(&["continue", &first, "aside"]);
    assert_eq!(texts_of(&fixture), ["first", "One.", "aside", "Two."]);
    // A run that has ended takes no more entries.
    fixture.ok(&["resume", &first]);
    chat.types("second\r").until("Two.").until("> ");
    assert_eq!(texts_of(&fixture), ["first", "One.", "second", "Two."]);
    let second = runs(&fixture).remove(0);
    fixture.ok(&["delete", &second, "--yes"]);
    chat.types("third\r").until("was deleted").until("> ");
    fixture.ok(&["run", "c.yaml", "--task", "another", "--run-id", &second]);
    let before = runs(&fixture).len();
    chat.types("fourth\r")
        .until("is not the run that answered here")
        .until("/forget")
        .until("> ");
    assert_eq!(runs(&fixture).len(), before, "nothing goes on from it");
    chat.types("/forget\r")
        .until("the next message")
        .until(&first)
        .until("> ");
    chat.types("fifth\r").until("Two.").until("> ");
    assert_eq!(texts_of(&fixture), ["first", "One.", "fifth", "Two."]);
    chat.types("/quit\r");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn an_interrupt_ends_the_turn_and_not_the_chat() {
    let fixture = Fixture::new();
    let lines = [&says("One."), "{\"fault\":\"hang\"}"];
    let mut chat = chat_with(&fixture, "", &lines, &["--verbose"]);
    chat.types("first\r").until("One.").until("> ");
    // A line that is given up is no message.
    chat.types("never sent\u{3}").until("> ");
    chat.types("second\r")
        .until("PRECHECK → INFER")
        .signal("INT");
    chat.until("stopping")
        .signal("INT")
        .until("INTERRUPTED (")
        .until("> ");
    chat.types("/cost\r").until("2 runs, ").until("> ");
    // Each answer has its own interrupts: none of those before counts for this one.
    chat.types("third\r")
        .until("PRECHECK → INFER")
        .signal("INT");
    chat.until("stopping")
        .signal("INT")
        .until("INTERRUPTED (")
        .until("> ");
    chat.types("/cost\r").until("3 runs, ").until("> ");
    chat.types("\u{4}");
    assert_eq!(chat.end().0, 0);
    let (code, last) = fixture.json(&["show", "last", "--exit-code"]);
    assert_eq!((code, &last["outcome"]["code"]), (1, &"abort".into()));
    let said = last["conversation"].to_string();
    assert!(
        said.contains("One.") && !said.contains("never sent"),
        "{said}"
    );
}

#[test]
fn a_call_of_a_chat_can_be_allowed_and_the_next_line_is_a_message() {
    let fixture = Fixture::new();
    let lines = [
        &calls("echo", "{\"text\":\"hi\"}"),
        &says("Done."),
        &says("Still here."),
    ];
    let more = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    let mut chat = chat(&fixture, more, &lines.map(String::as_str));
    chat.types("first\r").until("allow it? [y/N]").types("y\n");
    chat.until("Done.").until("> ");
    chat.types("second\r").until("Still here.");
    chat.until("> ").types("/quit\r");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_message_that_was_stopped_and_answered_says_so() {
    let fixture = Fixture::new();
    let lines = [calls("echo", "{\"text\":\"hi\"}"), says("So far.")];
    let more = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    let mut chat = chat(&fixture, more, &lines.each_ref().map(String::as_str));
    chat.types("first\r").until("allow it? [y/N]").signal("INT");
    chat.until("So far.")
        .until("stopped: the model was asked to");
    chat.until("> ").types("/quit\r");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_chat_that_is_ended_leaves_its_prompt() {
    let fixture = Fixture::new();
    let mut chat = chat(&fixture, "", &[&says("One.")]);
    chat.types("first\r").until("One.").until("> ");
    chat.signal("TERM");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_chat_that_is_ended_during_an_answer_suspends_its_run() {
    let fixture = Fixture::new();
    let hangs = ["{\"fault\":\"hang\"}"];
    let mut chat = chat_with(&fixture, "", &hangs, &["--verbose"]);
    chat.types("first\r").until("PRECHECK → INFER");
    chat.signal("TERM").until("suspending").signal("TERM");
    let (code, shown) = chat.end();
    assert_eq!(code, 8, "{shown}");
    let (_, last) = fixture.json(&["show", "last"]);
    assert_eq!(last["outcome"], serde_json::Value::Null, "{last}");
}

/// The chat begins nothing more, even if the answer came in the time that was left for it.
#[test]
fn a_chat_that_is_ended_during_an_answer_takes_no_further_message() {
    let fixture = Fixture::new();
    let mut slow: serde_json::Value = serde_json::from_str(&says("One.")).unwrap();
    slow["delay_ms"] = json!(1500);
    let lines = [slow.to_string(), says("Two.")];
    let lines = lines.each_ref().map(String::as_str);
    let mut chat = chat_with(&fixture, "", &lines, &["--verbose"]);
    chat.types("first\r").until("PRECHECK → INFER");
    chat.types("second\r").signal("TERM").until("suspending");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("One.") && !shown.contains("Two."), "{shown}");
    assert_eq!(runs(&fixture).len(), 1);
}

/// Text typed there is never part of the answer.
#[test]
fn the_prompt_of_a_chat_is_not_in_a_file_that_takes_its_answers() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("One.")]);
    let inner = fixture.command(&["chat", "c.yaml", "--quiet"]);
    // The prompt goes to the terminal that controls the process.
    let mut shell = Command::new("setsid");
    shell.current_dir(fixture.path(""));
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let words = inner.get_args().map(|word| word.to_str().unwrap());
    let words = words.collect::<Vec<_>>().join(" ");
    let program = shell_word(inner.get_program());
    let inner = format!("exec {program} {words} > out.txt");
    shell.args(["--ctty", "--wait", "sh", "-c", &inner]);
    let mut chat = Terminal::start(shell);
    chat.until("> ")
        .types("first\r")
        .until("> ")
        .types("/quit\r");
    assert_eq!(chat.end().0, 0);
    assert_eq!(fixture.read("out.txt"), "One.\n");
}

/// A line in another encoding is refused alone.
#[test]
fn a_line_that_is_no_text_is_not_sent_and_the_chat_goes_on() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("One.")]);
    let mut command = fixture.command(&["chat", "c.yaml"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"caf\xe9\nsecond\n").unwrap();
    drop(stdin);
    let left: Left = child.wait_with_output().unwrap().into();
    assert_eq!(
        (left.code, left.out.as_str()),
        (0, "One.\n"),
        "{}",
        left.err
    );
    assert!(
        left.err.contains("send the line: it is not UTF-8"),
        "{}",
        left.err
    );
}

#[test]
fn the_text_of_an_attempt_that_was_left_is_marked_as_discarded() {
    let fixture = Fixture::new();
    let line = streams("The licence ", "is MIT.", Some(1));
    let line = line.replace("\"reset\"", "\"hang\"");
    fixture.script("sampling: {stream: true}\n", &[&line]);
    let mut run = Terminal::start(fixture.command(&["run", "c.yaml"]));
    run.until("The licence").signal("TERM").until("suspending");
    run.signal("TERM");
    let (code, shown) = run.end();
    assert_eq!(code, 8, "{shown}");
    assert!(
        shown.contains("the text above belongs to an unfinished attempt"),
        "{shown}"
    );
}

#[test]
fn what_helps_in_a_chat_is_typed_in_a_chat() {
    let fixture = Fixture::new();
    let more = "tool_policy: required\ntools: {builtin: [echo]}\n";
    let mut chat = chat(
        &fixture,
        more,
        &[&says("You are welcome."), &says("Hello.")],
    );
    chat.types("Thanks!\r")
        .until("each run needs its own tool call");
    // What the model answered is part of the conversation.
    chat.until("monolith chat c.yaml --run ")
        .until(" --set tool_policy=optional")
        .until("/show shows what happened")
        .until("> ");
    chat.types("/show\r").until("no_call_response").until("> ");
    chat.types("/exit\r");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("monolith continue"), "{shown}");
}

/// A remedy that needs no other file works in the conversation itself.
#[test]
fn a_call_that_was_refused_in_a_chat_is_asked_for_again_by_the_next_message() {
    let fixture = Fixture::new();
    let more = "tool_policy: required\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    let call = calls("echo", r#"{"text": "hi"}"#);
    let mut chat = chat(&fixture, more, &[&call, &says("I may not.")]);
    chat.types("Say it.\r").until("allow it? [y/N] ");
    chat.types("n\r").until("no_call_response");
    chat.until("allow it when it is asked for again: your next")
        .until("> ");
    chat.types("/exit\r");
    let (_, shown) = chat.end();
    assert!(!shown.contains("monolith chat"), "{shown}");
}

/// The next message of this chat comes after the failed one, and so does that of the chat which is named.
#[test]
fn what_helps_with_a_failed_message_goes_on_from_it_in_a_chat() {
    let fixture = Fixture::new();
    let more = "tool_policy: required\ntool_proof: succeeded\ntools: {builtin: [read_file], workspace: .}\n";
    let call = calls("read_file", r#"{"path": "nope.md"}"#);
    let mut chat = chat(&fixture, more, &[&call, &says("It is not there.")]);
    chat.types("Read it.\r").until("proof_not_succeeded");
    chat.until("correct what the calls failed with");
    let failed = runs(&fixture).remove(0);
    let again = format!("monolith chat c.yaml --run {failed}");
    chat.until(&format!("{again} --set tool_proof=executed"))
        .until("corrected file")
        .until(&again)
        .until("> ");
    chat.types("/exit\r");
    let (_, shown) = chat.end();
    assert!(!shown.contains("monolith continue"), "{shown}");
}

#[test]
fn a_chat_goes_on_from_a_run_that_has_ended() {
    let fixture = Fixture::new();
    let call = calls("echo", "{\"text\":\"hi\"}");
    fixture.script(
        "tools: {builtin: [echo]}\n",
        &[&call, &says("One."), &says("Two."), &says("Three.")],
    );
    fixture.ok(&["run", "c.yaml", "--run-id", "r1", "--task", "first"]);
    let mut chat = Terminal::start(fixture.command(&["chat", "--run", "r1"]));
    chat.until("Continuing from run r1.").until("> ");
    chat.types("second\r").until("Two.").until("> ");
    let continued = texts_of(&fixture);
    assert_eq!(continued[0], "first");
    assert_eq!(continued[continued.len() - 2..], ["second", "Two."]);
    // The last message called nothing; the one before it did.
    chat.types("/forget\r")
        .until("the next message continues run r1")
        .until("> ");
    chat.types("/forget\r")
        .until("starts a new conversation")
        .until("changes made by its tools remain")
        .until("> ");
    chat.types("/quit\r");
    let (code, shown) = chat.end();
    assert_eq!(code, 0);
    assert_eq!(
        shown.matches("made by its tools remain").count(),
        1,
        "{shown}"
    );
    // A file that was changed since is taken where it is named.
    let changed = fixture.read("c.yaml") + "max_turns: 7\n";
    fixture.write("c.yaml", &changed);
    let mut chat = Terminal::start(fixture.command(&["chat", "--run", "r1"]));
    chat.until("> ")
        .types("third\r")
        .until("max_turns")
        .until("> ");
    chat.types("/quit\r");
    chat.end();
    let mut chat = Terminal::start(fixture.command(&["chat", "c.yaml", "--run", "r1"]));
    chat.until("> ").types("third\r").until("Two.");
    chat.until("> ").types("/quit\r");
    assert_eq!(chat.end().0, 0);
    // A run without an end is resumed first.
    assert_eq!(fixture.run(&["chat", "--run", "nosuch"]).code, 4);
}

#[test]
fn what_is_waited_for_while_a_run_is_stopped_says_so() {
    let fixture = Fixture::new();
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml"]));
    terminal.until("PRECHECK → INFER").signal("INT");
    terminal.until("stopping: the run is brought to its end");
    terminal
        .until("stopping: waiting for demo/script")
        .signal("INT");
    assert_eq!(terminal.end().0, 1);
}

/// A person sees how each message ended; a script reads it from the exit code.
#[test]
fn a_chat_in_a_pipe_ends_with_the_code_of_its_last_run() {
    let check = |lines: &[&str], expect: i32| {
        let fixture = Fixture::new();
        let answers = [
            says("No tool for me."),
            calls("echo", "{\"text\":\"x\"}"),
            says("Done."),
        ];
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        fixture.script(
            "tool_policy: required\ntools: {builtin: [echo]}\nmax_turns: 3\n",
            &answers,
        );
        let mut child = fixture
            .command(&["chat", "c.yaml"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        for line in lines {
            writeln!(stdin, "{line}").unwrap();
        }
        drop(stdin);
        let left = Left::from(child.wait_with_output().unwrap());
        assert_eq!(left.code, expect, "{}", left.printed());
    };
    check(&["hello"], 1);
    check(&["hello", "/quit"], 1);
    check(&["/help"], 0);
    check(&[], 0);
}

#[test]
fn a_verbose_chat_in_a_pipe_says_how_each_message_ended() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("One."), &says("Two.")]);
    let mut command = fixture.command(&["chat", "c.yaml", "--verbose"]);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"hello\nagain\n").unwrap();
    drop(stdin);
    let left = Left::from(child.wait_with_output().unwrap());
    for each in [
        "COMPLETED_CHAT_ONLY (final_message)   run ",
        "EXIT-FINAL-ANSWER",
    ] {
        assert_eq!(left.err.matches(each).count(), 2, "{}", left.err);
    }
    assert_eq!(left.out.matches("One.").count(), 1, "{}", left.out);
}

#[test]
fn a_file_that_changes_during_a_chat_is_refused_with_the_way_on() {
    let fixture = Fixture::new();
    let mut chat = chat(&fixture, "max_turns: 6\n", &[&says("One."), &says("Two.")]);
    chat.types("first\r").until("One.").until("> ");
    let first = runs(&fixture).remove(0);
    let changed = fixture
        .read("c.yaml")
        .replace("max_turns: 6", "max_turns: 9");
    fixture.write("c.yaml", &changed);
    chat.types("second\r").until("the file has changed");
    chat.until("/exit")
        .until("monolith chat c.yaml --run")
        .until(&first)
        .until("> ");
    chat.types("/exit\r");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("give again each --set"), "{shown}");
    // It works as it is named.
    let mut again = Terminal::start(fixture.command(&["chat", "c.yaml", "--run", &first]));
    again.until("> ").types("second\r").until("Two.");
    again.until("> ").types("/exit\r");
    assert_eq!(again.end().0, 0);
}

/// Lines that wait while another is carried out are carried out in their order, whether they came at once or while an answer was under way.
#[test]
fn lines_that_are_typed_ahead_are_carried_out_one_after_the_other() {
    let fixture = Fixture::new();
    let more = "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    let call = calls("echo", "{\"text\":\"x\"}");
    let lines = [&call[..], &says("One."), &says("Two."), &says("Three.")];
    let mut chat = chat(&fixture, more, &lines);
    chat.types("first\rsecond\r").until("allow it? [y/N] ");
    chat.types("y\nthird\n/exit\n")
        .until("One.")
        .until("Two.")
        .until("Three.");
    let (code, shown) = chat.end();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(runs(&fixture).len(), 3, "{shown}");
    let (_, last) = fixture.json(&["show", "last"]);
    let said = last["conversation"].as_array().unwrap();
    let said = said.iter().filter(|message| message["role"] == "user");
    let said: Vec<&str> = said.map(|m| m["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["first", "second", "third"]);
}
