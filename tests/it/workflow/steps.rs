//! Every kind of step, its input and its result; compensation; a workflow that is left and resumed.

use serde_json::{Value, json};

use super::{are, fixture, steps_of};
use crate::delegation::{asks, prompt};

#[test]
fn every_kind_of_step_is_a_run_and_the_next_one_is_given_what_it_came_to() {
    let fixture = fixture(
        "input: the default
steps:
- id: list
  tool: read_file
  arguments: {path: in.txt}
- id: ask
  prompt: 'about ${input}: ${steps.list.output}'
- id: check
  if: {step: ask, equals: pong}
  then:
  - {id: yes-it-is, tool: write_file, arguments: {path: said.txt, content: '${steps.ask.output}'}}
  else:
  - {id: no-it-is-not, tool: read_file, arguments: {path: nothing}}
- id: both
  parallel:
  - {id: left, delegate: agent.yaml, task: 'review ${steps.ask.output}'}
  - {id: right, prompt: 'and ${steps.left.output}', depends_on: [left]}
  max_concurrency: 2
- id: last
  tool: write_file
  arguments: {path: both.txt, content: '${steps.both.output}'}
",
    );
    let (code, result) = fixture.workflow();
    assert_eq!((code, &result["success"]), (0, &Value::Bool(true)));
    let expected = are(&[
        ("list", "done"),
        ("ask", "done"),
        ("check/yes-it-is", "done"),
        ("both/left", "done"),
        ("both/right", "done"),
        ("last", "done"),
    ]);
    assert_eq!(steps_of(&result), expected);
    assert_eq!(fixture.read("w/said.txt"), "pong");
    let both: Value = serde_json::from_str(&fixture.read("w/both.txt")).unwrap();
    assert_eq!(both, json!({"left": "reviewed", "right": "pong"}));
    // What a step was given stands in its own run.
    let (_, asked) = fixture.json(&["show", "w.2"]);
    let task = asked["conversation"][0]["content"].as_str().unwrap();
    assert!(task.starts_with("about the default: "), "{task}");
    assert!(task.contains("\"one\""), "{task}");
    let graph = fixture.ok(&["show", "w", "--tree"]);
    for line in [
        "yes-it-is  [tool]  done",
        "no-it-is-not  [tool]  skipped",
        "right  [prompt]  after left  done",
    ] {
        assert!(graph.contains(line), "{line}: {graph}");
    }
}

#[test]
fn the_task_of_the_command_line_is_the_input() {
    let fixture = fixture("steps: [{id: ask, prompt: 'about ${input}'}]\n");
    fixture.ok(&["run", "w.yaml", "fish", "--run-id", "w"]);
    let (_, asked) = fixture.json(&["show", "w.1"]);
    assert_eq!(asked["conversation"][0]["content"], "about fish");
}

#[test]
fn a_loop_does_its_steps_for_each_item() {
    let fixture = fixture(
        "steps:
- {id: list, prompt: list}
- id: each
  for_each: '[\"a.txt\", \"b.txt\"]'
  max_iterations: 2
  steps:
  - {id: make, tool: write_file, arguments: {path: '${item}', content: 'number ${index}'}}
",
    );
    let (code, result) = fixture.workflow();
    assert_eq!(code, 0);
    let expected = are(&[
        ("list", "done"),
        ("each.1/make", "done"),
        ("each.2/make", "done"),
    ]);
    assert_eq!(steps_of(&result), expected);
    assert_eq!(fixture.read("w/a.txt"), "number 0");
    assert_eq!(fixture.read("w/b.txt"), "number 1");
}

/// 003/INV-PE-003
#[test]
fn a_group_that_rolls_back_undoes_what_its_steps_have_done() {
    let fixture = fixture(
        "steps:
- id: book
  on_failure: rollback
  parallel:
  - {id: hotel, tool: write_file, arguments: {path: hotel.txt, content: booked}, compensate: cancel}
  - {id: flight, tool: read_file, arguments: {path: no-such-flight.txt}, depends_on: [hotel]}
- {id: after, prompt: never}
compensations:
- {id: cancel, tool: write_file, arguments: {path: hotel.txt, content: cancelled}}
",
    );
    let (code, result) = fixture.workflow();
    assert_eq!(code, 1);
    let outcome = json!({"class": "COMPENSATED", "code": "tool_error"});
    assert_eq!(result["outcome"], outcome);
    let expected = are(&[
        ("book/hotel", "compensated"),
        ("book/flight", "failed"),
        ("book/hotel/cancel", "done"),
    ]);
    assert_eq!(steps_of(&result), expected);
    assert_eq!(fixture.read("w/hotel.txt"), "cancelled");
    let graph = fixture.ok(&["show", "w"]);
    assert!(graph.contains("undone by cancel"), "{graph}");
}

