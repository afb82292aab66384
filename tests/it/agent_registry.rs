//! `monolith agent`, and runs of agents by their ids: 003, of the whole program.

use serde_json::{Value, json};

use crate::fixture::{Fixture, says};

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

fn fixture(lines: &[&str]) -> Fixture {
    let fixture = Fixture::new();
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}});
    fixture.layer(&layer.to_string());
    fixture.write("s.jsonl", &lines.join("\n"));
    fixture.write("agents/reviewer.agent.yaml", REVIEWER);
    fixture.write("agents/s.jsonl", &lines.join("\n"));
    fixture.write("agents/abilities/style.md", "Names say what a thing is.");
    let sql = "---\nkeywords: [database]\n---\nBind values.";
    fixture.write("agents/abilities/sql.md", sql);
    fixture.write("agents/writer.agent.yaml", WRITER);
    fixture
}

const ADD: [&str; 3] = ["agent", "add", "agents/reviewer.agent.yaml"];
const ADD_WRITER: [&str; 3] = ["agent", "add", "agents/writer.agent.yaml"];

/// The contract that a run was under.
fn contract_of(fixture: &Fixture, run: &str) -> Value {
    let text = fixture.ok(&["export", run]);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    match header["contract"].as_str() {
        Some(text) => serde_json::from_str(text).unwrap(),
        None => header["contract"].clone(),
    }
}

fn ids(fixture: &Fixture) -> Vec<String> {
    let list: Value = serde_json::from_str(&fixture.ok(&["agent", "list", "--json"])).unwrap();
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
    let fixture = fixture(&[]);
    let new = fixture
        .ends(&["agent", "add", "--update", ADD[2]], 4)
        .printed();
    assert!(
        new.contains("no agent `code-reviewer` is registered"),
        "{new}"
    );
    assert!(fixture.ok(&ADD).starts_with("added: code-reviewer 1.0.0"));
    let before = fixture.ok(&["agent", "list"]);
    let again = fixture.ends(&ADD, 4).printed();
    assert!(
        again.contains("an agent `code-reviewer` is registered already"),
        "{again}"
    );
    let update = fixture.path(ADD[2]);
    let update = format!("monolith agent add --update {} takes", update.display());
    assert!(again.contains(&update), "{again}");
    assert_eq!(fixture.ok(&["agent", "list"]), before);
    assert!(
        fixture
            .ok(&["agent", "add", "--update", ADD[2]])
            .starts_with("updated:")
    );
    fixture.ok(&["agent", "remove", "code-reviewer"]);
    fixture.ends(&["agent", "remove", "code-reviewer"], 4);
    assert_eq!(ids(&fixture), ["standard ready"]);
}

