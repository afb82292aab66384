//! A call that waits for a person, answered by `monolith approve` from another process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use monolith_core::kernel::EventKind;
use monolith_core::message::RunId;
use monolith_host::store::StoreReader;

use crate::fixture::{Fixture, Left, calls, says};
use crate::terminal::Terminal;

const ARGUMENTS: &str = "{\"text\":\"hi \\u202e\\u001b[2K\"}";

/// A fixture with a contract whose scripted model makes a call that needs an approval, and answers.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", ARGUMENTS), &says("said")],
    );
    fixture
}

impl Fixture {
    /// A process that waits for an approval, and the hash that it shows.
    fn waiting(&self, args: &[&str]) -> (Child, String) {
        let mut run = self
            .command(args)
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut hash = None;
        let mut printed = String::new();
        for line in BufReader::new(run.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            printed.push_str(&line);
            if let Some((_, shown)) = line.split_once("blake3") {
                hash = Some(shown.trim().to_owned());
            }
            if line.contains("monolith approve r1") {
                break;
            }
        }
        // No one can answer at the terminal of this process.
        let or_leave = "waits for an answer from elsewhere: `monolith approve r1`; with --no-wait";
        assert!(printed.contains(or_leave), "{printed}");
        assert!(
            printed.contains("call 1 of echo asks for your approval"),
            "{printed}"
        );
        assert!(!printed.contains('\u{1b}'), "{printed}");
        (run, hash.unwrap())
    }

    fn events_of_r1(&self) -> Vec<EventKind> {
        let mut reader = StoreReader::open(&self.path("home/runs.db")).unwrap();
        let run = reader
            .read_run(&RunId::try_from("r1".to_owned()).unwrap())
            .unwrap();
        run.filter_map(|entry| entry.unwrap().decode_event().unwrap())
            .map(|event| event.event)
            .collect()
    }
}

#[test]
fn a_call_runs_once_it_is_allowed_and_by_the_hash_of_its_arguments_only() {
    let fixture = fixture();
    let (run, hash) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    let printed = fixture.ends(&["approve", "r1"], 4).printed();
    assert!(printed.contains("it was not confirmed"), "{printed}");
    let command = format!("monolith approve r1 --yes --arguments {hash}");
    assert!(printed.contains(&command), "{printed}");
    // Every view of the run reports what waits.
    let printed = fixture.ok(&["show", "r1"]);
    for expect in ["echo {\"text\"", &hash, "Answer it: monolith approve r1"] {
        assert!(printed.contains(expect), "{expect}: {printed}");
    }
    let printed = fixture.ok(&["list", "--open"]);
    assert!(printed.contains(", waits for an approval"), "{printed}");
    assert!(printed.contains("s+ "), "time goes on: {printed}");
    let printed = fixture.ends(&["approve", "r1", "--yes"], 4).printed();
    assert!(printed.contains(&command), "{printed}");
    assert!(printed.contains("--yes requires --arguments"), "{printed}");
    let printed = fixture
        .ends(&["approve", "r1", "--yes", "--arguments", "00000000"], 4)
        .printed();
    assert!(!printed.contains(&hash[..12]), "{printed}");
    let printed = fixture
        .ends(&["approve", "r1", "--yes", "--arguments", &hash[..12]], 0)
        .printed();
    assert_eq!(printed, "allowed: call 1 of run r1\n");
    let output = Left::from(run.wait_with_output().unwrap());
    assert_eq!((output.code, output.out.as_str()), (0, "said\n"));
    let printed = fixture.ok(&["show", "r1"]);
    assert!(printed.contains("\n1 call, 0 failed\n"), "{printed}");
    let given = |event: &EventKind| matches!(event, EventKind::ApprovalGiven(_));
    assert_eq!(
        fixture
            .events_of_r1()
            .iter()
            .filter(|event| given(event))
            .count(),
        1
    );
    fixture.ends(&["replay", "r1"], 0);
    let printed = fixture
        .ends(&["approve", "r1", "--yes", "--arguments", &hash], 4)
        .printed();
    assert!(printed.contains("none of its calls waits"), "{printed}");
}

#[test]
fn an_approval_shows_every_character_that_a_terminal_does_not_and_the_length() {
    let hidden = [
        '\u{34f}',
        '\u{115f}',
        '\u{2003}',
        '\u{2800}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{ffa0}',
        '\u{e0041}',
        '\u{e0100}',
    ];
    let arguments = format!("{{\"text\":\"rm {}x\"}}", hidden.iter().collect::<String>());
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nrequire_approval: [echo]\n",
        &[&calls("echo", &arguments), &says("said")],
    );
    let (mut run, hash) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    let asked = fixture.ends(&["approve", "r1"], 4).printed();
    let shown = fixture.ok(&["show", "r1"]);
    let listed = fixture.ok(&["list", "--open"]);
    run.kill().unwrap();
    run.wait().unwrap();
    for text in [&asked, &shown, &listed] {
        assert!(!text.contains(hidden), "{text:?}");
    }
    for c in hidden {
        let written = format!("\\u{{{:x}}}", u32::from(c));
        assert!(asked.contains(&written), "{written}: {asked}");
    }
    let length = format!("{} bytes", arguments.len());
    for expect in [&hash, &length] {
        assert!(asked.contains(expect), "{expect}: {asked}");
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    assert_eq!(hash, blake3::hash(arguments.as_bytes()).to_string());
}

