//! `monolith continue`: a child run of an ended run, with a separate contract, budgets and proof.

use std::process::Stdio;

use serde_json::Value;

use crate::fixture::{Fixture, calls, says};
use crate::terminal::Terminal;

const ECHO: &str = "tools: {builtin: [echo]}\n";

fn roles_and_texts(result: &Value) -> Vec<(&str, &str)> {
    let messages = result["conversation"].as_array().unwrap().iter();
    messages
        .map(|message| {
            (
                message["role"].as_str().unwrap(),
                message["content"].as_str().unwrap(),
            )
        })
        .collect()
}

/// The contract that a run stands under.
fn contract(fixture: &Fixture, run: &str) -> Value {
    let file = fixture.ok(&["export", run]);
    let header: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    match &header["contract"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        contract => contract.clone(),
    }
}

#[test]
fn a_child_goes_on_with_the_conversation_under_a_contract_that_names_the_parents() {
    let fixture = Fixture::new();
    let lines = ["One.", "Two.", "Three."].map(says);
    fixture.script("system: Be brief.\n", &lines.each_ref().map(String::as_str));
    let (_, first) = fixture.json(&["run", "c.yaml", "--run-id", "r1"]);
    let (code, second) = fixture.json(&["continue", "r1", "And then?", "--run-id", "r2"]);
    assert_eq!(code, 0, "{second}");
    assert_eq!(
        roles_and_texts(&second),
        [
            ("system", "Be brief."),
            ("user", "hi"),
            ("assistant", "One."),
            ("user", "And then?"),
            ("assistant", "Two."),
        ]
    );
    assert_eq!(second["counters"]["turns"], 1);
    assert_eq!(
        contract(&fixture, "r2")["parent_contract_hash"],
        first["contract_hash"]
    );
    let (code, third) = fixture.json(&["continue", "last", "And then?", "--run-id", "r3"]);
    assert_eq!(
        (code, &third["finalReport"]["content"]),
        (0, &"Three.".into()),
        "{third}"
    );
    assert_eq!(
        contract(&fixture, "r3")["parent_contract_hash"],
        second["contract_hash"]
    );
    let shown = fixture.ok(&["show", "r2"]);
    assert!(shown.contains("parent    continues r1\n"), "{shown}");
    let listed = fixture.ok(&["list"]);
    assert!(listed.contains(", continues r2\n"), "{listed}");
    for run in ["r2", "r3"] {
        fixture.ok(&["verify", run]);
        fixture.ok(&["replay", run]);
        // The policy of another contract is decided by the same words.
        let (code, report) = fixture.json(&["replay", run, "--set", "max_turns=4"]);
        assert_eq!(
            (code, &report["same_outcome"]),
            (0, &true.into()),
            "{report}"
        );
    }
    let tree = fixture.ok(&["show", "r3", "--tree"]);
    assert!(tree.find("r1") < tree.find("r2"), "{tree}");
}

