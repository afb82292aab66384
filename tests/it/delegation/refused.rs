//! Refusals before a run is begun (S18 of the faults): depth, circles, tools that are not granted, files that changed.

use serde_json::{Value, json};

use super::{asks, lead, prompt, shown};
use crate::fixture::Fixture;

/// 003/INV-DT-001: a run at the greatest depth delegates to none; the error says so, and the run continues.
#[test]
fn no_run_stands_deeper_than_the_contract_allows() {
    let fixture = Fixture::new();
    fixture.worker("third");
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.agent("second", "agents: [third.yaml]\n", &to("third"));
    fixture.agent("first", "agents: [second.yaml]\n", &to("second"));
    fixture.agent(
        "lead",
        "agents: [first.yaml]\nmax_delegation_depth: 2\n",
        &to("first"),
    );
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let tree = fixture.proves_tree("lead");
    assert_eq!(Fixture::tree_names(&tree), ["lead", "lead.1", "lead.1.1"]);
    let (_, deepest) = fixture.json(&["show", "lead.1.1"]);
    assert_eq!(
        shown(&deepest),
        ["(tool failed: delegation depth 2 exceeded)"]
    );
    assert!(fixture.children_of("lead.1.1").is_empty());
}

/// Five runs may stand below the first one where nothing is said (003/INV-DT-001).
#[test]
fn five_runs_stand_below_the_first_one_by_default() {
    let fixture = Fixture::new();
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.worker("a7");
    for n in (1..7).rev() {
        let next = format!("a{}", n + 1);
        fixture.agent(
            &format!("a{n}"),
            &format!("agents: [{next}.yaml]\n"),
            &to(&next),
        );
    }
    fixture.agent("lead", "agents: [a1.yaml]\n", &to("a1"));
    fixture.leads();
    let tree = fixture.proves_tree("lead");
    let names = Fixture::tree_names(&tree);
    assert_eq!(names.len(), 6, "{names:?}");
    let (_, deepest) = fixture.json(&["show", "lead.1.1.1.1.1"]);
    assert_eq!(
        shown(&deepest),
        ["(tool failed: delegation depth 5 exceeded)"]
    );
}

/// 003/INV-DT-001: what a called agent's own file allows below it counts, too.
#[test]
fn a_called_agent_goes_no_deeper_than_its_own_file_allows() {
    let fixture = Fixture::new();
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.worker("worker");
    fixture.agent(
        "flat",
        "agents: [worker.yaml]\nmax_delegation_depth: 0\n",
        &to("worker"),
    );
    fixture.agent("lead", "agents: [flat.yaml]\n", &to("flat"));
    fixture.leads();
    let (_, flat) = fixture.json(&["show", "lead.1"]);
    assert_eq!(shown(&flat), ["(tool failed: delegation depth 1 exceeded)"]);
    assert_eq!(Fixture::tree_names(&fixture.proves_tree("lead")).len(), 2);
}

/// 003/INV-DT-002: an agent that calls one above itself gets the chain as an error, and every run ends well.
#[test]
fn an_agent_that_calls_one_above_it_is_told_the_chain() {
    let fixture = Fixture::new();
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.agent("a", "agents: [b.yaml]\n", &to("b"));
    fixture.agent("b", "agents: [a.yaml, b.yaml]\n", &{
        let mut calls = asks(
            &[("agent__a", prompt("go on")), ("agent__b", prompt("go on"))],
            "answered",
        );
        calls.truncate(2);
        calls
    });
    fixture.agent("lead", "agents: [a.yaml]\n", &to("a"));
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let (_, b) = fixture.json(&["show", "lead.1.1"]);
    assert_eq!(
        shown(&b),
        [
            "(tool failed: delegation to an ancestor: lead → a → b → a)",
            "(tool failed: delegation to an ancestor: lead → a → b → b)"
        ]
    );
}