#[test]
fn a_refused_call_is_not_made_and_the_model_is_told() {
    let fixture = fixture();
    let (run, hash) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1", "--json"]);
    fixture.ends(
        &["approve", "r1", "--deny", "--yes", "--arguments", &hash],
        0,
    );
    let output = Left::from(run.wait_with_output().unwrap());
    let result = output.document();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_CHAT_ONLY",
        "{result}"
    );
    let printed = result["conversation"].as_array().unwrap();
    let printed: Vec<&str> = printed
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert!(
        printed.contains(&"(tool failed: denied: approval)"),
        "{printed:?}"
    );
    assert!(
        !fixture
            .events_of_r1()
            .iter()
            .any(|event| matches!(event, EventKind::ToolReturned(_)))
    );
}

#[test]
fn a_run_whose_process_died_while_it_waited_can_still_be_answered() {
    let fixture = fixture();
    let (mut run, hash) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    run.kill().unwrap();
    run.wait().unwrap();
    let printed = fixture
        .ends(&["approve", "r1", "--yes", "--arguments", &hash], 0)
        .printed();
    let now = "call 1 of run r1\nNow: monolith resume r1\n";
    assert_eq!(printed, format!("allowed: {now}"));
    // It is not asked for any more.
    let listed = fixture.ok(&["list"]);
    let expect = "process died (monolith resume r1), call allowed";
    assert!(listed.contains(expect), "{listed}");
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"][0]["waits_for_approval"], Value::Null);
    assert_eq!(listed["runs"][0]["approval_answer"], "allowed");
    let shown = fixture.ok(&["show", "r1"]);
    for expect in [
        "allowed by a person, not taken by the run yet",
        "Its call is allowed.\nResume it: monolith resume r1\n",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    assert!(!shown.contains("Answer it"), "{shown}");
    // No process has taken it yet: the same answer again reports so, and another one is not put in its place unasked.
    let again = fixture
        .ends(&["approve", "r1", "--yes", "--arguments", &hash], 0)
        .printed();
    assert_eq!(again, format!("already allowed: {now}"));
    let deny = ["approve", "r1", "--deny", "--yes", "--arguments", &hash];
    let other = fixture.ends(&deny, 4).printed();
    assert!(
        [
            "its call was already allowed",
            "monolith resume r1",
            "--replace"
        ]
        .iter()
        .all(|expect| other.contains(expect)),
        "{other}"
    );
    let other = fixture
        .ends(&[&deny[..], &["--replace"]].concat(), 0)
        .printed();
    assert!(other.contains("replacing the earlier answer"), "{other}");
    assert!(fixture.ok(&["show", "r1"]).contains("Its call is denied."));
    let back = ["approve", "r1", "--yes", "--replace", "--arguments", &hash];
    fixture.ends(&back, 0);
    let output = fixture.run(&["resume", "r1"]);
    assert_eq!((output.code, output.out.as_str()), (0, "said\n"));
    fixture.ends(&["replay", "r1"], 0);
}

/// An answer that a process has may be under way into its transcript: another one in its place would change nothing.
#[test]
fn an_answer_that_a_process_has_is_not_replaced() {
    let fixture = fixture();
    let (mut run, hash) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    let pid = Pid::from_child(&run);
    kill_process(pid, Signal::STOP).unwrap();
    fixture.ok(&["approve", "r1", "--yes", "--arguments", &hash]);
    let deny = ["deny", "r1", "--yes", "--replace", "--arguments", &hash];
    let said = fixture.ends(&deny, 4).printed();
    assert!(said.contains("is taking that answer"), "{said}");
    kill_process(pid, Signal::CONT).unwrap();
    assert!(run.wait().unwrap().success());
    assert!(fixture.ok(&["show", "r1"]).contains("said"));
}

/// An answer that is confirmed once another one was taken counts for nothing, and says so.
#[test]
fn an_answer_that_is_confirmed_too_late_is_refused() {
    let fixture = fixture();
    fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    let mut late = Terminal::start(fixture.command(&["deny", "r1"]));
    late.until("refuse it? [y/N] ");
    fixture.answers("approve", "r1");
    fixture.ok(&["resume", "r1"]);
    late.types("y\n");
    let (code, said) = late.end();
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("answered in the meantime"), "{said}");
    assert!(!said.contains("denied:"), "{said}");
}

