//! The results of steps and the reasons why they fail, and the accounts and files kept of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{CONTRACT, are, fixture, steps_of};
use crate::delegation::{asks, prompt};
use crate::fixture::Fixture;
use crate::kept::snapshots;

/// The same fixture, the contract of its steps with a small budget for what a model reads.
fn small(steps: &str) -> Fixture {
    let fixture = fixture(steps);
    let budgets = "  tool_output_budget: {max_bytes_per_call: 2000}\n  max_tokens_consumed: 5000\n";
    let text = format!("workflow: tried\n{CONTRACT}{budgets}{steps}");
    fixture.write("w.yaml", &text);
    fixture
}

const COPY: &str = "steps:
- {id: read, tool: read_file, arguments: {path: big.txt}}
- {id: keep, tool: write_file, arguments: {path: copy.txt, content: '${steps.read.output}'}}
";

/// Limits of a conversation do not limit a step: no model reads its result.
#[test]
fn a_tool_step_hands_on_the_whole_result_of_its_call() {
    let fixture = small(COPY);
    let text = "A line of thirty characters.\n".repeat(11_000);
    fixture.write("w/big.txt", &text);
    let (code, result) = fixture.workflow();
    assert_eq!(code, 0, "{}", result["outcome"]);
    assert!(fixture.read("w/copy.txt") == text, "it was cut");
}

#[test]
fn a_result_that_is_larger_than_a_step_may_come_to_fails_the_step() {
    let fixture = small(COPY);
    fixture.write("w/big.txt", &"x".repeat(1_500_000));
    let (code, result) = fixture.workflow();
    let failed = json!({"class": "FAILED", "code": "output_size"});
    assert_eq!((code, &result["outcome"]), (1, &failed));
    assert_eq!(steps_of(&result), are(&[("read", "failed")]));
    let why = "read_file: the result has 1500000 bytes; a step may come to at most 1048576";
    assert_eq!(result["steps"][0]["reason"], why);
    assert!(!fixture.path("w/copy.txt").exists());
}

#[test]
fn a_failed_step_is_reported_with_its_tool_its_code_and_its_words() {
    let fixture = fixture("steps: [{id: read, tool: read_file, arguments: {path: nofile.txt}}]\n");
    let why = "read_file: NOT_FOUND: \"nofile.txt\" does not exist";
    let ended = fixture.ends(&["run", "w.yaml", "--run-id", "w"], 1);
    let error = format!("FAILED (tool_error): failed read: {why}");
    assert!(ended.err.contains(&error), "{}", ended.err);
    let shown = fixture.ok(&["show", "w"]);
    assert!(
        shown.contains(why) && !shown.contains("COMPLETED"),
        "{shown}"
    );
    let reasons = fixture.ok(&["show", "w", "--why"]);
    assert!(
        reasons.contains(&format!("read failed: {why}")) && reasons.contains("run w.1"),
        "{reasons}"
    );
    let raw = fixture.ok(&["show", "w", "--raw"]);
    let entry: Value = serde_json::from_str(raw.lines().nth(1).unwrap()).unwrap();
    assert_eq!(entry["action"]["note"], format!("read failed: {why}"));
}

/// A step without a model has no inference, no tokens and no line of type llm; a call that fails is a failed run.
#[test]
fn a_tool_step_bills_no_model_and_a_failed_call_is_a_failed_run() {
    let fixture = fixture(
        "steps:
- {id: list, tool: list_directory, arguments: {path: .}}
- {id: read, tool: read_file, arguments: {path: nofile.txt}}
",
    );
    assert_eq!(fixture.workflow().0, 1);
    let check = |run: &str, exit: i32, outcome: &Value, status: &str| {
        let (_, shown) = fixture.json(&["show", run]);
        assert_eq!(
            (&shown["outcome"], &shown["exit_code"]),
            (outcome, &json!(exit))
        );
        let counters = &shown["counters"];
        let used = ["inferences", "tokens_in", "tokens_out"].map(|name| &counters[name]);
        assert_eq!(used, [0, 0, 0], "{shown}");
        let lines = shown["accounting"].as_array().unwrap().iter();
        let lines: Vec<_> = lines.map(|line| (&line["type"], &line["status"])).collect();
        assert_eq!(lines, [(&json!("tool"), &json!(status))]);
        let page = fixture.ok(&["show", run]) + &fixture.ok(&["show", run, "--why"]);
        assert!(!page.contains("script"), "{page}");
    };
    let done = json!({"class": "COMPLETED_WITH_TOOLS", "code": "tool_result"});
    check("w.1", 0, &done, "ok");
    let failed = json!({"class": "FAILED_PROTOCOL_NO_TOOLS", "code": "proof_not_succeeded"});
    check("w.2", 1, &failed, "failed");
}

