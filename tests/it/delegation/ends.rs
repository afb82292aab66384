//! The result of an agent's call, and the calls that prove something.

use serde_json::{Value, json};

use super::{asks, lead, named, prompt, shown};
use crate::fixture::Fixture;
use monolith_core::kernel::EventKind;
use monolith_host::store::StoreReader;

/// The lead calls that agent, sees that its run ended so, and continues.
fn lead_sees_failure(fixture: &Fixture, agent: &str, class: &str) {
    let ask = (&*format!("agent__{agent}"), prompt("Do it."));
    let terms = format!("agents: [{agent}.yaml]\n");
    fixture.agent("lead", &terms, &asks(&[ask], "It failed."));
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let shown = shown(&result);
    let begins = format!("(tool failed: {{\"outcome\":\"{class}\"");
    assert!(shown[0].starts_with(&begins), "{shown:?}");
}

/// 001/5.hierarchies.6: a call of an agent is a separate run, with a separate contract, transcript and counters; each of the
/// two names the other.
#[test]
fn the_call_of_an_agent_is_a_run_of_its_own_and_each_of_the_two_names_the_other() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let answer: Value = serde_json::from_str(&shown(&result)[0]).unwrap();
    assert_eq!(answer["run_id"], "lead.1");
    assert_eq!(answer["outcome"], "COMPLETED_WITH_TOOLS");
    assert_eq!(answer["report"], "Noon.");

    let tree = fixture.proves_tree("lead");
    assert_eq!(Fixture::tree_names(&tree), ["lead", "lead.1"]);
    let (above, below) = (fixture.contract_of("lead"), fixture.contract_of("lead.1"));
    assert_eq!(below.parent_contract_hash, Some(above.contract_hash()));
    let [child] = fixture.children_of("lead").try_into().unwrap();
    assert_eq!(answer["head"], child.head.to_string());
    // Two answers of the agent, 60 tokens each, and one ok result of a tool.
    assert_eq!((child.tokens, child.tools_ok), (120, 1));

    let mut reader = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    let first = reader.read_run(&named("lead.1")).unwrap().next().unwrap();
    let event = first.unwrap().decode_event().unwrap().unwrap().event;
    let EventKind::RunStarted(started) = event else {
        panic!("{event:?}");
    };
    let parent = started.parent.unwrap();
    assert_eq!((parent.run_id, parent.call.unwrap().0), (named("lead"), 1));
    let listed = fixture.ok(&["list"]);
    assert!(listed.contains("delegated by lead (call 1)"), "{listed}");
    let drawn = fixture.ok(&["show", "lead", "--tree"]);
    assert!(drawn.contains("└─ lead.1"), "{drawn}");
}

