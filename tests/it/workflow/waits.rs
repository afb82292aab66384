//! When a workflow is left for a person's answer, and that an answer which is there is taken.

use serde_json::json;

use super::fixture;
use crate::delegation::asks;
use crate::fixture::{Left, shell_word};
use crate::harness::{COUNTING_SERVER, Harness, MEETING_SERVER};

/// Each resume continues all that can continue: a branch that waits keeps no answered one back.
#[test]
fn a_call_that_was_answered_is_made_though_another_one_waits() {
    let fixture = fixture(
        "steps:
- id: both
  parallel:
  - {id: one, tool: write_file, arguments: {path: one.txt, content: yes}}
  - {id: two, tool: write_file, arguments: {path: two.txt, content: yes}}
",
    );
    fixture.asks_before_writing();
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.all_wait(2);
    let entries = || fixture.json(&["show", "w"]).1["entries"].clone();
    let before = entries();
    fixture.comes_to_an_end(&["resume", "w"], 8);
    assert_eq!(
        entries(),
        before,
        "as long as all wait, nothing is recorded"
    );
    fixture.answers("approve", "w.2");
    let left = fixture.comes_to_an_end(&["resume", "--all"], 8);
    assert!(fixture.path("w/two.txt").exists(), "{}", left.printed());
    assert!(!fixture.path("w/one.txt").exists());
    assert!(left.printed().contains("approve w.1"), "{}", left.printed());
    fixture.answers("approve", "w.1");
    let ended = fixture.comes_to_an_end(&["resume", "w", "--json"], 0);
    fixture.tree_holds(&ended.document());
    fixture.proves_tree("w");
}

/// A step that ends while the agent of another step is brought up takes that one's answer away no more than a third one does, which
/// waits.
#[test]
fn an_answer_waits_for_the_agent_that_is_brought_up_slowly() {
    if !Harness::has_python() {
        return;
    }
    let fixture = fixture(
        "steps:
- id: all
  parallel:
  - {id: gives, delegate: lead.yaml, task: go}
  - {id: gate, tool: shell, arguments: {command: 'until [ -e asked ]; do sleep 0.1; done; echo yes'}}
  - {id: waits, depends_on: [gate], tool: write_file, arguments: {path: one.txt, content: yes}}
  - {id: writes, depends_on: [gate], tool: write_file, arguments: {path: two.txt, content: yes}}
",
    );
    fixture.asks_before_writing();
    let text = fixture.read("w.yaml");
    fixture.write("w.yaml", &text.replace("[read_file,", "[shell, read_file,"));
    let server = shell_word(COUNTING_SERVER);
    let executions = fixture.path("executions");
    let [once, done] = ["once", "w/two.txt"].map(|name| shell_word(fixture.path(name)));
    let counted = shell_word(&executions);
    // Brought up again, it is there a while after the other step has ended.
    let script = format!(
        "if [ -e {once} ]; then until [ -e {done} ]; do sleep 0.1; done; sleep 2; fi; exec python3 {server} {counted}"
    );
    let server = json!({"command": "sh", "args": ["-c", script], "sandbox": "off"});
    let tools = json!({"mcp": {"fs": server}});
    fixture.agent(
        "slow",
        &format!("tools: {tools}\nrequire_approval: [fs__count]\n"),
        &asks(&[("fs__count", json!({}))], "counted"),
    );
    let calls = asks(&[("agent__slow", json!({"prompt": "go"}))], "done");
    fixture.agent("lead", "agents: [slow.yaml]\n", &calls);
    let child = fixture.begins(&["run", "w.yaml", "--run-id", "w"]);
    fixture.records("w.1.1", "await_approval");
    fixture.write("w/asked", "");
    assert_eq!(Left::from(child.wait_with_output().unwrap()).code, 8);
    fixture.all_wait(3);
    fixture.answers("approve", "w.1.1");
    fixture.answers("approve", "w.4");
    fixture.write("once", "");
    let left = fixture.comes_to_an_end(&["resume", "w", "--no-wait"], 8);
    let counted = std::fs::read_to_string(executions).unwrap_or_default();
    assert_eq!(counted.lines().count(), 1, "{}", left.printed());
    assert!(left.printed().contains("approve w.3"), "{}", left.printed());
}