/// 003/INV-DT-002: another version of an agent that stands above is that agent, by the id that both files state.
#[test]
fn another_version_of_an_agent_above_is_not_called() {
    let fixture = Fixture::new();
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    let profile = |version: &str, middle: &str| {
        format!(
            "id: scout\nversion: '{version}'\nsystem: You scout.\ncontract:\n  completion: message\n  tool_transport: native\n  \
             agents: [{middle}]\n  targets: [{{provider: demo, model: script, context_window: 32768}}]\n  \
             providers: {{demo: {{type: scripted, file: scout.jsonl}}}}\n"
        )
    };
    fixture.agent("scout", "", &to("middle"));
    fixture.write("scout.agent.yaml", &profile("2", "middle.yaml"));
    fixture.write("old/scout.agent.yaml", &profile("1", "../middle.yaml"));
    fixture.agent("middle", "agents: [old/scout.agent.yaml]\n", &to("scout"));
    fixture.agent("lead", "agents: [scout.agent.yaml]\n", &to("scout"));
    fixture.leads();
    let (_, middle) = fixture.json(&["show", "lead.1.1"]);
    assert_eq!(
        shown(&middle),
        ["(tool failed: delegation to an ancestor: lead → scout → middle → scout)"]
    );
    assert_eq!(Fixture::tree_names(&fixture.proves_tree("lead")).len(), 3);
}

/// S18: an agent that has tools beyond what it is granted is refused before its run begins, and so is one below it.
#[test]
fn an_agent_with_a_tool_that_it_is_not_granted_is_not_begun() {
    let fixture = Fixture::new();
    fixture.agent(
        "worker",
        "tools: {builtin: [clock, echo]}\n",
        &asks(&[], "done")[1..],
    );
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.agent("middle", "agents: [worker.yaml]\n", &to("worker"));
    let grant = "agents: [{file: middle.yaml, tools: [clock, agent__worker]}]\n";
    fixture.agent("lead", grant, &to("middle"));
    fixture.leads();
    let (_, middle) = fixture.json(&["show", "lead.1"]);
    assert_eq!(
        shown(&middle),
        ["(tool failed: agent__worker has tools that it is not granted: echo)"]
    );
    assert!(fixture.children_of("lead.1").is_empty());
    // What is answered of a run that was not begun is no executed call.
    assert_eq!(middle["outcome"]["class"], "COMPLETED_CHAT_ONLY");
}

/// A command that changes the file of an agent. No file tool and no confined command can.
fn rewrites() -> Value {
    json!({"command": "sed -i 's/You are clock./You lie./' clock.yaml"})
}

/// The file of an agent is pinned: one that changes during the run is not run.
#[test]
fn an_agent_whose_file_changed_is_not_begun() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let mut calls = asks(&[("shell", rewrites())], "");
    calls.pop();
    calls.extend(asks(
        &[("agent__clock", prompt("What time is it?"))],
        "answered",
    ));
    fixture.agent(
        "lead",
        "agents: [clock.yaml]\ntools: {builtin: [shell], sandbox: off, workspace: .}\nstrict_mode: false\n",
        &calls,
    );
    let result = fixture.leads();
    let shown = shown(&result);
    assert_eq!(
        shown[1], "(tool failed: tool changed since the contract was made)",
        "{shown:?}"
    );
    assert!(fixture.children_of("lead").is_empty());
}

/// The same two levels down: who trusted the tree has seen each of its files.
#[test]
fn an_agent_below_which_a_file_changed_is_not_begun() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "answered");
    fixture.agent("middle", "agents: [clock.yaml]\n", &calls);
    let mut calls = asks(&[("shell", rewrites())], "");
    calls.pop();
    let ask = ("agent__middle", prompt("What time is it?"));
    calls.extend(asks(&[ask], "answered"));
    fixture.agent(
        "lead",
        "agents: [middle.yaml]\ntools: {builtin: [shell], sandbox: off, workspace: .}\nstrict_mode: false\n",
        &calls,
    );
    let result = fixture.leads();
    assert_eq!(
        shown(&result)[1],
        "(tool failed: tool changed since the contract was made)"
    );
    assert!(fixture.children_of("lead").is_empty());
    let terms = &fixture.contract_of("lead").agents["agent__middle"];
    assert!(terms.below.contains_key("clock.yaml"), "{terms:?}");
}

