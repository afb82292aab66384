//! Requests of a person, or a supervisor, to a workflow reach its steps and all their child runs.

use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::left::stuck;
use super::{CONTRACT, fixture};
use crate::delegation::asks;
use crate::fixture::{Fixture, Left, shell_word};
use crate::harness::{COUNTING_SERVER, Harness};

/// Time limit of a process for work that should take none: far more than any machine needs.
const SOON: Duration = Duration::from_secs(120);

impl Fixture {
    pub(super) fn begins(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command that must end at all, so.
    #[track_caller]
    pub(super) fn comes_to_an_end(&self, args: &[&str], code: i32) -> Left {
        let child = self.begins(args);
        let pid = Pid::from_child(&child);
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
        let Ok(output) = ended.recv_timeout(SOON) else {
            kill_process(pid, Signal::KILL).unwrap();
            panic!("{args:?} does not end");
        };
        let left = Left::from(output);
        assert_eq!(left.code, code, "{args:?}: {}", left.printed());
        left
    }
}

/// A step's agent calls an agent whose call waits for a person.
#[test]
fn an_approval_below_a_step_suspends_the_workflow_and_its_answer_lets_it_go_on() {
    for no_wait in [&[][..], &["--no-wait"]] {
        let fixture = fixture("steps: [{id: have, delegate: middle.yaml, task: have it said}]\n");
        fixture.middle_that_waits();
        let run = ["run", "w.yaml", "--run-id", "w"];
        let left = fixture.comes_to_an_end(&[&run[..], no_wait].concat(), 8);
        let hint = "monolith approve w.1.1";
        assert!(left.err.contains(hint), "{}", left.printed());
        // Unanswered, it is left again, with the same result.
        let again = [&["resume", "w", "--json"][..], no_wait].concat();
        let again = fixture.comes_to_an_end(&again, 8).document();
        assert!(again["with_below"]["tokens"].as_u64() > Some(0), "{again}");
        fixture.answers("approve", "w.1.1");
        let ended = fixture
            .comes_to_an_end(&["resume", "w", "--json"], 0)
            .document();
        assert_eq!(ended["output"], "It was said.");
        fixture.tree_holds(&ended);
        fixture.proves_tree("w.1");
        let (_, worker) = fixture.json(&["show", "w.1.1"]);
        assert_eq!(crate::delegation::shown(&worker), ["hi"]);
    }
}

/// The process that resumes a step waits for the step's tool server: what is asked of the workflow meanwhile is asked of the step once
/// it is there, and its call is not made.
#[test]
fn a_stop_that_comes_while_a_step_is_brought_up_again_ends_the_step() {
    if !Harness::has_python() {
        return;
    }
    let fixture = fixture("");
    let server = shell_word(COUNTING_SERVER);
    // It begins once the file `open` is there.
    let script =
        format!("while [ ! -e open ]; do sleep 0.02; done; exec python3 {server} executions");
    let tools = json!({"mcp": {"fs": {"command": "sh", "args": ["-c", script]}}});
    let contract = CONTRACT.split_once("  tools:").unwrap().0;
    fixture.write(
        "w.yaml",
        &format!(
            "workflow: tried\n{contract}  require_approval: [fs__count]\n  tools: {tools}\n\
             steps: [{{id: count, tool: fs__count}}]\n"
        ),
    );
    fixture.write("open", "");
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.answers("approve", "w.1");
    std::fs::remove_file(fixture.path("open")).unwrap();

    let child = fixture.begins(&["resume", "w"]);
    let began = Instant::now();
    let until = |event: &str| {
        while !fixture.ok(&["show", "w", "--raw"]).contains(event) {
            assert!(began.elapsed() < SOON, "{event} is not recorded");
        }
    };
    until("\"kind\":\"resumed\"");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    until("stop_requested");
    fixture.write("open", "");
    let left = Left::from(child.wait_with_output().unwrap());
    let (_, shown) = fixture.json(&["show", "w"]);
    assert_eq!(left.code, 1, "{}", left.printed());
    assert_eq!(shown["outcome"]["class"], "STOPPED", "{shown}");
    assert_eq!(shown["steps"][0]["state"], "ended", "{shown}");
    let executions = std::fs::read_to_string(fixture.path("executions"));
    assert_eq!(executions.unwrap_or_default(), "");
    fixture.tree_holds(&shown);
}

/// Writes the steps of a workflow whose server runs `again` instead of its usual program, once the file `once` exists.
fn with_server(fixture: &Fixture, again: &str, more: &str) {
    let server = shell_word(COUNTING_SERVER);
    let once = shell_word(fixture.path("once"));
    let script = format!("if [ -e {once} ]; then {again}; fi; exec python3 {server} executions");
    let server = json!({"command": "sh", "args": ["-c", script], "sandbox": "off"});
    let tools = json!({"mcp": {"fs": server}});
    let contract = CONTRACT.split_once("  tools:").unwrap().0;
    let count = "  - {id: count, tool: fs__count}\n";
    fixture.write(
        "w.yaml",
        &format!(
            "workflow: tried\n{contract}  require_approval: [fs__count]\n  tools: {tools}\n\
             steps:\n- id: both\n  parallel:\n{count}{more}"
        ),
    );
}

/// A workflow whose step has its answer, and a process that waits for the step's server, which does not come up again.
fn without_its_server() -> (Fixture, Child) {
    let fixture = fixture("");
    with_server(&fixture, "exec sleep 600", "");
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.answers("approve", "w.1");
    fixture.write("once", "");
    let child = fixture.begins(&["resume", "w"]);
    (fixture, child)
}

/// A step whose server does not come up again ends with the workflow, where that is ended at once.
#[test]
fn an_abort_ends_a_step_whose_tool_server_does_not_come_up_again() {
    if !Harness::has_python() {
        return;
    }
    let (fixture, child) = without_its_server();
    for (event, signal) in [
        ("\"kind\":\"resumed\"", Signal::INT),
        ("stop_requested", Signal::INT),
    ] {
        fixture.records("w", event);
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    let left = Left::from(child.wait_with_output().unwrap());
    assert_eq!(left.code, 1, "{}", left.printed());
    let (_, shown) = fixture.json(&["show", "w"]);
    assert_eq!(shown["outcome"]["class"], "STOPPED", "{shown}");
    let (_, step) = fixture.json(&["show", "w.1"]);
    assert_eq!(step["outcome"]["code"], "parent", "{step}");
    fixture.tree_holds(&shown);
}

/// The stop that the workflow has recorded reaches the step with the next process, and comes before any answer.
#[test]
fn a_call_below_a_workflow_that_was_asked_to_stop_takes_no_answer() {
    if !Harness::has_python() {
        return;
    }
    let (fixture, mut child) = without_its_server();
    fixture.records("w", "\"kind\":\"resumed\"");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    fixture.records("w", "stop_requested");
    child.kill().unwrap();
    child.wait().unwrap();
    fixture.takes_no_answer("w.1", "w", "the run is stopping", "ends it");
    let shown = fixture.ok(&["show", "w.1"]);
    assert!(!shown.contains("Its call is allowed"), "{shown}");
}

impl Fixture {
    /// Asserts that this many calls wait: a workflow is left once all of it waits.
    #[track_caller]
    pub(super) fn all_wait(&self, calls: usize) {
        let waits = self.json(&["approvals"]).1;
        let waits = waits["approvals"].as_array().unwrap();
        assert_eq!(waits.len(), calls, "{waits:?}");
    }

    /// Waits until something is recorded of a run, as its entries say it.
    #[track_caller]
    pub(super) fn records(&self, run: &str, text: &str) {
        let began = Instant::now();
        while !self.run(&["show", run, "--raw"]).out.contains(text) {
            assert!(began.elapsed() < SOON, "{text} is not recorded of {run}");
        }
    }
}

/// One step that cannot be resumed does not cut off the calls of the others, and the workflow is left in good order.
#[test]
fn a_step_whose_server_is_down_lets_the_calls_of_the_others_end() {
    if !Harness::has_python() {
        return;
    }
    let fixture = fixture("");
    let begun = fixture.path("w/begun.tmp");
    let down = format!(
        "while [ ! -e {} ]; do sleep 0.02; done; exit 3",
        shell_word(begun)
    );
    with_server(
        &fixture,
        &down,
        "  - {id: call, delegate: caller.yaml, task: go}\n",
    );
    let command = "touch begun.tmp; while [ ! -e go ]; do sleep 0.02; done; touch ended";
    let says = asks(&[("shell", json!({"command": command}))], "called");
    let terms = "tools: {builtin: [shell], workspace: w}\nrequire_approval: [shell]\n";
    fixture.agent("caller", terms, &says);
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.all_wait(2);
    fixture.answers("approve", "w.1");
    fixture.answers("approve", "w.2");
    fixture.write("once", "");
    let suspended = || {
        let raw = fixture.ok(&["show", "w", "--raw"]);
        raw.matches("\"kind\":\"suspended\"").count()
    };
    let before = suspended();
    let process = fixture.begins(&["resume", "w"]);
    let resumed = Instant::now();
    // It is left once more while the call is under way.
    while suspended() <= before {
        assert!(resumed.elapsed() < SOON, "it is not left");
    }
    fixture.write("w/go", "");
    let left = Left::from(process.wait_with_output().unwrap());
    assert_eq!(left.code, 3, "{}", left.printed());
    assert!(fixture.path("w/ended").exists(), "{}", left.printed());
    assert!(
        left.err.contains("resume run w.1: tool server fs")
            && left
                .err
                .contains("monolith resume w continues it once the server is up"),
        "{}",
        left.printed()
    );
    let shown = fixture.ok(&["show", "w.2"]);
    assert!(!shown.contains("not known"), "{shown}");
    let listed = fixture.ok(&["list"]);
    assert!(!listed.contains("process died"), "{listed}");

    std::fs::remove_file(fixture.path("once")).unwrap();
    let ended = fixture.comes_to_an_end(&["resume", "w", "--json"], 0);
    fixture.tree_holds(&ended.document());
}

/// A file that the author took away is no fault of the evidence, and the workflow continues once it is back.
#[test]
fn a_step_whose_agent_cannot_be_read_is_the_fault_of_its_author() {
    let fixture = fixture("steps: [{id: give, delegate: scout.agent.yaml, task: go}]\n");
    let profile = "id: scout\nversion: '1'\ncoreAbilities: [style]\nsystem: You scout.\ncontract:\n\
                   \x20 completion: message\n  tool_transport: native\n\
                   \x20 targets: [{provider: demo, model: script, context_window: 32768}]\n\
                   \x20 providers: {demo: {type: scripted, file: scout.jsonl}}\n\
                   \x20 tools: {builtin: [echo]}\n  require_approval: [echo]\n";
    fixture.agent(
        "scout",
        "",
        &asks(&[("echo", json!({"text": "hi"}))], "said"),
    );
    fixture.write("scout.agent.yaml", profile);
    fixture.write("abilities/style.md", "Be brief.\n");
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.answers("approve", "w.1");
    let style = fixture.read("abilities/style.md");
    std::fs::remove_file(fixture.path("abilities/style.md")).unwrap();
    let left = fixture.comes_to_an_end(&["resume", "w"], 4);
    assert!(
        left.err.contains("resume run w.1") && left.err.contains("style.md"),
        "{}",
        left.printed()
    );
    fixture.write("abilities/style.md", &style);
    fixture.comes_to_an_end(&["resume", "w"], 0);
    fixture.proves_tree("w");
}

/// A run of another tree that has the name of a future step does not belong to this one: the step fails, and if the run is
/// deleted before, the workflow continues.
#[test]
fn a_run_of_another_tree_under_the_name_of_a_step_is_a_stranger() {
    let fixture = fixture(
        "steps:
- {id: ask, tool: write_file, arguments: {path: asked.txt, content: yes}}
- {id: more, prompt: ping}
",
    );
    let other = ["--store", "other.db"];
    fixture.ok(&[&["run", "w.yaml", "--run-id", "w"], &other[..]].concat());
    fixture.ok(&[&["export", "w.2", "-o", "w.2.jsonl"], &other[..]].concat());
    fixture.asks_before_writing();
    for is_deleted in [false, true] {
        fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
        fixture.ok(&["import", "w.2.jsonl", "--deleted"]);
        fixture.answers("approve", "w.1");
        if is_deleted {
            fixture.ok(&["delete", "w.2", "--yes"]);
            fixture.comes_to_an_end(&["resume", "w"], 0);
            fixture.proves_tree("w");
            continue;
        }
        let left = fixture.comes_to_an_end(&["resume", "w"], 1);
        let taken = "the name w.2 is taken by a run of another origin";
        assert!(left.printed().contains(taken), "{}", left.printed());
        fixture.ok(&["delete", "w", "--yes"]);
        // It was not of that tree.
        fixture.ok(&["show", "w.2"]);
        fixture.ok(&["delete", "w.2", "--yes"]);
    }
}

/// The run of a step that is one call asks no model, and none is named.
#[test]
fn the_call_of_a_tool_step_that_waits_is_listed_without_a_model() {
    let fixture =
        fixture("steps: [{id: make, tool: write_file, arguments: {path: out.txt, content: hi}}]\n");
    fixture.asks_before_writing();
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    let listed = fixture.ok(&["approvals"]);
    assert!(listed.contains(" UTC, contract "), "{listed}");
}

/// A workflow that is ended at once has its end, and prints it, before the server of a call that is under way has ended by itself.
#[test]
fn an_abort_waits_for_no_tool_server_of_a_step() {
    if !Harness::has_python() {
        return;
    }
    let fixture = stuck();
    let child = fixture.begins(&["run", "w.yaml", "--run-id", "w", "--json"]);
    let began = Instant::now();
    while !fixture.path("w/called").exists() {
        assert!(began.elapsed() < SOON, "nothing is called");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    fixture.records("w", "stop_requested");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let left = Left::from(child.wait_with_output().unwrap());
    assert_eq!(left.code, 1, "{}", left.printed());
    assert_eq!(left.document()["outcome"]["code"], "abort");
    let (_, step) = fixture.json(&["show", "w.1"]);
    assert_eq!(step["outcome"]["code"], "parent", "{step}");
}

/// The step of a workflow that was asked to end is not asked a second time by the process that resumes it, which would be an
/// abort.
#[test]
fn a_stop_is_not_repeated_for_a_step_that_has_it_recorded() {
    if !Harness::has_python() {
        return;
    }
    let fixture = stuck();
    let mut child = fixture.begins(&["run", "w.yaml", "--run-id", "w"]);
    let began = Instant::now();
    while !fixture.path("w/called").exists() {
        assert!(began.elapsed() < SOON, "nothing is called");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    fixture.records("w.1", "stop_requested");
    child.kill().unwrap();
    child.wait().unwrap();
    fixture.comes_to_an_end(&["resume", "w"], 1);
    let recorded = fixture.ok(&["show", "w.1", "--raw"]);
    let asked = recorded.matches("\"kind\":\"stop_requested\"").count();
    assert_eq!(asked, 1, "{recorded}");
    let (_, step) = fixture.json(&["show", "w.1"]);
    assert_ne!(step["outcome"]["code"], "abort", "{step}");
}

/// A server of the workflow's contract starts with the first step that needs it, once for all of them.
#[test]
fn a_server_starts_once_for_the_steps_that_use_it() {
    if !Harness::has_python() {
        return;
    }
    let fixture = fixture("");
    let server = shell_word(COUNTING_SERVER);
    let mcp = |name: &str| {
        let script = format!("echo {name} >> starts; exec python3 {server} executions");
        json!({"command": "sh", "args": ["-c", script], "sandbox": "off", "shared": name != "own"})
    };
    let tools = json!({
        "builtin": ["list_directory"], "workspace": "w",
        "mcp": {"fs": mcp("fs"), "idle": mcp("idle"), "own": mcp("own")},
    });
    let contract = CONTRACT.split_once("  tools:").unwrap().0;
    let run = |run_id: &str, steps: &str| {
        fixture.write(
            "w.yaml",
            &format!("workflow: tried\n{contract}  tools: {tools}\nsteps:\n{steps}"),
        );
        fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", run_id], 0);
        let started = std::fs::read_to_string(fixture.path("w/starts")).unwrap_or_default();
        drop(std::fs::remove_file(fixture.path("w/starts")));
        let mut started: Vec<String> = started.lines().map(str::to_owned).collect();
        started.sort();
        started
    };
    let list = "- {id: list, tool: list_directory, arguments: {path: .}}\n";
    assert!(run("w1", list).is_empty());
    let count = |id: &str| format!("- {{id: {id}, tool: fs__count}}\n");
    assert_eq!(
        run("w2", &[&count("a"), list, &count("b")].concat()),
        ["fs"]
    );
    let prompt = "- {id: ask, prompt: hi}\n";
    let steps = [
        &count("a"),
        prompt,
        &count("b"),
        "- {id: more, prompt: hi}\n",
    ];
    // A server with `shared: false` is each step's own.
    assert_eq!(run("w3", &steps.concat()), ["fs", "idle", "own", "own"]);
    let group = "- id: both\n  parallel:\n  - {id: c, tool: fs__count}\n  - {id: d, tool: fs__count}\n\
                 - {id: e, tool: own__count}\n- {id: f, tool: own__count}\n";
    assert_eq!(run("w4", group), ["fs", "own", "own"]);
}
