//! Requests of a person, or a supervisor, to a run reach all its child runs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use monolith_host::store::StoreReader;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{asks, lead, prompt};
use crate::fixture::{Fixture, Left, shell_word};
use crate::harness::Harness;
use crate::terminal::Terminal;

/// An agent that waits for an approval of its call, below another one.
fn waiting() -> Fixture {
    let fixture = Fixture::new();
    fixture.middle_that_waits();
    let calls = asks(&[("agent__middle", prompt("have it said"))], "Done.");
    fixture.agent("lead", "agents: [middle.yaml]\n", &calls);
    fixture
}

/// The question of an agent below names its run: that is whom `approve` answers from elsewhere.
#[test]
fn a_question_at_the_terminal_names_the_run_below_that_asks() {
    let fixture = waiting();
    let mut terminal = Terminal::start(fixture.command(&lead(&[])));
    terminal
        .until("run lead.1.1: call 1 of echo asks for your approval")
        .until("allow it? [y/N] ")
        .types("y\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, 0, "{shown}");
}

/// The lines of a child run are indented below those of its parent, and name the agent and the run.
/// 001/1.logs.6
#[test]
fn child_runs_are_shown_indented_on_the_terminal_of_their_parent() {
    let fixture = Fixture::new();
    fixture.worker("worker");
    let calls = asks(&[("agent__worker", prompt("the time"))], "Late.");
    fixture.agent("middle", "agents: [worker.yaml]\n", &calls);
    let calls = asks(&[("agent__middle", prompt("the time"))], "Done.");
    fixture.agent("lead", "agents: [middle.yaml]\n", &calls);
    let mut command = fixture.command(&lead(&[]));
    command.env("NO_COLOR", "1");
    let (code, shown) = Terminal::sized(command, 200).end();
    assert_eq!(code, 0, "{shown}");
    let lines = shown.lines();
    // A spinner may have stood in the line before.
    let lines = lines.map(|line| line.rsplit("\u{1b}[2K").next().unwrap_or_default());
    let begins: Vec<&str> = lines
        .filter_map(|line| Some(line.split_once("PRECHECK → INFER")?.0))
        .collect();
    let indents = ["", "  agent:middle lead.1  ", "    agent:worker lead.1.1  "];
    assert_eq!(begins.len(), indents.len(), "{shown}");
    for (begin, indent) in begins.iter().zip(indents) {
        let time = begin.strip_prefix(indent).unwrap_or("none");
        assert!(
            time.starts_with(|first: char| first.is_ascii_digit()),
            "{shown}"
        );
    }
    let piped = fixture.run(&["run", "lead.yaml", "--task", "go", "--run-id", "again"]);
    assert!(!piped.err.contains("again.1"), "{}", piped.err);
}

/// Time limit of a process for work that should take none: far more than any machine needs.
const SOON: Duration = Duration::from_secs(60);

fn begins(fixture: &Fixture, args: &[&str]) -> Child {
    let mut command = fixture.command(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits until a process says that a call waits for a person.
fn waits(child: &mut Child) {
    let mut printed = String::new();
    for line in BufReader::new(child.stderr.as_mut().unwrap()).lines() {
        printed.push_str(&line.unwrap());
        if printed.contains("monolith approve lead.1.1") {
            return;
        }
    }
    panic!("it ended and never waited: {printed}");
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn left(child: Child) -> Left {
    Left::from(child.wait_with_output().unwrap())
}

/// Waits until that is in an event of the run.
fn until(fixture: &Fixture, child: &mut Child, run: &str, what: &str) {
    let (began, store) = (Instant::now(), fixture.path("home/runs.db"));
    loop {
        assert!(
            began.elapsed() < SOON && child.try_wait().unwrap().is_none(),
            "{run}: {what}"
        );
        std::thread::yield_now();
        let Ok(mut reader) = StoreReader::open(&store) else {
            continue;
        };
        let Ok(stored) = reader.read_run(&super::named(run)) else {
            continue;
        };
        if stored
            .map(Result::unwrap)
            .any(|entry| entry.event.contains(what))
        {
            return;
        }
    }
}

/// The classes and codes of the tree, or that a run is open.
fn ends(fixture: &Fixture) -> Vec<String> {
    let (_, listed) = fixture.json(&["list"]);
    let mut runs: Vec<(String, String)> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let code = run["outcome"]["code"].as_str().unwrap_or("open");
            (run["run_id"].as_str().unwrap().to_owned(), code.to_owned())
        })
        .collect();
    runs.sort();
    runs.into_iter().map(|(_, code)| code).collect()
}

#[test]
fn an_answer_to_an_agent_below_lets_the_whole_tree_go_on() {
    let fixture = waiting();
    let mut child = begins(&fixture, &lead(&[]));
    waits(&mut child);
    fixture.answers("approve", "lead.1.1");
    let left = left(child);
    assert_eq!(left.code, 0, "{}", left.printed());
    fixture.proves_tree("lead");
    assert_eq!(ends(&fixture), ["final_message"; 3]);
}

/// When the last event of a run came, on the clock of that run, in milliseconds.
fn last_ms(fixture: &Fixture, run: &str) -> u64 {
    let mut reader = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    let entries = reader.read_run(&super::named(run)).unwrap();
    let events = entries.filter_map(|entry| entry.unwrap().decode_event().unwrap());
    events.last().unwrap().at_ms
}

#[test]
fn the_time_of_a_person_counts_for_no_run_above_the_one_that_asks() {
    let fixture = waiting();
    let mut child = begins(&fixture, &lead(&[]));
    waits(&mut child);
    // More than all else that the tree does takes.
    let (_person, answer) = std::sync::mpsc::channel::<()>();
    answer.recv_timeout(Duration::from_secs(3)).unwrap_err();
    fixture.answers("approve", "lead.1.1");
    let left = left(child);
    assert_eq!(left.code, 0, "{}", left.printed());
    let [lead, middle, worker] = ["lead", "lead.1", "lead.1.1"].map(|run| last_ms(&fixture, run));
    assert!(worker >= 3_000, "its own clock goes on: {worker} ms");
    assert!(
        middle < worker && lead < worker,
        "{lead}, {middle} of {worker} ms"
    );
    fixture.proves_tree("lead");
}

/// SIGTERM leaves every run of the tree without an end; the first one resumes them all, and none is begun again.
#[test]
fn a_tree_that_is_suspended_goes_on_as_one() {
    let fixture = waiting();
    let mut child = begins(&fixture, &lead(&[]));
    waits(&mut child);
    signal(&child, Signal::TERM);
    let first = left(child);
    assert_eq!(first.code, 8, "{}", first.printed());
    assert_eq!(ends(&fixture), ["open"; 3]);
    fixture.ok(&["verify", "lead", "--tree", "--open"]);

    // A child run cannot be resumed by itself.
    let refused = fixture.ends(&["resume", "lead.1.1"], 4);
    assert!(
        refused.err.contains("it resumes with its parent run lead"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("monolith resume lead\n"),
        "{}",
        refused.err
    );
    fixture.answers("approve", "lead.1.1");
    let resumed = fixture.run(&["resume", "--all"]);
    assert_eq!(resumed.code, 0, "{}", resumed.printed());
    assert_eq!(resumed.out.lines().count(), 1, "{}", resumed.out);
    fixture.proves_tree("lead");
    assert_eq!(ends(&fixture), ["final_message"; 3]);
}

/// If the process waits for no person, the tree is left together, and `approve` names the run that waits.
#[test]
fn a_tree_that_waits_for_no_one_is_left_with_its_question() {
    let fixture = waiting();
    let left = fixture.run(&lead(&["--no-wait"]));
    assert_eq!(left.code, 8, "{}", left.printed());
    let next = "monolith approve lead.1.1 answers call 1 of echo in a child run, then monolith resume lead continues it";
    assert!(left.err.contains(next), "{}", left.printed());
    assert_eq!(ends(&fixture), ["open"; 3]);
    let again = fixture.ends(&["resume", "lead", "--no-wait", "--json"], 8);
    assert_eq!(again.document()["waits_for"]["run_id"], "lead.1.1");
    fixture.answers("deny", "lead.1.1");
    fixture.ok(&["resume", "lead", "--no-wait"]);
    let tree = fixture.proves_tree("lead");
    assert_eq!(Fixture::tree_names(&tree).len(), 3);
}

/// A second interrupt ends the run at once: every run below it is sealed as ended by its parent before the process leaves, and no tool server
/// of theirs is waited for.
#[test]
fn an_abort_ends_every_run_below() {
    let fixture = waiting();
    if Harness::has_python() {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
        let odd = json!({"command": "python3", "args": [server, "stubborn"], "sandbox": "off"});
        let tools = format!("tools: {{mcp: {{odd: {odd}}}}}\n");
        fixture.agent("worker", &tools, &[]);
    }
    // A model that never answers.
    fixture.write("worker.jsonl", r#"{"response":"","fault":"hang"}"#);
    let mut child = begins(&fixture, &lead(&[]));
    until(&fixture, &mut child, "lead.1.1", "probed");
    signal(&child, Signal::INT);
    // The first is heard before the second is sent: signals of one kind do not queue.
    until(&fixture, &mut child, "lead.1.1", "stop_requested");
    signal(&child, Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(ends(&fixture), ["abort", "parent", "parent"]);
    let (code, tree) = fixture.json(&["verify", "lead", "--tree"]);
    assert_eq!(code, 0, "{tree}");
}

/// A stop is asked of every run below: the call that waits is not made, and each comes to its end.
#[test]
fn a_stop_reaches_the_runs_below() {
    let fixture = waiting();
    let mut child = begins(&fixture, &lead(&[]));
    waits(&mut child);
    signal(&child, Signal::INT);
    let left = left(child);
    let codes = ends(&fixture);
    assert!(
        codes.iter().all(|code| code != "open"),
        "{codes:?}: {}",
        left.printed()
    );
    let (_, worker) = fixture.json(&["show", "lead.1.1"]);
    assert_eq!(
        super::shown(&worker),
        ["(tool failed: not started: stop requested)"]
    );
    fixture.proves_tree("lead");
}

/// A run below that is being brought up again is no exception: it ends with the one above.
#[test]
fn an_abort_ends_a_run_below_whose_tool_server_does_not_come_up_again() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let fixture = waiting();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    let once = shell_word(fixture.path("once"));
    let script = format!(
        "test -e {once} && exec sleep 600; touch {once}; exec python3 {}",
        shell_word(server)
    );
    let slow = json!({"command": "sh", "args": ["-c", script], "sandbox": "off"});
    let says = asks(&[("echo", json!({"text": "hi"}))], "said");
    fixture.agent(
        "worker",
        &format!(
            "tools: {{builtin: [echo], mcp: {{slow: {slow}}}}}\n\
             require_approval: [echo]\n"
        ),
        &says,
    );
    let left = fixture.run(&lead(&["--no-wait"]));
    assert_eq!(left.code, 8, "{}", left.printed());
    // A resume without a terminal brings nothing up for a call that still waits.
    fixture.answers("approve", "lead.1.1");
    let mut child = begins(&fixture, &["resume", "lead"]);
    until(&fixture, &mut child, "lead.1", "resumed");
    signal(&child, Signal::INT);
    until(&fixture, &mut child, "lead.1", "stop_requested");
    signal(&child, Signal::INT);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    assert_eq!(ends(&fixture), ["abort", "parent", "parent"]);
    fixture.proves_tree("lead");
    fixture.ok(&["prune", "--older-than", "0s", "--yes"]);
}

/// A call that waits for its queue again has a run already: what ends the run above ends it, too.
#[test]
fn a_run_below_whose_call_waits_for_its_queue_again_is_not_left_open() {
    let fixture = Fixture::new();
    fixture.agent("worker", "", &[]);
    // A model that never answers.
    fixture.write("worker.jsonl", r#"{"response":"","fault":"hang"}"#);
    let calls = asks(&[("agent__worker", prompt("say it"))], "Done.");
    let terms = "agents: [worker.yaml]\nqueues: {default: {concurrent: 1}}\n";
    fixture.agent("lead", terms, &calls);
    for run in ["a", "b"] {
        let mut child = begins(&fixture, &["run", "lead.yaml", "go", "--run-id", run]);
        until(&fixture, &mut child, &format!("{run}.1"), "probed");
        signal(&child, Signal::TERM);
        let left = left(child);
        assert_eq!(left.code, 8, "{}", left.printed());
    }
    let mut child = begins(&fixture, &["resume", "--all"]);
    for what in ["resumed", "stop_requested"] {
        for run in ["a", "b"] {
            until(&fixture, &mut child, run, what);
        }
        signal(&child, Signal::INT);
    }
    child.wait().unwrap();
    let codes = ends(&fixture);
    assert!(codes.iter().all(|code| code != "open"), "{codes:?}");
    for run in ["a", "b"] {
        fixture.ok(&["verify", run, "--tree"]);
    }
}

/// Among many runs, too, a tree that waits for a person is left as it is: its result names the child run that asks.
/// `resume --all` writes nothing to any run of it and asks no model, and resumes it once a person has answered.
#[test]
fn a_tree_of_a_list_that_waits_below_is_left_as_it_is_until_it_is_answered() {
    let fixture = waiting();
    fixture.write(
        "list.jsonl",
        r#"{"contract":"lead.yaml","task":"go","run_id":"lead"}"#,
    );
    let sizes = || {
        let runs = ["lead", "lead.1", "lead.1.1"];
        runs.map(|run| fixture.ok(&["export", run]).lines().count())
    };
    let left = fixture.ends(&["run", "--contracts", "list.jsonl", "--json"], 8);
    let before = sizes();
    for again in [left, fixture.ends(&["resume", "--all", "--json"], 8)] {
        let waits = &again.document()["waits_for"];
        assert_eq!(waits["run_id"], "lead.1.1", "{}", again.printed());
        assert_eq!(waits["name"], "echo");
        assert!(again.err.contains("approve lead.1.1"), "{}", again.err);
        assert_eq!(sizes(), before);
    }
    fixture.answers("approve", "lead.1.1");
    fixture.ends(&["resume", "--all"], 0);
    fixture.proves_tree("lead");
}