#[test]
fn a_compensation_that_fails_is_an_outcome_of_its_own() {
    let fixture = fixture(
        "on_failure: rollback
steps:
- {id: make, tool: write_file, arguments: {path: made.txt, content: made}, compensate: undo}
- {id: fail, tool: read_file, arguments: {path: nothing}}
compensations:
- {id: undo, tool: read_file, arguments: {path: nothing-either}}
",
    );
    let (code, result) = fixture.workflow();
    assert_eq!(
        (code, &result["outcome"]["class"]),
        (1, &json!("COMPENSATION_FAILED"))
    );
    let expected = are(&[
        ("make", "compensation failed"),
        ("fail", "failed"),
        ("make/undo", "failed"),
    ]);
    let words: Vec<(String, String)> = steps_of(&result)
        .into_iter()
        .map(|(place, state)| (place, state.replace('_', " ")))
        .collect();
    assert_eq!(words, expected);
}

#[test]
fn a_step_whose_run_cannot_begin_says_why_and_one_that_ends_badly_too() {
    // The first step changes the file of the second one's agent. No file tool and no confined command can.
    let unconfined = |other: &crate::fixture::Fixture| {
        let text = other.read("w.yaml");
        let (file_tools, shell) = (
            "[read_file, write_file, list_directory]",
            "[shell], sandbox: off",
        );
        other.write("w.yaml", &text.replace(file_tools, shell));
    };
    let other = fixture(
        "steps:
- {id: change, tool: shell, arguments: {command: 'echo targets: [] > agent.yaml'}}
- {id: give, delegate: w/agent.yaml, task: go}
",
    );
    unconfined(&other);
    other.write("w/agent.yaml", &other.read("agent.yaml"));
    other.write("w/agent.jsonl", &other.read("agent.jsonl"));
    let (code, result) = other.workflow();
    let not_begun = json!({"class": "FAILED", "code": "step_not_begun"});
    assert_eq!((code, &result["outcome"]), (1, &not_begun), "{result}");
    let why = result["steps"][1]["text"].as_str().unwrap();
    assert_eq!(why, "w/agent.yaml has changed since the workflow was begun");
    assert!(result["detail"].as_str().unwrap().contains(why), "{result}");
    // So does what the file of an agent includes.
    let other = fixture(
        "steps:
- {id: change, tool: shell, arguments: {command: 'echo Another. > part.md'}}
- {id: give, delegate: w/agent.ai, task: go}
",
    );
    unconfined(&other);
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "agent.jsonl"}}});
    other.layer(&layer.to_string());
    let agent = "---\nmodels: [demo/script]\n---\n${include:part.md}\n";
    other.write("w/agent.ai", agent);
    other.write("w/part.md", "One.");
    let (_, result) = other.workflow();
    let why = result["steps"][1]["text"].as_str().unwrap();
    assert_eq!(why, "w/agent.ai has changed since the workflow was begun");
    // A tool that its server does not offer ends its run before anything is asked, with a transcript that says so.
    let other = fixture("steps: [{id: call, tool: fs__nosuch}]\n");
    let server = "  tools: {mcp: {fs: {command: no-such-server}}, builtin";
    other.write(
        "w.yaml",
        &other.read("w.yaml").replace("  tools: {builtin", server),
    );
    let (code, result) = other.workflow();
    let failed = json!({"class": "FAILED", "code": "step_failed"});
    assert_eq!((code, &result["outcome"]), (1, &failed), "{result}");
    assert_eq!(result["steps"][0]["outcome"]["class"], "FAILED_PREFLIGHT");
}

/// 003/INV-CP-002
#[test]
fn a_workflow_that_waits_for_a_person_is_left_and_goes_on_where_it_stood() {
    let fixture = fixture(
        "steps:
- {id: before, tool: write_file, arguments: {path: before.txt, content: once}}
- {id: ask, tool: write_file, arguments: {path: asked.txt, content: '${steps.before.output}'}}
",
    );
    let text = fixture.read("w.yaml");
    fixture.write(
        "w.yaml",
        &text.replace(
            "  tool_policy:",
            "  approval: [{tool: write_file, arguments: {properties: {path: {const: asked.txt}}}, action: ask}]\n  tool_policy:",
        ),
    );
    let left = fixture
        .ends(&["run", "w.yaml", "--json", "--run-id", "w"], 8)
        .document();
    assert_eq!(
        steps_of(&left),
        are(&[("before", "done"), ("ask", "running")])
    );
    assert!(!fixture.path("w/asked.txt").exists());
    // Only its workflow resumes the step.
    let refused = fixture.run(&["resume", "w.2"]);
    assert!(
        refused.code != 0 && refused.err.contains("it resumes with its parent run w"),
        "{}",
        refused.printed()
    );
    fixture.run(&["resume", "--all"]);
    assert_eq!(fixture.json(&["show", "w.2"]).1["outcome"], Value::Null);
    fixture.write("w/before.txt", "touched since");
    let (_, waiting) = fixture.json(&["approvals"]);
    let hash = waiting["approvals"][0]["arguments_hash"].as_str().unwrap();
    fixture.ok(&["approve", "w.2", "--yes", "--arguments", hash]);
    let ended = fixture.ends(&["resume", "w", "--json"], 0).document();
    fixture.tree_holds(&ended);
    assert_eq!(
        steps_of(&ended),
        are(&[("before", "done"), ("ask", "done")])
    );
    assert!(fixture.path("w/asked.txt").exists());
    // The step before the checkpoint was not done again.
    assert_eq!(fixture.read("w/before.txt"), "touched since");
    // And an ended one is not resumed.
    let again = fixture.ends(&["resume", "w", "--json"], 0).document();
    assert_eq!(again["head"], ended["head"]);
}

