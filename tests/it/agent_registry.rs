//! `monolith agent`, and runs of agents by their ids: 003, of the whole program.

use serde_json::{Value, json};

use crate::desk::{Desk, says};

/// A profile of which the runs end with the model's message, so that a script needs no nonce.
const REVIEWER: &str = "
id: code-reviewer
version: 1.0.0
capabilities: [rust]
exampleTasks: [review the change]
coreAbilities: [style]
abilities: [sql]
system: You review.
models: [demo/script]
contract: {completion: message, tool_transport: native}
";

const WRITER: &str = "
id: writer
version: '2'
exampleTasks: [write the page]
notForTasks: [review]
system: You write.
models: [demo/script]
contract: {completion: message, tool_transport: native}
";

fn desk(lines: &[&str]) -> Desk {
    let desk = Desk::new();
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}});
    desk.write(".ai-agent.json", &layer.to_string());
    desk.write("s.jsonl", &lines.join("\n"));
    desk.write("agents/reviewer.agent.yaml", REVIEWER);
    desk.write("agents/s.jsonl", &lines.join("\n"));
    desk.write("agents/abilities/style.md", "Names say what a thing is.");
    let sql = "---\nkeywords: [database]\n---\nBind values.";
    desk.write("agents/abilities/sql.md", sql);
    desk.write("agents/writer.agent.yaml", WRITER);
    desk
}

const ADD: [&str; 3] = ["agent", "add", "agents/reviewer.agent.yaml"];
const ADD_WRITER: [&str; 3] = ["agent", "add", "agents/writer.agent.yaml"];

/// The contract that a run was under.
fn contract_of(desk: &Desk, run: &str) -> Value {
    let text = desk.ok(&["export", run]);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    match header["contract"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => header["contract"].clone(),
    }
}

fn ids(desk: &Desk) -> Vec<String> {
    let list: Value = serde_json::from_str(&desk.ok(&["agent", "list", "--json"])).unwrap();
    let agents = list["agents"].as_array().unwrap().iter();
    agents
        .map(|agent| {
            format!(
                "{} {}",
                agent["id"].as_str().unwrap(),
                agent["state"].as_str().unwrap()
            )
        })
        .collect()
}

/// An agent is registered once; an update needs one that is there (003/INV-AGT-002).
#[test]
fn an_id_is_registered_once_and_updated_on_request() {
    let desk = desk(&[]);
    let new = desk.ends(&["agent", "add", "--update", ADD[2]], 4).said();
    assert!(
        new.contains("no agent `code-reviewer` is registered"),
        "{new}"
    );
    assert!(desk.ok(&ADD).starts_with("added: code-reviewer 1.0.0"));
    let before = desk.ok(&["agent", "list"]);
    let again = desk.ends(&ADD, 4).said();
    assert!(
        again.contains("an agent `code-reviewer` is registered already"),
        "{again}"
    );
    let update = desk.path(ADD[2]);
    let update = format!("monolith agent add --update {} takes", update.display());
    assert!(again.contains(&update), "{again}");
    assert_eq!(desk.ok(&["agent", "list"]), before);
    assert!(
        desk.ok(&["agent", "add", "--update", ADD[2]])
            .starts_with("updated:")
    );
    desk.ok(&["agent", "remove", "code-reviewer"]);
    desk.ends(&["agent", "remove", "code-reviewer"], 4);
    assert_eq!(ids(&desk), ["standard ready"]);
}

/// What is not valid as a whole is not registered, and nothing of it is left (003/INV-AGT-001).
#[test]
fn nothing_of_an_invalid_profile_is_registered() {
    let desk = desk(&[]);
    let check = |text: &str, expect: &str| {
        desk.write("agents/bad.agent.yaml", text);
        for command in ["validate", "add"] {
            let said = desk
                .ends(&["agent", command, "agents/bad.agent.yaml"], 4)
                .said();
            assert!(said.contains(expect), "{said}");
        }
        assert_eq!(ids(&desk), ["standard ready"]);
    };
    check("id: Bad\nversion: v1\n", "such as `bad`");
    check(
        "id: bad\nversion: v1\ncoreAbilities: [nowhere]\n",
        "nowhere.md",
    );
    check(
        "id: bad\nversion: v1\ncontract: {max_turn: 1}\n",
        "max_turns",
    );
    let said = desk.ends(&["agent", "add", "s.jsonl"], 4).said();
    assert!(said.contains("it is no .ai, .agent.yaml"), "{said}");
}