/// A workflow that ends with its first entry has one batch of entries.
#[test]
fn a_workflow_that_ends_at_once_is_signed_as_any_other() {
    let fixture = fixture(
        "steps: [{id: none, for_each: '[]', max_iterations: 1, steps: [{id: a, prompt: x}]}]\n",
    );
    assert_eq!(fixture.workflow().0, 0);
    let (code, verified) = fixture.json(&["verify", "w"]);
    assert_eq!((code, &verified["level"]), (0, &json!("L1")), "{verified}");
}

/// 001/1.logs.6
#[test]
fn every_request_and_call_below_a_workflow_is_accounted_for_as_a_part_of_it() {
    let fixture = fixture(
        "steps:
- {id: ask, prompt: ping}
- {id: list, tool: list_directory, arguments: {path: .}}
- {id: give, delegate: lead.yaml, task: go}
",
    );
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    let ended = fixture.run(&[
        "run",
        "w.yaml",
        "--run-id",
        "w",
        "--billing-file",
        "bill.jsonl",
        "--save-all",
        "saved",
        "--sessions-dir",
        "sessions",
        "--show-tree",
        "--verbose",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.printed());
    let bill = fixture.read("bill.jsonl");
    let lines = bill
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let runs = lines.iter().map(|line| line["txnId"].as_str().unwrap());
    let runs: BTreeSet<&str> = runs.collect();
    assert_eq!(runs, BTreeSet::from(["w.1", "w.2", "w.3", "w.3.1"]));
    assert!(
        lines.iter().all(|line| line["originTxnId"] == "w"),
        "{bill}"
    );
    for step in ["w.1", "w.2", "w.3"] {
        assert!(fixture.path(&format!("saved/w/{step}.json")).exists());
        let kept = snapshots(&fixture.path("sessions"));
        assert!(kept.iter().any(|one| one["opTree"]["id"] == step));
        assert!(ended.err.contains(step), "{step}: {}", ended.err);
    }
    // Each transition of a step, as of a run, and of what is below it, with the run's name (001 §1).
    for run in ["w.1", "w.2", "w.3", "w.3.1"] {
        let mut lines = ended.err.lines();
        let is_its =
            |line: &str| line.contains(&format!(" {run}  ")) && line.contains("PRECHECK → ");
        assert!(lines.any(is_its), "{run}: {}", ended.err);
    }
    // The turns of an agent's run begin with 1.
    let begun = "agent:clock w.3.1  [VRB] turn 1 of ";
    assert!(ended.err.contains(begun), "{}", ended.err);
}

#[test]
fn an_option_that_means_nothing_for_a_workflow_is_refused_by_its_name() {
    let fixture = fixture("steps: [{id: ask, prompt: hi}]\n");
    let refused = |args: &[&str], name: &str| {
        let said = fixture.ends(args, 4).err;
        let words = format!("use {name} with the workflow ");
        assert!(said.contains(&words), "{name}: {said}");
    };
    for (option, name) in [
        (&["--save", "f.json"][..], "--save"),
        (&["--load", "f.json"], "--load"),
        (&["--dry-run"], "--dry-run"),
        (&["--set", "max_turns=3"], "--set max_turns=3"),
        (&["--models", "demo/x"], "--models demo/x"),
    ] {
        refused(&[&["run", "w.yaml"], option].concat(), name);
    }
    assert!(!fixture.path("home/runs.db").exists());
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    refused(&["resume", "w", "--save", "f.json"], "--save");
    refused(&["resume", "w", "--contract", "w.yaml"], "--contract");
}

/// The first example of the documentation is this one.
#[test]
fn the_documented_example_runs_as_it_stands() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("examples/review-notes");
    let fixture = Fixture::new();
    for file in std::fs::read_dir(&folder).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        fixture.write(&name, &std::fs::read_to_string(file.path()).unwrap());
    }
    let page = std::fs::read_to_string(root.join("docs/workflows.md")).unwrap();
    let block = page.split_once("```yaml\n").unwrap().1;
    assert_eq!(
        block.split_once("```").unwrap().0,
        fixture.read("workflow.yaml")
    );
    fixture.ok(&["run", "workflow.yaml", "--run-id", "notes"]);
    let both: Value = serde_json::from_str(&fixture.read("notes.json")).unwrap();
    assert_eq!(both["review"], "Who tries the upgrade, and by when?");
    for run in ["notes", "notes.1", "notes.2", "notes.3", "notes.4"] {
        fixture.ok(&["verify", run]);
    }
}