#[test]
fn a_fork_does_not_do_again_what_had_ended_and_does_the_rest() {
    let fixture = fixture(
        "steps:
- {id: first, tool: write_file, arguments: {path: first.txt, content: first}}
- {id: second, tool: write_file, arguments: {path: second.txt, content: '${steps.first.output}'}}
",
    );
    fixture.workflow();
    std::fs::remove_file(fixture.path("w/first.txt")).unwrap();
    std::fs::remove_file(fixture.path("w/second.txt")).unwrap();
    // Entry 1 is the end of the first step.
    let forked = fixture.ok(&["replay", "w", "--fork-at", "1", "--run-id", "f", "--json"]);
    let forked: Value = serde_json::from_str(&forked).unwrap();
    let runs = forked["steps"].as_array().unwrap().iter();
    let runs: Vec<&str> = runs.map(|step| step["run_id"].as_str().unwrap()).collect();
    assert_eq!(runs, ["w.1", "f.2"]);
    assert!(!fixture.path("w/first.txt").exists() && fixture.path("w/second.txt").exists());
    for proof in ["verify", "replay"] {
        for run in ["f", "f.2"] {
            fixture.ok(&[proof, run]);
        }
    }
}

#[test]
fn a_deleted_workflow_takes_its_step_runs_along() {
    let fixture = fixture("steps: [{id: a, prompt: x}, {id: b, prompt: y}]\n");
    fixture.workflow();
    fixture.ok(&["run", "agent.yaml", "hi", "--run-id", "w.9"]);
    let said = fixture.ok(&["delete", "w", "--yes", "--reason", "tried"]);
    for run in ["w", "w.1", "w.2"] {
        assert!(said.contains(run), "{said}");
    }
    let (_, listed) = fixture.json(&["list"]);
    let left = listed["runs"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["run_id"]), (1, &json!("w.9")));
}

/// `last` and the beginning of a name mean the workflow, and never a step of it.
#[test]
fn last_and_a_short_name_are_the_workflow() {
    let fixture = fixture("steps: [{id: a, prompt: ping}, {id: b, prompt: ping}]\n");
    let ended = fixture.run(&["run", "w.yaml", "--json", "--run-id", "work"]);
    assert_eq!(ended.code, 0, "{}", ended.printed());
    for asked in ["last", "wo"] {
        let shown = fixture.ok(&["show", asked]);
        assert!(shown.contains("workflow tried"), "{asked}: {shown}");
    }
    let listed = fixture.ok(&["list"]);
    assert!(listed.contains("a step of work at entry 0"), "{listed}");
    assert!(!listed.contains("forked"), "{listed}");
}

/// The tree of a run is drawn beside workflows.
#[test]
fn workflows_do_not_disturb_the_tree_of_a_run() {
    let fixture = fixture("steps: [{id: a, prompt: ping}]\n");
    assert_eq!(fixture.workflow().0, 0);
    fixture.ok(&["run", "agent.yaml", "--task", "go", "--run-id", "alone"]);
    let shown = fixture.run(&["show", "alone", "--tree"]);
    assert_eq!(
        (shown.code, shown.err.as_str()),
        (0, ""),
        "{}",
        shown.printed()
    );
}

/// With a workflow its steps are deleted, and the runs of agents below them.
#[test]
fn a_deleted_workflow_leaves_no_run_of_an_agent() {
    let fixture = fixture("steps: [{id: a, delegate: lead.yaml, task: go}]\n");
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    assert_eq!(fixture.run(&["run", "w.yaml", "--run-id", "w"]).code, 0);
    fixture.ok(&["verify", "w.1.1"]);
    fixture.ok(&["delete", "w", "--yes"]);
    let listed = fixture.json(&["list"]).1;
    assert_eq!(listed["runs"], json!([]), "{listed}");
    // What would be pruned is what is pruned.
    assert_eq!(fixture.run(&["run", "w.yaml", "--run-id", "w"]).code, 0);
    let prune = ["prune", "--older-than", "0s"];
    let planned = fixture.ok(&[&prune[..], &["--dry-run"]].concat());
    assert!(planned.contains("3 runs would be deleted"), "{planned}");
    fixture.ok(&[&prune[..], &["--yes"]].concat());
    assert_eq!(fixture.json(&["list"]).1["runs"], json!([]));
}
