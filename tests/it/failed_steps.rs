//! The output for a person about a failed workflow, and the use of its file by commands that take a contract.

use serde_json::Value;

use crate::fixture::{Fixture, calls, says};

/// A workflow `w.yaml` of these steps, under a contract with that and a model that says `No.`
fn fixture(contract: &str, steps: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "w.yaml",
        &format!(
            "workflow: tried\ncontract:\n  targets: [{{provider: demo, model: script}}]\n  \
             providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n{contract}steps:\n{steps}"
        ),
    );
    fixture.write("s.jsonl", &says("No."));
    fixture
}

const REQUIRED: &str = "  tool_policy: required\n  tools: {builtin: [echo]}\n";

/// 001 §6: the error, the graph and `--why` lead to what may help; a step has no contract file that `continue` could take.
#[test]
fn a_failed_workflow_says_what_may_help_with_each_step_that_failed() {
    let fixture = fixture(REQUIRED, "- {id: ask, prompt: hi}\n");
    let ended = fixture.ends(&["run", "w.yaml", "--run-id", "w"], 1);
    assert!(
        ended.err.contains("= help: monolith show w --why\n"),
        "{}",
        ended.err
    );
    let shown = fixture.ok(&["show", "w"]);
    assert!(
        shown.ends_with("\nWhy it ended so: monolith show w --why\n"),
        "{shown}"
    );
    let why = fixture.ok(&["show", "w", "--why"]);
    let way =
        "`tool_policy: optional` in the section `contract` of w.yaml, then monolith run w.yaml";
    let helps = [
        "what may help: tool_policy: required: ",
        way,
        "; more: monolith show w.1 --why\n",
    ];
    for part in helps {
        assert!(why.contains(part), "{part}\n{why}");
    }
    let step = fixture.run(&["show", "w.1", "--why"]).out;
    assert!(
        step.contains("What may help: ") && step.contains(way),
        "{step}"
    );
    assert!(!step.contains("FILE"), "{step}");
    // What is named works.
    fixture.write(
        "w.yaml",
        &fixture
            .read("w.yaml")
            .replace("tool_policy: required", "tool_policy: optional"),
    );
    let shown = fixture.ok(&["run", "w.yaml", "--run-id", "w2"]);
    assert_eq!(shown, "No.\n");
    assert!(!fixture.ok(&["show", "w2"]).contains("--why"));
}

/// No model wrote its call, and it has the turns that it needs: neither is named.
#[test]
fn a_step_of_one_call_that_failed_leads_to_what_its_author_wrote() {
    let tools = "  tool_policy: required\n  tool_proof: PROOF\n  \
                 tools: {builtin: [read_file], workspace: .}\n";
    let check = |proof: &str, arguments: &str, expect: &[&str]| {
        let step = format!("- {{id: after, tool: read_file, arguments: {arguments}}}\n");
        let fixture = fixture(&tools.replace("PROOF", proof), &step);
        assert_ne!(fixture.run(&["run", "w.yaml", "--run-id", "w"]).code, 0);
        let of_tree = fixture.ok(&["show", "w", "--why"]);
        let of_step = fixture.run(&["show", "w.1", "--why"]).out;
        for said in [&of_tree, &of_step] {
            for part in expect {
                assert!(said.contains(part), "{part}\n{said}");
            }
            assert!(!said.contains("`max_turns"), "{said}");
            assert!(!said.contains("`tool_proof"), "{said}");
        }
        // The author wrote neither a policy nor a model for it.
        let shown = fixture.run(&["show", "w.1"]).out;
        assert!(!shown.contains("tools required"), "{shown}");
        assert!(shown.contains("9 checks passed\n"), "{shown}");
        assert!(!of_step.contains("the model asked for"), "{of_step}");
    };
    let arguments = [
        "hat may help: correct `arguments` of the step: monolith tools w.yaml --schemas",
        "then monolith run w.yaml",
    ];
    let failed = ["hat may help: correct what the call failed with, then monolith run w.yaml"];
    check("succeeded", "{fil: x}", &arguments);
    check("succeeded", "{path: nope.md}", &failed);
    check("executed", "{path: nope.md}", &failed);
}

