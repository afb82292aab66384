//! What a call of an agent comes to, and what proves something.

use serde_json::{Value, json};

use super::{asks, named, prompt, shown};
use crate::desk::Desk;
use monolith::{EventKind, StoreReader};

/// A call of an agent is a run of its own, with its own contract, transcript and counters; each of the two names the
/// other.
#[test]
fn the_call_of_an_agent_is_a_run_of_its_own_and_each_of_the_two_names_the_other() {
    let desk = Desk::new();
    desk.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    desk.agent("lead", "agents: [clock.yaml]\n", &calls);
    let result = desk.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let told: Value = serde_json::from_str(&shown(&result)[0]).unwrap();
    assert_eq!(told["run_id"], "lead.1");
    assert_eq!(told["outcome"], "COMPLETED_WITH_TOOLS");
    assert_eq!(told["report"], "Noon.");

    let tree = desk.proves_tree("lead");
    assert_eq!(Desk::tree_names(&tree), ["lead", "lead.1"]);
    let (above, below) = (desk.contract_of("lead"), desk.contract_of("lead.1"));
    assert_eq!(below.parent_contract_hash, Some(above.contract_hash()));
    let [child] = desk.children_of("lead").try_into().unwrap();
    assert_eq!(told["head"], child.head.to_string());
    // Two answers of the agent, 60 tokens each, and one ok result of a tool.
    assert_eq!((child.tokens, child.tools_ok), (120, 1));

    let mut reader = StoreReader::open(&desk.path("home/runs.db")).unwrap();
    let first = reader.read_run(&named("lead.1")).unwrap().next().unwrap();
    let event = first.unwrap().decode_event().unwrap().unwrap().event;
    let EventKind::RunStarted(started) = event else {
        panic!("{event:?}");
    };
    let parent = started.parent.unwrap();
    assert_eq!((parent.run_id, parent.call.unwrap().0), (named("lead"), 1));
    let listed = desk.ok(&["list"]);
    assert!(listed.contains("delegated by lead (call 1)"), "{listed}");
    let drawn = desk.ok(&["show", "lead", "--tree"]);
    assert!(drawn.contains("└─ lead.1"), "{drawn}");
}

/// An agent whose input is JSON gets the arguments as its task; what breaks its schema is told as `invalid_parameters`.
#[test]
fn arguments_that_break_the_input_of_an_agent_are_told_as_invalid_parameters() {
    let desk = Desk::new();
    let says = asks(&[], "Found.");
    desk.agent("scout", "", &says[1..]);
    desk.write(
        "scout.ai",
        "---\nmodels: [demo/script]\ninput: {format: json, schema: {type: object, properties: {company: {type: string}}, required: [company]}}\n\
         output: {format: text}\n---\nYou scout.\n",
    );
    let mut calls = asks(&[("agent__scout", json!({"firm": "ACME"}))], "");
    calls.pop();
    calls.extend(asks(
        &[("agent__scout", json!({"company": "ACME"}))],
        "Done.",
    ));
    desk.agent("lead", "agents: [scout.ai]\nstrict_mode: false\n", &calls);
    desk.write(
        ".ai-agent.json",
        r#"{"providers": {"demo": {"type": "scripted", "file": "scout.jsonl"}}}"#,
    );
    let result = desk.leads();
    let shown = shown(&result);
    let refused =
        "(tool failed: invalid_parameters: the arguments: required: \"company\" is missing)";
    assert!(
        shown[0].starts_with("(tool failed: invalid_parameters: "),
        "{shown:?} {refused}"
    );
    // The second was begun: it is call 1, since the first was none.
    assert_eq!(desk.children_of("lead").len(), 1, "{result}");
    let task = desk.ok(&["show", "lead.1", "--conversation"]);
    assert!(task.contains("{\"company\":\"ACME\"}"), "{task}");
}

/// `tool_proof: succeeded` wants an agent that completed; `lineage` an ok result of a tool that is no agent, in the run or below it.
#[test]
fn the_word_of_an_agent_proves_nothing_where_lineage_is_asked_for() {
    let check = |proof: &str, worker: bool, expect: &str| {
        let desk = Desk::new();
        if worker {
            desk.worker("clock");
        } else {
            desk.agent("clock", "", &asks(&[], "Noon.")[1..]);
        }
        let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
        let policy = format!("tool_policy: required\ntool_proof: {proof}\nagents: [clock.yaml]\n");
        desk.agent("lead", &policy, &calls);
        let result = desk.leads();
        let outcome = &result["outcome"];
        assert_eq!(
            format!(
                "{} {}",
                outcome["class"].as_str().unwrap(),
                outcome["code"].as_str().unwrap()
            ),
            expect,
            "{proof}, {worker}"
        );
    };
    let completed = "COMPLETED_WITH_TOOLS final_message";
    let unproven = "FAILED_PROTOCOL_NO_TOOLS proof_not_succeeded";
    check("succeeded", false, completed);
    check("lineage", false, unproven);
    check("lineage", true, completed);
}

/// An agent that fails is a result with an error, not the end of the run above it; what it used is charged.
#[test]
fn an_agent_that_fails_is_an_error_and_is_charged() {
    let desk = Desk::new();
    let narrates = &asks(&[], "I did it.")[1..];
    desk.agent(
        "liar",
        "tool_policy: required\ntools: {builtin: [clock]}\n",
        narrates,
    );
    let calls = asks(&[("agent__liar", prompt("Do it."))], "It failed.");
    desk.agent("lead", "agents: [liar.yaml]\n", &calls);
    let result = desk.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let shown = shown(&result);
    assert!(
        shown[0].starts_with("(tool failed: {\"outcome\":\"FAILED_PROTOCOL_NO_TOOLS\""),
        "{shown:?}"
    );
    let [child] = desk.children_of("lead").try_into().unwrap();
    assert_eq!((child.tokens, child.outcome.exit_code()), (60, 1));
}
