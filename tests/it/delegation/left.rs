//! A tree that waits for a person is left once nothing else of it continues, and an existing answer is taken first.

use serde_json::json;

use super::{asks, lead, prompt};
use crate::fixture::{Fixture, shell_word};
use crate::harness::{COUNTING_SERVER, Harness};

/// An agent whose call waits for a person, beside one that calls a third one, which waits for no person.
fn beside() -> Fixture {
    let fixture = Fixture::new();
    let says = asks(&[("echo", json!({"text": "hi"}))], "said");
    let terms = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    fixture.agent("waits", terms, &says);
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("middle", "agents: [clock.yaml]\n", &calls);
    let calls = [
        ("agent__waits", prompt("go")),
        ("agent__middle", prompt("go")),
    ];
    let terms = "agents: [waits.yaml, middle.yaml]\nparallel_tool_calls: true\n\
                 parallel_safe: [agent__waits, agent__middle]\n";
    fixture.agent("lead", terms, &asks(&calls, "Done."));
    fixture
}

impl Fixture {
    /// Counts the entries of each run in the store, by name.
    pub fn lengths(&self) -> Vec<(String, u64)> {
        let (_, listed) = self.json(&["list"]);
        let runs = listed["runs"].as_array().unwrap().iter().map(|run| {
            let name = run["run_id"].as_str().unwrap().to_owned();
            let shown = self.json(&["show", &name]).1;
            (name, shown["entries"].as_u64().unwrap())
        });
        let mut runs: Vec<_> = runs.collect();
        runs.sort();
        runs
    }
}

/// Branches that wait for no person come to their end before the tree is left, in each way of leaving; then nothing more is
/// written, however often it is resumed.
#[test]
fn what_waits_for_no_person_goes_on_before_the_tree_is_left() {
    for in_a_list in [false, true] {
        let fixture = beside();
        if in_a_list {
            let line = json!({"contract": "lead.yaml", "task": "go", "run_id": "lead"});
            fixture.write("list.jsonl", &format!("{line}\n"));
            fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
        } else {
            fixture.ends(&lead(&["--no-wait"]), 8);
        }
        for run in ["lead.2", "lead.2.1"] {
            let shown = fixture.json(&["show", run]).1;
            assert_eq!(shown["outcome"]["code"], "final_message", "{run}: {shown}");
        }
        let before = fixture.lengths();
        for resume in [&["resume", "--all"][..], &["resume", "lead", "--no-wait"]] {
            fixture.ends(resume, 8);
            assert_eq!(fixture.lengths(), before, "{resume:?}");
        }
        fixture.answers("approve", "lead.1");
        fixture.ok(&["resume", "--all"]);
        fixture.proves_tree("lead");
    }
}

/// An answer that was left is taken by an agent whose tool server comes up slowly, though another call of the tree waits on.
#[test]
fn an_answer_is_taken_by_an_agent_that_is_brought_up_slowly() {
    if !Harness::has_python() {
        return;
    }
    for resume in [&["resume", "--all"][..], &["resume", "lead", "--no-wait"]] {
        let fixture = beside();
        let server = shell_word(COUNTING_SERVER);
        let executions = fixture.path("executions");
        let (once, counted) = (shell_word(fixture.path("once")), shell_word(&executions));
        let script = format!("if [ -e {once} ]; then sleep 1; fi; exec python3 {server} {counted}");
        let server = json!({"command": "sh", "args": ["-c", script], "sandbox": "off"});
        let tools = json!({"mcp": {"fs": server}});
        fixture.agent(
            "middle",
            &format!("tools: {tools}\nrequire_approval: [fs__count]\n"),
            &asks(&[("fs__count", json!({}))], "counted"),
        );
        fixture.ends(&lead(&["--no-wait"]), 8);
        let waiting = fixture.json(&["approvals"]).1;
        assert_eq!(
            waiting["approvals"].as_array().unwrap().len(),
            2,
            "{waiting}"
        );
        fixture.answers("approve", "lead.2");
        fixture.write("once", "");
        let left = fixture.ends(resume, 8);
        let counted = std::fs::read_to_string(executions).unwrap_or_default();
        assert_eq!(counted.lines().count(), 1, "{}", left.printed());
        let waiting = fixture.json(&["approvals"]).1;
        assert_eq!(
            waiting["approvals"].as_array().unwrap().len(),
            1,
            "{waiting}"
        );
        assert_eq!(waiting["approvals"][0]["run_id"], "lead.1");
    }
}