#[test]
fn a_proof_is_of_one_run() {
    let fixture = Fixture::new();
    let call = calls("echo", "{\"text\":\"x\"}");
    fixture.script(
        &format!("tool_policy: required\n{ECHO}"),
        &[&call, &says("One."), &says("Two.")],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    let (code, result) = fixture.json(&["continue", "r1", "And then?"]);
    assert_ne!(code, 0, "{result}");
    assert_eq!(result["outcome"]["code"], "no_call_response", "{result}");
}

#[test]
fn intent_is_judged_on_the_new_message() {
    let fixture = Fixture::new();
    let call = calls("echo", "{\"text\":\"x\"}");
    fixture.script(
        &format!("page: code\n{ECHO}"),
        &[
            &call,
            &says("One."),
            &says("You are welcome."),
            &call,
            &says("Four."),
        ],
    );
    let task = ["run", "c.yaml", "Read src/main.rs.", "--run-id", "r1"];
    fixture.ends(&task, 0);
    assert_eq!(contract(&fixture, "r1")["tool_policy"], "required");
    let (code, second) = fixture.json(&["continue", "r1", "Thank you.", "--run-id", "r2"]);
    assert_eq!(
        second["outcome"]["class"], "COMPLETED_CHAT_ONLY",
        "{second}"
    );
    assert_eq!(code, 0);
    assert_eq!(contract(&fixture, "r2")["tool_policy"], "optional");
    let (_, report) = fixture.json(&["replay", "r2", "--set", "max_resumes=8"]);
    assert_eq!(
        report["contract_differences"].as_array().map(Vec::len),
        Some(0),
        "{report}"
    );
    // The parent's policy is no change of the file.
    let (code, third) = fixture.json(&["continue", "r2", "Read src/lib.rs, too."]);
    assert_eq!(
        (code, &third["outcome"]["class"]),
        (0, &"COMPLETED_WITH_TOOLS".into())
    );
}

#[test]
fn a_file_that_has_changed_is_refused_with_the_difference_and_taken_where_it_is_named() {
    let fixture = Fixture::new();
    fixture.script("max_turns: 6\n", &[&says("One."), &says("Two.")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    let changed = fixture
        .read("c.yaml")
        .replace("max_turns: 6", "max_turns: 9");
    fixture.write("c.yaml", &changed);
    let left = fixture.ends(&["continue", "r1", "More."], 4);
    let way_on = "monolith continue r1 \"…\" --contract c.yaml";
    for part in ["the file has changed", "/max_", way_on] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    // What helps comes first.
    let (before, _) = left.err.split_once(way_on).unwrap();
    assert!(!before.contains("--set"), "{}", left.err);
    // Where the command line changes something, too, the way out keeps it.
    let set = ["--set", "max_turns=7", "--set", "system=Be brief."];
    let left = fixture.ends(&[&["continue", "r1", "More."], &set[..]].concat(), 4);
    let way_on = format!("{way_on} --set max_turns=7 --set 'system=Be brief.'");
    for part in ["made from the file and --set differs", &way_on] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    assert!(!left.err.contains("has changed"), "{}", left.err);
    let (_, list) = fixture.json(&["list"]);
    assert_eq!(
        list["runs"].as_array().map(Vec::len),
        Some(1),
        "nothing is begun"
    );
    fixture.ends(
        &[
            "continue",
            "r1",
            "More.",
            "--contract",
            "c.yaml",
            "--run-id",
            "r2",
        ],
        0,
    );
    assert_eq!(contract(&fixture, "r2")["max_turns"], 9);
    // The file is again what the last run was begun with.
    fixture.write("s.jsonl", &says("Other."));
    let left = fixture.ends(&["continue", "r2", "More."], 4);
    assert!(
        left.err.contains("s.jsonl of provider `demo` has changed"),
        "{}",
        left.err
    );
}

#[test]
fn a_file_that_is_not_there_any_more_is_asked_for_by_its_option() {
    let fixture = Fixture::new();
    fixture.script("max_turns: 6\n", &[&says("One."), &says("Two.")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    let text = fixture.read("c.yaml");
    std::fs::remove_file(fixture.path("c.yaml")).unwrap();
    let left = fixture.ends(&["continue", "r1", "More."], 4);
    for part in ["c.yaml, which the run started with", "--contract FILE"] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    fixture.write("moved.yaml", &text);
    fixture.ends(&["continue", "r1", "More.", "--contract", "moved.yaml"], 0);
}

#[test]
fn an_accepted_report_is_text_in_the_history() {
    let fixture = Fixture::new();
    let report = |text: &str| {
        let arguments = format!(
            "{{\"status\":\"success\",\"report_format\":\"text\",\"format\":\"text\",\"report_content\":\"{text}\"}}"
        );
        calls("agent__final_report", &arguments)
    };
    fixture.script(
        "completion: final_report\n",
        &[&report("MIT."), &report("Apache, too.")],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    let (code, second) = fixture.json(&["continue", "r1", "No other?"]);
    assert_eq!(code, 0, "{second}");
    let said = roles_and_texts(&second);
    assert_eq!(
        said[..3],
        [("user", "hi"), ("assistant", "MIT."), ("user", "No other?")]
    );
    let calls = &second["conversation"][1]["tool_calls"];
    assert!(calls.as_array().is_none_or(Vec::is_empty), "{second}");
    assert_eq!(second["finalReport"]["content"], "Apache, too.");
    fixture.ok(&["replay", "last"]);
    // What the parent had played is found behind its report, too.
    fixture.ends(&["continue", "last", "More?"], 1);
}

#[test]
fn only_an_ended_run_is_continued_and_only_with_a_message() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("{ECHO}require_approval: [echo]\n"),
        &[&calls("echo", "{\"text\":\"x\"}"), &says("One.")],
    );
    let mut child = fixture
        .command(&["run", "c.yaml", "--run-id", "r1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !fixture
        .run(&["show", "r1"])
        .out
        .contains("monolith approve")
    {}
    child.kill().unwrap();
    child.wait().unwrap();
    let left = fixture.ends(&["continue", "r1", "More."], 4);
    for part in ["it has not ended", "monolith resume"] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
    let left = fixture.ends(&["continue", "r1"], 4);
    assert!(left.err.contains("no message given"), "{}", left.err);
    fixture.ends(&["continue", "none", "More."], 4);
}

/// A run that does not begin prints no policy note.
#[test]
fn a_file_that_has_changed_is_refused_before_the_rule_of_its_policy_is_stated() {
    let fixture = Fixture::new();
    let call = calls("echo", "{\"text\":\"x\"}");
    let more = "tool_policy: required\ntools: {builtin: [echo]}\n";
    fixture.script(more, &[&call, &says("One."), &says("Two.")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 0);
    fixture.write("c.yaml", &(fixture.read("c.yaml") + "system: Be brief.\n"));
    let left = fixture.ends(&["continue", "r1", "More."], 4);
    // A value that the run was begun without has the same remedy.
    let way_on = "= help: monolith continue r1 \"…\" --contract c.yaml continues";
    assert!(left.err.contains(way_on), "{}", left.err);
    let mut command = fixture.command(&["continue", "r1", "More."]);
    command.env("NO_COLOR", "1");
    let (code, shown) = Terminal::sized(command, 200).end();
    assert_eq!(code, 4, "{shown}");
    assert!(shown.contains("--contract c.yaml"), "{shown}");
    assert!(!shown.contains("note: tool_policy"), "{shown}");
}

/// A change of the page alone would be refused as another contract's.
#[test]
fn a_message_that_a_page_judges_otherwise_is_refused_with_what_to_type() {
    let fixture = Fixture::new();
    let more =
        "page: code\ntool_policy: required\ntools: {builtin: [list_directory], workspace: .}\n";
    let lines = [
        calls("list_directory", "{\"path\":\".\"}"),
        says("Two."),
        says("You are welcome."),
    ];
    fixture.script(more, &lines.each_ref().map(String::as_str));
    fixture.ok(&[
        "run",
        "c.yaml",
        "--task",
        "List the files of this folder.",
        "--run-id",
        "r1",
    ]);
    let left = fixture.ends(&["continue", "r1", "Thanks!"], 4);
    let way_on = "--contract c.yaml --set page=null";
    assert!(left.err.contains(way_on), "{}", left.err);
    let typed = [
        "continue",
        "r1",
        "Thanks!",
        "--contract",
        "c.yaml",
        "--set",
        "page=null",
    ];
    let left = fixture.run(&typed);
    assert!(
        !left.err.contains("tool_policy is required, but"),
        "{}",
        left.err
    );
}