#[test]
fn a_workflow_that_has_ended_is_listed_with_the_time_that_it_was_driven() {
    let fixture = fixture("", "- {id: ask, prompt: hi}\n- {id: more, prompt: go}\n");
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    let (_, shown) = fixture.json(&["show", "w"]);
    let (_, list) = fixture.json(&["list"]);
    let listed = list["runs"].as_array().unwrap().iter();
    let listed = listed.filter(|run| run["run_id"] == "w");
    let times: Vec<&Value> = listed.map(|run| &run["elapsed_ms"]).collect();
    assert_eq!(times, [&shown["elapsed_ms"]]);
    assert_ne!(shown["elapsed_ms"], 0, "{shown}");
}

/// A valid one is not called wrong; a command that takes contracts alone says what takes a workflow.
#[test]
fn commands_for_a_contract_know_a_workflow() {
    let steps = "- {id: ask, prompt: hi}\n- {id: give, delegate: agent.yaml, task: go}\n";
    let fixture = fixture("  tools: {builtin: [echo]}\n", steps);
    fixture.script("tools: {mcp: {gone: {command: ./nope}}}\n", &[&says("x")]);
    std::fs::rename(fixture.path("c.yaml"), fixture.path("agent.yaml")).unwrap();
    // Each file that a step runs under is looked at.
    let doctor = fixture.ends(&["doctor", "--contract", "w.yaml"], 1).out;
    assert!(
        doctor.contains("tool server gone did not come up"),
        "{doctor}"
    );
    assert!(!doctor.contains("wrong contract"), "{doctor}");
    let agent = fixture
        .read("agent.yaml")
        .replace("tools: {mcp: {gone: {command: ./nope}}}\n", "");
    fixture.write("agent.yaml", &agent);
    let doctor = fixture.run(&["doctor", "--contract", "w.yaml"]).out;
    assert!(
        doctor.contains("it passes monolith contract check"),
        "{doctor}"
    );
    fixture.write("agent.yaml", &format!("{agent}max_turn: 3\n"));
    let doctor = fixture.ends(&["doctor", "--contract", "w.yaml"], 1).out;
    assert!(doctor.contains("step `give`, agent.yaml: "), "{doctor}");
    fixture.write("agent.yaml", &agent);
    assert!(fixture.ok(&["tools", "w.yaml"]).contains("echo"));
    for args in [
        &["contract", "show", "w.yaml"][..],
        &["contract", "hash", "w.yaml"],
        &["contract", "pin", "w.yaml"],
        &["chat", "w.yaml"],
    ] {
        let said = fixture.ends(args, 4).err;
        assert!(
            said.contains("w.yaml: it is a workflow"),
            "{args:?}: {said}"
        );
        assert!(
            said.contains("monolith contract check w.yaml"),
            "{args:?}: {said}"
        );
        assert!(said.len() < 400, "{args:?}: {said}");
    }
    let said = fixture.ends(&["run", "w.yaml", "--models", "x/y"], 4).err;
    assert!(
        said.contains("failed to use --models x/y with the workflow"),
        "{said}"
    );
}

/// A list that is long is written out once in a line, too.
#[test]
fn a_line_names_the_known_keys_once() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("x"), &calls("echo", "{}")]);
    fixture.write(
        "c.yaml",
        &format!(
            "{}one_thing: 1\nanother_matter: 2\n",
            fixture.read("c.yaml")
        ),
    );
    let doctor = fixture.ends(&["doctor", "--contract", "c.yaml"], 1).out;
    assert_eq!(doctor.matches("known keys").count(), 1, "{doctor}");
    assert!(doctor.contains("(as above)"), "{doctor}");
}