/// A profile that is not valid as a whole is not registered, and nothing of it is left (003/INV-AGT-001).
#[test]
fn nothing_of_an_invalid_profile_is_registered() {
    let fixture = fixture(&[]);
    let check = |text: &str, expect: &str| {
        fixture.write("agents/bad.agent.yaml", text);
        for command in ["validate", "add"] {
            let said = fixture
                .ends(&["agent", command, "agents/bad.agent.yaml"], 4)
                .printed();
            assert!(said.contains(expect), "{said}");
        }
        assert_eq!(ids(&fixture), ["standard ready"]);
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
    check(
        "id: bad\nversion: v1\nmodels: [demo/script]\ncoreAbilities: [style]\nabilityTokens: 3\n",
        "`abilityTokens` is 3",
    );
    for models in ["", "models: [demo/script]\n"] {
        let format = "contract: {completion: message, final_report: {format: text}}";
        check(
            &format!("id: bad\nversion: v1\n{models}{format}\n"),
            "final_report",
        );
    }
    // A model that this machine does not have is for the run.
    fixture.write(
        "agents/open.agent.yaml",
        "id: open\nversion: v1\nsystem: You work.\n",
    );
    fixture.ok(&["agent", "validate", "agents/open.agent.yaml"]);
    let said = fixture.ends(&["agent", "add", "s.jsonl"], 4).printed();
    assert!(said.contains("it is not a .ai, .agent.yaml"), "{said}");
}

/// The registry holds the text that was read: what has changed is not run until it is added again.
#[test]
fn a_profile_that_has_changed_is_neither_run_nor_selected() {
    let fixture = fixture(&[&says("Fine.")]);
    fixture.ok(&ADD);
    fixture.write(ADD[2], &format!("{REVIEWER}\ndescription: other\n"));
    assert_eq!(ids(&fixture), ["standard ready", "code-reviewer changed"]);
    let run = ["run", "--agent", "code-reviewer", "review the change"];
    let said = fixture.ends(&run, 4).printed();
    assert!(
        said.contains("has changed since it was registered") && said.contains("--update"),
        "{said}"
    );
    let again = format!(
        "monolith agent add --update {}",
        fixture.path(ADD[2]).canonicalize().unwrap().display()
    );
    assert!(said.contains(&again), "{said}");
    // What has become of it is shown nevertheless.
    let shown = || -> Value {
        serde_json::from_str(&fixture.ok(&["agent", "show", "code-reviewer"])).unwrap()
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
    let selected = fixture.ok(&["agent", "select", "review the change"]);
    assert_eq!(selected, "0.50  standard\n");
    fixture.ok(&["agent", "add", "--update", ADD[2]]);
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
        let said = fixture.ends(args, 4).printed();
        assert!(
            said.contains("failed to find the agent: no agent `nope`"),
            "{said}"
        );
    }
    assert_eq!(fixture.ok(&run), "Fine.\n");
}

#[test]
fn a_selection_explains_every_score() {
    let fixture = fixture(&[]);
    fixture.ok(&ADD);
    fixture.ok(&ADD_WRITER);
    let task = "Please review the change of this Rust crate";
    let explained = fixture.ok(&["agent", "select", task, "--explain"]);
    let expect = "0.50  code-reviewer
      +0.40  contains the example: review the change
      +0.10  names the capability: rust
0.00  writer
      -0.50  contains what it is not for: review
2 considered
";
    assert_eq!(explained, expect);
    let document: Value =
        serde_json::from_str(&fixture.ok(&["agent", "select", task, "--json"])).unwrap();
    assert_eq!(document["agent"], "code-reviewer");
    assert_eq!(document["scores"][0]["confidence"], 0.5);
    assert_eq!(document["scores"][0]["signals"][0]["adds"], 0.4);
    assert_eq!(document["unfit"][0]["confidence"], 0.0);
    assert_eq!(document["unfit"][0]["signals"][0]["adds"], -0.5);
}

/// 003/INV-AGT-SEL-002: a sum outside of 0 to 1 is logged as an error, and the confidence is at the nearer end.
#[test]
fn a_sum_of_signals_outside_of_the_range_is_logged() {
    let fixture = fixture(&[]);
    fixture.ok(&ADD);
    fixture.ok(&ADD_WRITER);
    let logged = |task: &str| {
        let mut command = fixture.command(&["agent", "select", task]);
        let output = command.env("MONOLITH_LOG", "error").output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = logged("Please review the change of this Rust crate");
    let expect = "the sum of the signals is not from 0 to 1 agent=\"writer\" confidence=0.00 sum_hundredths=-50";
    assert!(said.contains(expect), "{said}");
    assert_eq!(logged("Count the lines"), "");
}

/// The run's contract says which agent was selected out of which, and why; its abilities stand before the prompt of the first request
/// (003/INV-AGT-ABL-001).
#[test]
fn a_run_of_the_agent_that_fits_records_the_choice_and_its_abilities() {
    let fixture = fixture(&[&says("Fine."), &says("More.")]);
    fixture.ok(&ADD);
    fixture.ok(&ADD_WRITER);
    let task = "review the change of the database";
    let said = fixture
        .ends(&["run", "--agent", "auto", task, "--run-id", "r1"], 0)
        .printed();
    assert!(
        said.contains("note: agent code-reviewer, confidence 0.40"),
        "{said}"
    );
    let contract = contract_of(&fixture, "r1");
    let agent = &contract["agent"];
    assert_eq!(
        (&agent["id"], &agent["version"]),
        (&json!("code-reviewer"), &json!("1.0.0"))
    );
    assert_eq!(agent["selection"]["considered"], 2);
    assert_eq!(agent["selection"]["scores"][0]["agent"], "code-reviewer");
    assert_eq!(agent["selection"]["scores"][0]["confidence"], 0.4);
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
    fixture.ok(&["verify", "r1"]);
    fixture.ok(&["replay", "r1"]);
    fixture.ok(&["continue", "r1", "And now?"]);
}

/// The agent that no other one fits is there without a registry, and asks the model that the caller names (003/INV-AGT-SEL-004).
#[test]
fn a_task_that_no_agent_fits_is_the_standard_agents() {
    let fixture = fixture(&[&says("Yes.")]);
    let message = [
        "--set",
        "completion=message",
        "--set",
        "tool_transport=native",
    ];
    let auto = ["run", "--agent", "auto", "What is this?", "--run-id", "r1"];
    let said = fixture.ends(&[&auto[..], &message].concat(), 4).printed();
    assert!(said.contains("no model is named"), "{said}");
    let models = ["--models", "demo/script"];
    let answer = fixture.ok(&[&auto[..], &message, &models].concat());
    assert_eq!(answer, "Yes.\n");
    let contract = contract_of(&fixture, "r1");
    assert_eq!(contract["agent"]["id"], "standard");
    assert_eq!(
        contract["agent"]["selection"]["scores"][0]["confidence"],
        0.5
    );
    fixture.ok(&["replay", "r1"]);

    // One of that id that cannot be run any more takes nothing away.
    let own = "id: standard\nversion: 1.0.0\ncontract: {system: Mine.}\n";
    fixture.write("own.agent.yaml", own);
    fixture.ok(&["agent", "add", "own.agent.yaml"]);
    fixture.write("own.agent.yaml", &format!("{own}enabled: false\n"));
    fixture.write("s.jsonl", &says("Yes."));
    let again = ["run", "--agent", "auto", "What is this?", "--run-id", "r2"];
    let left = fixture.ends(&[&again[..], &message, &models].concat(), 0);
    assert!(
        left.err.contains("the built-in one takes its place"),
        "{}",
        left.err
    );
    assert_eq!(contract_of(&fixture, "r2")["system"], contract["system"]);
    // And none is called what selects.
    fixture.write("auto.agent.yaml", &own.replace("standard", "auto"));
    let said = fixture
        .ends(&["agent", "add", "auto.agent.yaml"], 4)
        .printed();
    assert!(said.contains("`--agent auto` selects one"), "{said}");
}

#[test]
fn an_agent_that_is_disabled_or_unknown_is_not_run() {
    let fixture = fixture(&[]);
    fixture.write(
        "agents/off.agent.yaml",
        &format!("{WRITER}enabled: false\n"),
    );
    fixture.ok(&["agent", "add", "agents/off.agent.yaml"]);
    let check = |id: &str, expect: &str| {
        let said = fixture
            .ends(&["run", "--agent", id, "write the page"], 4)
            .printed();
        assert!(said.contains(expect), "{said}");
    };
    check("writer", "`enabled: false`");
    check("nobody", "no agent `nobody` is registered");
    check("wrter", "did you mean `writer`? monolith agent list");
    check("No Body", "lower-case letters");
    assert_eq!(
        fixture.ok(&["agent", "select", "write the page"]),
        "0.50  standard\n"
    );
    let said = fixture.ends(&["run", "--agent", "auto"], 4).printed();
    assert!(said.contains("no task given"), "{said}");
}

/// A `.ai` file is an agent, too; one that is run by its path is the contract that it always was.
#[test]
fn an_agents_file_is_registered_and_run_by_its_id() {
    let fixture = fixture(&[&says("Hello."), &says("Hello.")]);
    let text = "---\nmodels: [demo/script]\nexampleTasks: [say hello]\n---\nYou greet.";
    fixture.write("agents/greeter.ai", text);
    fixture.ok(&["agent", "add", "agents/greeter.ai"]);
    let message = [
        "--set",
        "completion=message",
        "--set",
        "tool_transport=native",
    ];
    let run = ["run", "--agent", "auto", "say hello", "--run-id", "r1"];
    assert_eq!(fixture.ok(&[&run[..], &message].concat()), "Hello.\n");
    assert_eq!(contract_of(&fixture, "r1")["agent"]["id"], "greeter");
    let run = ["run", "agents/greeter.ai", "say hello", "--run-id", "r2"];
    assert_eq!(fixture.ok(&[&run[..], &message].concat()), "Hello.\n");
    assert!(contract_of(&fixture, "r2").get("agent").is_none());
}