/// Whatever `deny` is refused for, its help denies, too.
#[test]
fn a_refused_denial_names_the_command_that_denies() {
    let fixture = fixture();
    fixture.ends(&["run", "c.yaml", "--run-id", "r1", "--no-wait"], 8);
    let reason = "x".repeat(1_001);
    for refused in [
        &["deny", "r1", "--yes", "--arguments", "00000000"][..],
        &["deny", "r1", "--reason", &reason],
    ] {
        let said = fixture.ends(refused, 4).printed();
        assert!(said.contains("monolith deny r1"), "{said}");
        assert!(!said.contains("monolith approve"), "{said}");
    }
}

#[test]
fn a_call_that_nobody_allows_is_shown_and_why_the_run_has_no_proof() {
    let check = |timeout_ms: u32, deny: bool, call: &str, run: &str| {
        let fixture = Fixture::new();
        // A call inside a container is reported like any other.
        let asked = if deny {
            calls("echo", ARGUMENTS)
        } else {
            let parts = "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}]}";
            calls("agent__batch", parts)
        };
        fixture.script(
            &format!(
                "tool_policy: required\nbatch: true\ntools: {{builtin: [echo]}}\nrequire_approval: [echo]\napproval_timeout_ms: {timeout_ms}\n"
            ),
            &[&asked, &says("said"), &says("said")],
        );
        let args = ["run", "c.yaml", "--run-id", "r1"];
        let left = if deny {
            let (process, hash) = fixture.waiting(&args);
            let answer = ["approve", "r1", "--deny", "--yes", "--arguments", &hash];
            fixture.ends(&answer, 0);
            process.wait_with_output().unwrap().into()
        } else {
            fixture.run(&args)
        };
        assert_eq!(left.code, 1, "{}", left.printed());
        let printed = fixture.ok(&["show", "r1"]);
        for expect in [
            "1 call, 0 failed, 1 not started",
            "  echo {\"text\"",
            call,
            run,
        ] {
            assert!(printed.contains(expect), "{expect}: {printed}");
        }
        assert!(!printed.contains("Answer it"), "{printed}");
    };
    let refused = "denied: approval, a person refused it";
    check(86_400_000, true, refused, "a person refused the approval");
    let late = "the approval was not answered in time";
    check(1, false, "denied: approval, not answered in time", late);
}

/// The question on a terminal gets its answer there, too, and the next text starts on a new line.
#[test]
fn an_answer_that_is_given_elsewhere_is_shown_where_the_question_stands() {
    let fixture = fixture();
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml", "--run-id", "r1"]));
    terminal.until("allow it? [y/N] ");
    fixture.answers("approve", "r1");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("[y/N] \r\napproved elsewhere\r\n"),
        "{shown:?}"
    );
}

/// Input typed before a question answers nothing, and is not lost without a word.
#[test]
fn what_is_typed_before_a_question_is_no_answer_and_is_shown() {
    let fixture = fixture();
    let mut terminal = Terminal::start(fixture.command(&["run", "c.yaml", "--run-id", "r1"]));
    terminal
        .types("y\nand mo")
        .until("dropped: typed before the question, and no answer to it: y and mo")
        .until("allow it? [y/N] ");
    let (_, shown) = {
        terminal.types("y\n");
        terminal.end()
    };
    assert!(shown.contains("COMPLETED_WITH_TOOLS"), "{shown}");
}

/// A signal comes while the cursor stands behind the question.
#[test]
fn what_a_signal_brings_at_a_question_has_lines_of_its_own_and_fits_the_terminal() {
    for (signal, said, code) in [("TERM", "suspending: ", 8), ("INT", "stopping: ", 0)] {
        let fixture = fixture();
        let mut terminal =
            Terminal::sized(fixture.command(&["run", "c.yaml", "--run-id", "r1"]), 80);
        terminal.until("allow it? [y/N] ").signal(signal);
        let (ended, shown) = terminal.end();
        assert_eq!(ended, code, "{shown}");
        let expect = format!("allow it? [y/N] \r\n{said}");
        assert!(shown.contains(&expect), "{shown:?}");
        let (_, behind) = shown.split_once("allow it? ").unwrap();
        for line in behind.lines() {
            // Without its colours.
            let bare: String = line
                .split('\u{1b}')
                .map(|part| {
                    part.split_once('m')
                        .filter(|_| part.starts_with('['))
                        .map_or(part, |(_, text)| text)
                })
                .collect();
            assert!(bare.chars().count() <= 80, "{line:?}");
        }
    }
}

/// No is no fault: the call still waits, and the command that refuses it is named.
#[test]
fn a_no_at_the_question_leaves_the_call_waiting_and_names_the_other_answer() {
    let fixture = fixture();
    let (mut run, _) = fixture.waiting(&["run", "c.yaml", "--run-id", "r1"]);
    for (verb, other) in [
        ("approve", "monolith deny r1 refuses it"),
        ("deny", "monolith approve r1 allows it"),
    ] {
        let mut terminal = Terminal::start(fixture.command(&[verb, "r1"]));
        terminal.until("[y/N]");
        terminal.types("n\r").until(other);
        let (code, shown) = terminal.end();
        assert_eq!(code, 4, "{shown}");
        assert!(!shown.contains("error"), "{shown}");
    }
    run.kill().unwrap();
    run.wait().unwrap();
}