/// A call whose time for an answer is over waits for no person: nothing is left for its sake once its run has continued.
#[test]
fn an_approval_that_has_expired_leaves_no_workflow() {
    if !Harness::has_python() {
        return;
    }
    let fixture = fixture(
        "steps:
- id: both
  parallel:
  - {id: asks, delegate: asks.yaml, task: go}
  - {id: slow, delegate: slow.yaml, task: go}
",
    );
    let [gone_on, met] = ["gone_on", "met"].map(|name| fixture.path(name).display().to_string());
    let server = |args: [&str; 3]| {
        let args = [&[MEETING_SERVER][..], &args].concat();
        json!({"fs": {"command": "python3", "args": args, "sandbox": "off"}})
    };
    // It asks in vain, continues, and its next call ends when the other step has begun to work.
    let mut says = asks(&[("clock", json!({}))], "");
    says.pop();
    says.extend(asks(&[("fs__meet", json!({}))], "Met."));
    let tools = json!({"builtin": ["clock"], "mcp": server(["", &gone_on, &met])});
    let terms = format!("tools: {tools}\nrequire_approval: [clock]\napproval_timeout_ms: 500\n");
    fixture.agent("asks", &terms, &says);
    let tools = json!({"mcp": server([&gone_on, &met, ""])});
    let says = asks(&[("fs__meet", json!({}))], "Met.");
    fixture.agent("slow", &format!("tools: {tools}\n"), &says);
    let ended = fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w", "--json"], 0);
    fixture.tree_holds(&ended.document());
}

/// A branch that needs no person comes to its end before the workflow is left, however deep it is; a resume has nothing to
/// write then.
#[test]
fn a_branch_that_needs_no_person_ends_before_the_workflow_is_left() {
    let fixture = fixture(
        "steps:
- id: both
  parallel:
  - {id: asks, tool: write_file, arguments: {path: one.txt, content: yes}}
  - {id: deep, delegate: top.yaml, task: go}
",
    );
    fixture.asks_before_writing();
    let works = asks(&[("clock", json!({}))], "Noon.");
    fixture.agent("worker", "tools: {builtin: [clock]}\n", &works);
    for (name, below) in [("middle", "worker"), ("top", "middle")] {
        let tool = format!("agent__{below}");
        let says = asks(&[(tool.as_str(), json!({"prompt": "go"}))], "Done.");
        fixture.agent(name, &format!("agents: [{below}.yaml]\n"), &says);
    }
    fixture.comes_to_an_end(&["run", "w.yaml", "--run-id", "w"], 8);
    let (_, worker) = fixture.json(&["show", "w.2.1.1"]);
    assert_eq!(
        worker["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{worker}"
    );
    let before = fixture.lengths();
    assert!(before.len() > 4, "{before:?}");
    for resume in [&["resume", "w"][..], &["resume", "--all"]] {
        fixture.comes_to_an_end(resume, 8);
    }
    assert_eq!(fixture.lengths(), before);
    fixture.answers("approve", "w.1");
    fixture.comes_to_an_end(&["resume", "w"], 0);
    fixture.proves_tree("w");
}

/// A call that a person denies is why its step has failed: the workflow says so, with the person's reason.
#[test]
fn a_step_that_a_person_denied_says_so() {
    let fixture = fixture(
        "steps: [{id: ask, tool: write_file, arguments: {path: asked.txt, content: yes}}]\n",
    );
    fixture.asks_before_writing();
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.answers_with("deny", "w.1", &["--reason", "not on a Friday"]);
    let left = fixture.ends(&["resume", "w", "--json"], 1);
    let why = "denied: approval, a person refused it: not on a Friday";
    assert!(left.out.contains(why), "{}", left.printed());
    assert!(fixture.ok(&["show", "w", "--why"]).contains(why));
    fixture.proves_tree("w");
}