/// 001/5.hierarchies.3, 001/5.hierarchies.9: an agent whose input is JSON gets the arguments as its task; a violation of its
/// schema is answered as `invalid_parameters`, and the run continues.
#[test]
fn arguments_that_break_the_input_of_an_agent_are_told_as_invalid_parameters() {
    let fixture = Fixture::new();
    let says = asks(&[], "Found.");
    fixture.agent("scout", "", &says[1..]);
    fixture.write(
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
    fixture.agent("lead", "agents: [scout.ai]\nstrict_mode: false\n", &calls);
    fixture.layer(r#"{"providers": {"demo": {"type": "scripted", "file": "scout.jsonl"}}}"#);
    let result = fixture.leads();
    let shown = shown(&result);
    let refused =
        "(tool failed: invalid_parameters: the arguments: required: \"company\" is missing)";
    assert!(
        shown[0].starts_with("(tool failed: invalid_parameters: "),
        "{shown:?} {refused}"
    );
    // The second was begun: it is call 1, since the first was none.
    assert_eq!(fixture.children_of("lead").len(), 1, "{result}");
    let task = fixture.ok(&["show", "lead.1", "--conversation"]);
    assert!(task.contains("{\"company\":\"ACME\"}"), "{task}");
}

/// `tool_proof: succeeded` wants an agent that completed; `lineage` an ok result of a tool that is no agent, in the run or below it.
#[test]
fn the_word_of_an_agent_proves_nothing_where_lineage_is_asked_for() {
    let check = |proof: &str, worker: bool, expect: &str| {
        let fixture = Fixture::new();
        if worker {
            fixture.worker("clock");
        } else {
            fixture.agent("clock", "", &asks(&[], "Noon.")[1..]);
        }
        let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
        let policy = format!("tool_policy: required\ntool_proof: {proof}\nagents: [clock.yaml]\n");
        fixture.agent("lead", &policy, &calls);
        let result = fixture.leads();
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

/// The message names the required and the existing proof, where an agent completed and that proves nothing: no call of it
/// failed.
#[test]
fn a_run_without_a_proof_of_lineage_names_what_was_wanted_and_what_there_was() {
    let wanted = "an ok result of a tool that is no agent, in this run or one below it (tool_proof: lineage)";
    let there = "(agent__clock: run lead.1 ended COMPLETED_CHAT_ONLY (final_message), without such a result)";
    let check = |then: &[Value], more: &str, first: &str| {
        let fixture = Fixture::new();
        fixture.agent("clock", "", &asks(&[], "Noon.")[1..]);
        let policy =
            format!("tool_policy: required\ntool_proof: lineage\nagents: [clock.yaml]\n{more}");
        fixture.agent("lead", &policy, then);
        fixture.leads();
        let why = fixture.run(&["show", "lead", "--why"]).out;
        let first = format!("{first} {wanted}");
        for part in [&*first, there, "--set tool_proof=succeeded"] {
            assert!(why.contains(part), "{part}\n{why}");
        }
        assert!(!why.contains("every call failed"), "{why}");
    };
    let ask = ("agent__clock", prompt("What time is it?"));
    check(
        &asks(std::slice::from_ref(&ask), "Late."),
        "",
        "The contract requires",
    );
    let again = vec![asks(&[ask], "").remove(0); 2];
    let turns = "max_turns: 2\nmax_identical_calls: 9\n";
    check(
        &again,
        turns,
        "The turns that offer tools were used up without",
    );
}

/// 001/5.hierarchies.10: an agent that fails is a result with an error, not the end of the run above it; what it used is charged.
#[test]
fn an_agent_that_fails_is_an_error_and_is_charged() {
    let fixture = Fixture::new();
    let narrates = &asks(&[], "I did it.")[1..];
    fixture.agent(
        "liar",
        "tool_policy: required\ntools: {builtin: [clock]}\n",
        narrates,
    );
    lead_sees_failure(&fixture, "liar", "FAILED_PROTOCOL_NO_TOOLS");
    let [child] = fixture.children_of("lead").try_into().unwrap();
    assert_eq!((child.tokens, child.outcome.exit_code()), (60, 1));
}

/// 003/INV-AGT-ABL-001, 003/INV-AGT-ABL-002: the task of a call chooses the abilities of a called profile, and its contract records them.
#[test]
fn a_called_profile_has_the_abilities_that_its_task_names() {
    let fixture = Fixture::new();
    fixture.agent("scout", "", &asks(&[], "found")[1..]);
    let profile = "id: scout\nversion: '1'\ncoreAbilities: [style]\nabilities: [sql, http]\nabilityTokens: 40\nsystem: You scout.\n\
                   contract:\n  completion: message\n  targets: [{provider: demo, model: script, context_window: 32768}]\n  \
                   providers: {demo: {type: scripted, file: scout.jsonl}}\n";
    fixture.write("scout.agent.yaml", profile);
    fixture.write("abilities/style.md", "Be brief.");
    let long = format!(
        "---\nkeywords: [database]\n---\n{}",
        "Bind values. ".repeat(40)
    );
    fixture.write("abilities/sql.md", &long);
    fixture.write("abilities/http.md", "Ask once.");
    let calls = [("agent__scout", prompt("Look into the database."))];
    fixture.agent(
        "lead",
        "agents: [scout.agent.yaml]\n",
        &asks(&calls, "answered"),
    );
    let left = fixture.run(&lead(&[]));
    assert_eq!(left.code, 0, "{}", left.printed());
    fixture.proves_tree("lead");
    let contract = fixture.contract_of("lead.1");
    let given = contract.agent.as_ref().unwrap().abilities.iter();
    let given: Vec<_> = given
        .map(|one| (one.name.to_string(), one.core, one.kept_bytes.is_some()))
        .collect();
    assert_eq!(
        given,
        [
            ("style".to_owned(), true, false),
            ("sql".to_owned(), false, true)
        ]
    );
    let system = &contract.system;
    assert!(
        system.starts_with("# Ability: style\n\nBe brief.\n\n# Ability: sql\n\nBind values."),
        "{system}"
    );
}

/// 001/5.hierarchies.10: a run below that takes too long is a result with an error, too.
#[test]
fn an_agent_that_takes_too_long_is_an_error() {
    let fixture = Fixture::new();
    fixture.agent("slow", "total_timeout_ms: 200\n", &asks(&[], "Late.")[1..]);
    let line = fixture
        .read("slow.jsonl")
        .replace("{\"response\"", "{\"delay_ms\":60000,\"response\"");
    fixture.write("slow.jsonl", &line);
    lead_sees_failure(&fixture, "slow", "FAILED_TIMEOUT");
}

/// 001/5.hierarchies.1, 001/5.hierarchies.7, 001/5.hierarchies.11: the path of an agent is relative to the file that names it, or absolute; what
/// it names is defined in the layers of the first run, its own folder's included; and the same file is run alone.
#[test]
fn an_agent_of_another_folder_is_read_with_the_layers_of_the_first_run() {
    let fixture = Fixture::new();
    fixture.agent("scout", "", &asks(&[], "found")[1..]);
    let says = fixture.read("scout.jsonl");
    let provider = |name: &str| {
        let providers = json!({name: {"type": "scripted", "file": "scout.jsonl"}});
        json!({"providers": providers}).to_string()
    };
    fixture.write(".ai-agent.json", &provider("here"));
    fixture.write("team/.ai-agent.json", &provider("there"));
    for (name, model, agents) in [
        ("first", "here/script", "agents: [../scout.yaml]\n"),
        ("second", "there/script", ""),
    ] {
        let text = format!(
            "---\nmodels: [{model}]\noutput: {{format: text}}\n{agents}---\nYou are {name}.\n"
        );
        fixture.write(&format!("team/{name}.ai"), &text);
    }
    fixture.write("team/scout.jsonl", &says);
    let calls = [
        ("agent__first", prompt("go")),
        ("agent__second", prompt("go")),
    ];
    let absolute = fixture.path("team/second.ai");
    let agents = format!("agents: [team/first.ai, {}]\n", json!(absolute));
    fixture.agent("lead", &agents, &asks(&calls, "answered"));
    // The layers of all agents are asked about before the first run.
    let refused = fixture.ends(&lead(&[]), 4).err;
    assert!(refused.contains("monolith trust lead.yaml"), "{refused}");
    fixture.ok(&["trust", "lead.yaml"]);
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    let providers = |run: &str| {
        let contract = fixture.contract_of(run);
        contract.providers.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(providers("lead.1"), ["here"]);
    assert_eq!(providers("lead.2"), ["there"]);
    let named = &fixture.contract_of("lead.1").agents;
    assert_eq!(named["agent__scout"].file, "../scout.yaml");
    let alone = fixture.ok(&["run", "scout.yaml", "--task", "go"]);
    assert!(alone.contains("found"), "{alone}");
}