/// S18: below a step of a workflow the same is refused as below a run: a circle, a tool that is not granted, and a run too deep.
#[test]
fn what_is_refused_below_a_run_is_refused_below_a_step_of_a_workflow() {
    let fixture = Fixture::new();
    let to = |name: &str| asks(&[(&format!("agent__{name}"), prompt("go on"))], "answered");
    fixture.agent("a", "agents: [b.yaml]\n", &to("b"));
    fixture.agent("b", "agents: [a.yaml]\n", &to("a"));
    let done = &asks(&[], "done")[1..];
    fixture.agent("worker", "tools: {builtin: [clock, echo]}\n", done);
    let grant = "agents: [{file: worker.yaml, tools: [clock]}]\n";
    fixture.agent("grants", grant, &to("worker"));
    fixture.agent("middle", "agents: [worker.yaml]\n", &to("worker"));
    let flat = "agents: [middle.yaml]\nmax_delegation_depth: 1\n";
    fixture.agent("flat", flat, &to("middle"));
    let step = |id: &str| format!("- {{id: {id}, delegate: {id}.yaml, task: go}}\n");
    let steps = ["a", "grants", "flat"].map(step).concat();
    fixture.write("w.yaml", &format!("workflow: tried\nsteps:\n{steps}"));
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
    for (run, expect) in [
        ("w.1.1", "delegation to an ancestor: a → b → a"),
        (
            "w.2",
            "agent__worker has tools that it is not granted: echo",
        ),
        ("w.3.1", "delegation depth 1 exceeded"),
    ] {
        let (_, refused) = fixture.json(&["show", run]);
        assert_eq!(
            shown(&refused),
            [format!("(tool failed: {expect})")],
            "{run}"
        );
        assert!(fixture.children_of(run).is_empty(), "{run}");
    }
    for run in ["w.1", "w.2", "w.3"] {
        fixture.proves_tree(run);
    }
    fixture.ok(&["verify", "w"]);
}

/// A run of another tree that has the name of a run below it would be taken for that: nothing is begun.
#[test]
fn a_run_with_agents_does_not_begin_where_a_name_below_its_own_is_taken() {
    let fixture = Fixture::new();
    fixture.worker("worker");
    fixture.agent("lead", "agents: [worker.yaml]\n", &asks(&[], "nothing"));
    fixture.ok(&["run", "worker.yaml", "--task", "go", "--run-id", "lead.1"]);
    let run = ["run", "lead.yaml", "--task", "go", "--run-id"];
    let said = fixture.ends(&[&run[..], &["lead"]].concat(), 4).err;
    assert!(
        said.contains(
            "a child run would be called lead.1, and this store already has a run of that name"
        ),
        "{said}"
    );
    assert!(said.contains("choose another name with --run-id"), "{said}");
    // One without agents begins none.
    let run = ["run", "worker.yaml", "--task", "go", "--run-id", "lead"];
    fixture.ok(&run);
}

/// A run of another tree that got such a name while the run was suspended is not taken for the agent's: its call fails with the
/// reason, and the run continues to its end.
#[test]
fn a_run_of_another_tree_that_was_imported_under_the_name_is_not_taken_for_the_agents() {
    let suspended = || {
        let fixture = Fixture::new();
        fixture.worker("worker");
        let mut says = asks(&[("echo", json!({"text": "hi"}))], "");
        says.pop();
        says.extend(asks(&[("agent__worker", prompt("go"))], "done"));
        let more = "tools: {builtin: [echo]}\nrequire_approval: [echo]\nagents: [worker.yaml]\n";
        fixture.agent("lead", more, &says);
        fixture.ends(&lead(&["--no-wait"]), 8);
        let (_, waiting) = fixture.json(&["approvals"]);
        let hash = waiting["approvals"][0]["arguments_hash"].as_str().unwrap();
        fixture.ok(&["approve", "lead", "--yes", "--arguments", hash]);
        fixture
    };
    let (here, elsewhere) = (suspended(), suspended());
    elsewhere.ok(&["resume", "lead"]);
    let stranger = elsewhere.ok(&["export", "lead.2"]);
    here.write("stranger.jsonl", &stranger);
    here.ok(&["import", "stranger.jsonl"]);
    let result = here.ends(&["resume", "lead", "--json"], 0).document();
    let shown = shown(&result);
    assert!(
        shown[1].contains("another run is called lead.2"),
        "{shown:?}"
    );
    here.ok(&["replay", "lead"]);
}
