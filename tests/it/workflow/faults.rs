//! Files that are no workflow, commands that are not for one, and evidence that was changed.

use super::fixture;

#[test]
fn every_fault_of_a_file_is_named_at_its_place() {
    let fixture = fixture(
        "steps:
- {id: a, prompt: '${steps.b.output}'}
- {id: b, prompt: x, tool: y}
- id: g
  parallel:
  - {id: one, prompt: x, depends_on: [two]}
  - {id: two, prompt: x, depends_on: [one]}
  max_concurrency: 0
- {id: c, for_each: '[]', steps: [{id: d, prompt: x}]}
- {id: e, prompt: x, surprise: 1}
",
    );
    let said = fixture.ends(&["run", "w.yaml"], 4).err;
    for fault in [
        "a step does one thing",
        "the key `max_iterations` is missing",
        "unknown key `surprise`",
    ] {
        assert!(said.contains(fault), "{fault}: {said}");
    }
    assert!(said.contains("w.yaml:9"), "{said}");
}

/// 003/INV-PE-002
#[test]
fn references_and_circles_are_named_at_their_places() {
    let fixture = fixture(
        "steps:
- {id: a, prompt: '${steps.b.output}'}
- id: g
  parallel:
  - {id: one, prompt: x, depends_on: [two]}
  - {id: two, prompt: x, depends_on: [one]}
  - {id: three, prompt: x, depends_on: [four]}
- id: h
  parallel:
  - {id: five, prompt: x, depends_on: [six]}
  - {id: six, prompt: x, depends_on: [five]}
",
    );
    let said = fixture.ends(&["run", "w.yaml"], 4).err;
    for fault in [
        "steps.0.prompt: there is no step `b`",
        "it depends on `four`, which is no step of its group",
        "these steps wait for each other: five → six → five",
    ] {
        assert!(said.contains(fault), "{fault}: {said}");
    }
}

#[test]
fn a_changed_entry_of_a_workflow_is_found() {
    let fixture = fixture("steps: [{id: ask, prompt: hi}]\n");
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    fixture.ok(&["verify", "w"]);
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let changed = store
        .execute(
            "UPDATE entries SET state = 'STOPPING' WHERE seq = 1 AND run = (SELECT id FROM runs WHERE run_id = 'w')",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    let said = fixture.ends(&["verify", "w"], 7).out;
    assert!(said.contains("state"), "{said}");
    fixture.ends(&["replay", "w"], 7);
}

#[test]
fn a_workflow_is_not_gone_on_with_under_another_file() {
    let fixture =
        fixture("steps: [{id: ask, tool: write_file, arguments: {path: a, content: b}}]\n");
    fixture.asks_before_writing();
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.write("w.yaml", &format!("{}# changed\n", fixture.read("w.yaml")));
    let said = fixture.ends(&["resume", "w"], 4).err;
    assert!(
        said.contains("its file has changed since it started"),
        "{said}"
    );
}

#[test]
fn what_is_for_runs_says_that_a_workflow_is_none() {
    let fixture = fixture("steps: [{id: ask, prompt: hi}]\n");
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    for args in [
        &["export", "w", "--format", "atif"][..],
        &["show", "w", "--follow"],
        &["replay", "w", "--live", "tools"],
        &["continue", "w", "more"],
    ] {
        let said = fixture.ends(args, 4).err;
        let named = ["it is a workflow", "a workflow cannot be exported as atif"];
        assert!(
            named.iter().any(|why| said.contains(why)),
            "{args:?}: {said}"
        );
    }
    let (_, listed) = fixture.json(&["list"]);
    let runs = listed["runs"].as_array().unwrap();
    let workflows: Vec<_> = runs.iter().filter(|run| run["workflow"] == true).collect();
    assert_eq!((runs.len(), workflows.len()), (2, 1));
    assert_eq!(workflows[0]["run_id"], "w");
}

/// S18: a step delegates to an agent, and a workflow is none, so no circle of them can come about.
#[test]
fn a_step_that_delegates_to_a_workflow_is_refused_before_anything_of_it_runs() {
    let fixture = fixture("steps: [{id: again, delegate: w.yaml, task: once more}]\n");
    let said = fixture.ends(&["run", "w.yaml"], 4).err;
    assert!(
        said.contains("step `again`, w.yaml: it is a workflow"),
        "{said}"
    );
    let (_, listed) = fixture.json(&["list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 0);
}