/// The registry holds the text that was read: what has changed is not run until it is added again.
#[test]
fn a_profile_that_has_changed_is_neither_run_nor_selected() {
    let desk = desk(&[&says("Fine.")]);
    desk.ok(&ADD);
    desk.write(ADD[2], &format!("{REVIEWER}\ndescription: other\n"));
    assert_eq!(ids(&desk), ["standard ready", "code-reviewer changed"]);
    let run = ["run", "--agent", "code-reviewer", "review the change"];
    let said = desk.ends(&run, 4).said();
    assert!(
        said.contains("is not what was registered") && said.contains("--update"),
        "{said}"
    );
    let again = format!(
        "monolith agent add --update {}",
        desk.path(ADD[2]).canonicalize().unwrap().display()
    );
    assert!(said.contains(&again), "{said}");
    // What has become of it is shown nevertheless.
    let shown = || -> Value {
        serde_json::from_str(&desk.ok(&["agent", "show", "code-reviewer"])).unwrap()
    };
    let changed = shown();
    assert_eq!(
        (&changed["state"], &changed["profile"]),
        (&json!("changed"), &Value::Null)
    );
    assert!(
        changed["path"].as_str().unwrap().ends_with(ADD[2]),
        "{changed}"
    );
    let selected = desk.ok(&["agent", "select", "review the change"]);
    assert_eq!(selected, "0.50  standard\n");
    desk.ok(&["agent", "add", "--update", ADD[2]]);
    let ready = shown();
    assert_eq!(
        (&ready["state"], &ready["blake3"]),
        (&json!("ready"), &ready["profile"]["digest"])
    );
    assert_ne!(changed["blake3"], ready["blake3"]);
    for args in [
        &["agent", "show", "nope"][..],
        &["run", "--agent", "nope", "Do it."],
    ] {
        let said = desk.ends(args, 4).said();
        assert!(
            said.contains("failed to find the agent: no agent `nope`"),
            "{said}"
        );
    }
    assert_eq!(desk.ok(&run), "Fine.\n");
}

#[test]
fn a_selection_explains_every_score() {
    let desk = desk(&[]);
    desk.ok(&ADD);
    desk.ok(&ADD_WRITER);
    let task = "Please review the change of this Rust crate";
    let explained = desk.ok(&["agent", "select", task, "--explain"]);
    let expect = "0.50  code-reviewer
      +0.40  contains the example: review the change
      +0.10  names the capability: rust
0.00  writer
      -0.50  contains what it is not for: review
2 considered
";
    assert_eq!(explained, expect);
    let document: Value =
        serde_json::from_str(&desk.ok(&["agent", "select", task, "--json"])).unwrap();
    assert_eq!(document["agent"], "code-reviewer");
    assert_eq!(document["scores"][0]["confidence"], 50);
}

/// The run's contract says which agent was selected out of which, and why; its abilities stand before the prompt of the first request
/// (003/INV-AGT-ABL-001).
#[test]
fn a_run_of_the_agent_that_fits_records_the_choice_and_its_abilities() {
    let desk = desk(&[&says("Fine."), &says("More.")]);
    desk.ok(&ADD);
    desk.ok(&ADD_WRITER);
    let task = "review the change of the database";
    let said = desk
        .ends(&["run", "--agent", "auto", task, "--run-id", "r1"], 0)
        .said();
    assert!(
        said.contains("note: agent code-reviewer, confidence 0.40"),
        "{said}"
    );
    let contract = contract_of(&desk, "r1");
    let agent = &contract["agent"];
    assert_eq!(
        (&agent["id"], &agent["version"]),
        (&json!("code-reviewer"), &json!("1.0.0"))
    );
    assert_eq!(agent["selection"]["considered"], 2);
    assert_eq!(agent["selection"]["scores"][0]["agent"], "code-reviewer");
    assert_eq!(agent["selection"]["scores"][0]["confidence"], 40);
    let names: Vec<_> = agent["abilities"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&names[0]["name"], &names[0]["core"]),
        (&json!("style"), &json!(true))
    );
    assert_eq!(
        (&names[1]["name"], &names[1]["core"]),
        (&json!("sql"), &json!(false))
    );
    let system = contract["system"].as_str().unwrap();
    let begins =
        "# Ability: style\n\nNames say what a thing is.\n\n# Ability: sql\n\nBind values.\n\n";
    assert_eq!(system, format!("{begins}You review."));
    desk.ok(&["verify", "r1"]);
    desk.ok(&["replay", "r1"]);
    desk.ok(&["continue", "r1", "And now?"]);
}

