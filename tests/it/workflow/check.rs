//! Errors in a workflow's steps are found before the first one runs: `contract check`, and the beginning of `run`.

use serde_json::{Value, json};

use super::fixture;

#[test]
fn contract_check_names_the_step_and_the_file_of_every_fault() {
    let fixture = fixture(
        "steps:
- {id: list, tool: read_file, arguments: {path: in.txt}}
- id: both
  parallel:
  - {id: gone, delegate: gone.yaml, task: go}
  - {id: broken, delegate: broken.yaml, task: go}
- {id: again, delegate: w.yaml, task: go}
- {id: call, tool: no_such_tool}
- {id: other, tool: fs__read}
- {id: fine, delegate: agent.yaml, task: go}
",
    );
    fixture.write("broken.yaml", "targets: []\nsurprise: 1\n");
    // A file that cannot be read is no workflow of which a step could be named: its digest is part of the definition.
    let said = fixture.ends(&["contract", "check", "w.yaml"], 4).err;
    assert!(said.contains("step `gone`, gone.yaml: "), "{said}");
    fixture.write("gone.yaml", &fixture.read("agent.yaml"));
    let said = fixture.ends(&["contract", "check", "w.yaml"], 4).out;
    for part in [
        "ok      step list: tool read_file, w.yaml",
        "ok      step gone: delegate, gone.yaml",
        "FAILED  step broken: delegate, broken.yaml\n        1:10: targets: at least one target is needed\n        2:1: surprise: unknown key",
        "FAILED  step again: delegate, w.yaml\n        it is a workflow, and a step delegates to an agent",
        "FAILED  step call: tool no_such_tool, w.yaml\n        no tool of this contract is called `no_such_tool`\n",
        "FAILED  step other: tool fs__read, w.yaml",
        "ok      step fine: delegate, agent.yaml",
        "workflow tried, 8 steps in the file",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let near = fixture.read("w.yaml").replace("no_such_tool", "readfile");
    fixture.write("near.yaml", &near);
    let said = fixture.ends(&["contract", "check", "near.yaml"], 4).out;
    let meant = "no tool of this contract is called `readfile`; did you mean `read_file`?";
    assert!(said.contains(meant), "{said}");
    let (code, report) = fixture.json(&["contract", "check", "w.yaml"]);
    assert_eq!((code, &report["ok"]), (4, &json!(false)));
    let faulty = report["steps"].as_array().unwrap().iter();
    let faulty = faulty.filter(|step| !step["faults"].as_array().unwrap().is_empty());
    let faulty: Vec<&Value> = faulty.map(|step| &step["step"]).collect();
    assert_eq!(faulty, ["broken", "again", "call", "other"]);

    // A run is refused for the same, and nothing of it is begun.
    let refused = fixture.ends(&["run", "w.yaml"], 4).err;
    for part in [
        "step `broken`, broken.yaml: 2:1: surprise: unknown key",
        "step `again`, w.yaml: it is a workflow",
        "step `call`, w.yaml: ",
        "monolith contract check w.yaml",
    ] {
        assert!(refused.contains(part), "{part}\n{refused}");
    }
    assert_eq!(fixture.json(&["list"]).1["runs"], json!([]));
}

#[test]
fn a_workflow_that_can_be_run_is_found_to_be_one() {
    let fixture =
        fixture("steps: [{id: ask, prompt: hi}, {id: give, delegate: agent.yaml, task: go}]\n");
    let (code, report) = fixture.json(&["contract", "check", "w.yaml"]);
    assert_eq!(
        (code, &report["ok"], &report["workflow"]),
        (0, &json!(true), &json!("tried"))
    );
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    let refused = fixture
        .ends(&["contract", "check", "w.yaml", "--set", "max_turns=1"], 4)
        .err;
    assert!(refused.contains("it is run as it is written"), "{refused}");
}

/// A workflow is a program, too: what it starts, asks and reads is listed before a person runs or trusts it.
#[test]
fn contract_check_lists_what_a_workflow_and_its_agents_reach() {
    let fixture = fixture(
        "steps:
- {id: first, tool: odd__touch}
- {id: second, tool: far__read}
- {id: give, delegate: other.yaml, task: go}
",
    );
    let servers = "workspace: w, mcp: {
    odd: {command: ./evil.sh, env: {TOKEN: '${ODD_TOKEN}'}},
    far: {url: 'https://far.example/mcp'}}}";
    let evil = fixture.read("w.yaml").replace("workspace: w}", servers);
    fixture.write("evil.yaml", &evil);
    fixture.write("other.yaml", &fixture.read("agent.yaml"));

    let said = fixture.run(&["contract", "check", "evil.yaml"]).out;
    for part in [
        "\nreaches:\n",
        "  command   ./evil.sh ",
        "  host      https://far.example/mcp ",
        "  variable  ODD_TOKEN goes to ",
        "the agent other.yaml reaches:\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let report = fixture.json(&["contract", "check", "evil.yaml"]).1;
    let commands = report["reaches"]["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 1, "{report}");
    assert_eq!(report["agents_below"][0]["file"], "other.yaml", "{report}");
}