/// An agent that waits for its turn in a queue, which one has that waits for a person, keeps no tree from being left.
#[test]
fn a_tree_is_left_where_a_queue_is_held_by_one_that_waits() {
    let fixture = beside();
    let says = asks(&[("echo", json!({"text": "hi"}))], "said");
    let terms = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    fixture.agent("middle", terms, &says);
    let text = fixture.read("lead.yaml");
    let queues = "queues: {default: {concurrent: 1}}\n";
    fixture.write("lead.yaml", &format!("{text}{queues}"));
    fixture.ends(&lead(&["--no-wait"]), 8);
    let waiting = fixture.json(&["approvals"]).1;
    let waiting = waiting["approvals"].as_array().unwrap();
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    // The other one had no turn, and gets none from one that is left, however often the tree is resumed.
    let before = fixture.lengths();
    assert_eq!(before.len(), 2, "{before:?}");
    for resume in [&["resume", "--all"][..], &["resume", "lead", "--no-wait"]] {
        fixture.ends(resume, 8);
        assert_eq!(fixture.lengths(), before, "{resume:?}");
    }
}

/// An agent that waits for its turn behind one that works waits for no person: its tree is not left, in a list as alone.
#[test]
fn a_tree_that_waits_for_its_turn_alone_is_not_left() {
    let fixture = Fixture::new();
    let slow = asks(&[("shell", json!({"command": "sleep 0.6"}))], "slept");
    fixture.agent("slow", "tools: {builtin: [shell]}\n", &slow);
    let calls = asks(&[("agent__slow", prompt("go"))], "Done.");
    let terms = "agents: [slow.yaml]\nqueues: {default: {concurrent: 1}}\n";
    fixture.agent("lead", terms, &calls);
    let lines = ["l1", "l2", "l3"].map(|run| {
        let line = json!({"contract": "lead.yaml", "task": "go", "run_id": run});
        format!("{line}\n")
    });
    fixture.write("list.jsonl", &lines.concat());
    fixture.ok(&["run", "--contracts", "list.jsonl"]);
    for run in ["l1", "l2", "l3"] {
        let shown = fixture.json(&["show", run]).1;
        assert_eq!(shown["outcome"]["code"], "final_message", "{run}: {shown}");
    }
}

/// Once those are left that wait for a person, the turn of a tree comes that only waited behind them.
#[test]
fn a_tree_that_waits_behind_one_that_is_left_gets_its_turn() {
    let fixture = Fixture::new();
    let says = asks(&[("echo", json!({"text": "hi"}))], "said");
    let terms = "tools: {builtin: [echo]}\n";
    fixture.agent("free", terms, &says);
    fixture.agent(
        "waits",
        &format!("{terms}require_approval: [echo]\n"),
        &says,
    );
    for (name, agent) in [("first", "waits"), ("second", "free")] {
        let calls = asks(&[(&format!("agent__{agent}"), prompt("go"))], "Done.");
        let terms = format!("agents: [{agent}.yaml]\nqueues: {{default: {{concurrent: 1}}}}\n");
        fixture.agent(name, &terms, &calls);
    }
    let lines = ["first", "second"].map(|name| {
        let line = json!({"contract": format!("{name}.yaml"), "task": "go", "run_id": name});
        format!("{line}\n")
    });
    fixture.write("list.jsonl", &lines.concat());
    fixture.ends(&["run", "--contracts", "list.jsonl"], 8);
    let shown = fixture.json(&["show", "second"]).1;
    assert_eq!(shown["outcome"]["code"], "final_message", "{shown}");
}

#[test]
fn every_call_that_waits_below_a_run_that_is_left_is_named() {
    let fixture = Fixture::new();
    let says = asks(&[("echo", json!({"text": "hi"}))], "said");
    let terms = "tools: {builtin: [echo]}\nrequire_approval: [echo]\n";
    fixture.agent("one", terms, &says);
    fixture.agent("other", terms, &says);
    let calls = [("agent__one", prompt("go")), ("agent__other", prompt("go"))];
    let terms = "agents: [one.yaml, other.yaml]\nparallel_tool_calls: true\n\
                 parallel_safe: [agent__one, agent__other]\n";
    fixture.agent("lead", terms, &asks(&calls, "Done."));
    let left = fixture.ends(&lead(&["--no-wait", "--json"]), 8);
    let result = left.document();
    assert_eq!(result["waits_for"]["more"], 1, "{}", left.out);
    assert_eq!(result["exit_tag"], "EXIT-APPROVAL-REQUIRED");
    let accounting = result["accounting"].as_array().unwrap();
    assert!(
        accounting.iter().all(|line| line["status"] == "ok"),
        "{}",
        left.out
    );
    let next = "approve lead.1 answers call 1 of echo in a child run (monolith approvals has one more), then";
    assert!(left.err.contains(next), "{}", left.err);
    let shown = fixture.ok(&["show", "lead"]);
    for run in ["lead.1", "lead.2"] {
        let answer = format!("Answer call 1 of {run}: monolith approve {run}\n");
        assert!(shown.contains(&answer), "{shown}");
    }
}