/// The agent that no other one fits is there without a registry, and asks the model that the caller names (003/INV-AGT-SEL-004).
#[test]
fn a_task_that_no_agent_fits_is_the_standard_agents() {
    let desk = desk(&[&says("Yes.")]);
    let message = [
        "--set",
        "completion=message",
        "--set",
        "tool_transport=native",
    ];
    let auto = ["run", "--agent", "auto", "What is this?", "--run-id", "r1"];
    let said = desk.ends(&[&auto[..], &message].concat(), 4).said();
    assert!(said.contains("no model is named"), "{said}");
    let models = ["--models", "demo/script"];
    let answer = desk.ok(&[&auto[..], &message, &models].concat());
    assert_eq!(answer, "Yes.\n");
    let contract = contract_of(&desk, "r1");
    assert_eq!(contract["agent"]["id"], "standard");
    assert_eq!(
        contract["agent"]["selection"]["scores"][0]["confidence"],
        50
    );
    desk.ok(&["replay", "r1"]);

    // One of that id that cannot be run any more takes nothing away.
    let own = "id: standard\nversion: 1.0.0\ncontract: {system: Mine.}\n";
    desk.write("own.agent.yaml", own);
    desk.ok(&["agent", "add", "own.agent.yaml"]);
    desk.write("own.agent.yaml", &format!("{own}enabled: false\n"));
    desk.write("s.jsonl", &says("Yes."));
    let again = ["run", "--agent", "auto", "What is this?", "--run-id", "r2"];
    let left = desk.ends(&[&again[..], &message, &models].concat(), 0);
    assert!(
        left.err.contains("the built-in one takes its place"),
        "{}",
        left.err
    );
    assert_eq!(contract_of(&desk, "r2")["system"], contract["system"]);
    // And none is called what selects.
    desk.write("auto.agent.yaml", &own.replace("standard", "auto"));
    let said = desk.ends(&["agent", "add", "auto.agent.yaml"], 4).said();
    assert!(said.contains("`--agent auto` selects one"), "{said}");
}

#[test]
fn an_agent_that_is_disabled_or_unknown_is_not_run() {
    let desk = desk(&[]);
    desk.write(
        "agents/off.agent.yaml",
        &format!("{WRITER}enabled: false\n"),
    );
    desk.ok(&["agent", "add", "agents/off.agent.yaml"]);
    let check = |id: &str, expect: &str| {
        let said = desk
            .ends(&["run", "--agent", id, "write the page"], 4)
            .said();
        assert!(said.contains(expect), "{said}");
    };
    check("writer", "`enabled: false`");
    check("nobody", "no agent `nobody` is registered");
    check("No Body", "lower-case letters");
    assert_eq!(
        desk.ok(&["agent", "select", "write the page"]),
        "0.50  standard\n"
    );
    let said = desk.ends(&["run", "--agent", "auto"], 4).said();
    assert!(said.contains("there is no task"), "{said}");
}

/// A `.ai` file is an agent, too; one that is run by its path is the contract that it always was.
#[test]
fn an_agents_file_is_registered_and_run_by_its_id() {
    let desk = desk(&[&says("Hello."), &says("Hello.")]);
    let text = "---\nmodels: [demo/script]\nexampleTasks: [say hello]\n---\nYou greet.";
    desk.write("agents/greeter.ai", text);
    desk.ok(&["agent", "add", "agents/greeter.ai"]);
    let message = [
        "--set",
        "completion=message",
        "--set",
        "tool_transport=native",
    ];
    let run = ["run", "--agent", "auto", "say hello", "--run-id", "r1"];
    assert_eq!(desk.ok(&[&run[..], &message].concat()), "Hello.\n");
    assert_eq!(contract_of(&desk, "r1")["agent"]["id"], "greeter");
    let run = ["run", "agents/greeter.ai", "say hello", "--run-id", "r2"];
    assert_eq!(desk.ok(&[&run[..], &message].concat()), "Hello.\n");
    assert!(contract_of(&desk, "r2").get("agent").is_none());
}
