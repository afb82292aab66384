//! The agents of a contract: what their files say, under which names they are offered, and the terms of delegation.

use serde_json::json;

use super::agents_folder::{Folder, contract_of};
use super::fixture::structure_faults;
use crate::contract::*;
use crate::message::{Digest, NoTokenizers, estimate_tokens};

const LEAD: &str = "\
task: Plan a day.
targets: [{provider: p, model: m, context_window: 9000}]
providers: {p: {type: scripted, file: lead.jsonl}}
agents:
- ./scout.ai
- {file: judge.agent.yaml, tools: ['fs__*', clock]}
";
const SCOUT: &str = "---
description: Looks things up.
usage: Ask one question at a time.
toolName: web.scout
input:
  format: json
  schema: {type: object, properties: {topic: {type: string}}, required: [topic], additionalProperties: false}
---
You look up ${DAY}.
";
const JUDGE: &str = "
id: judge
version: 1.0.0
description: Judges.
system: You judge.
models: [layer/small]
contract: {max_tokens_consumed: 5000, max_cost_micro_usd: 70, total_timeout_ms: 60000}
";
const FILES: &[(&str, &str)] = &[
    ("lead.yaml", LEAD),
    ("scout.ai", SCOUT),
    ("judge.agent.yaml", JUDGE),
];

/// 001/5.hierarchies.1
#[test]
fn the_terms_of_two_agents_are_what_their_files_say() {
    let contract = Folder::of(FILES).contract("lead.yaml", &[]);
    let terms = json!({
        "agents": contract.agents,
        "delegation": contract.delegation,
        "server": contract.servers["agent"],
        "tools": contract.tools,
    });
    insta::assert_snapshot!(format!("{terms:#}"));
    assert_eq!(structure_faults(&contract), [] as [&str; 0]);
    assert_eq!(contract.pin_fault(), None);
    let decoded = ExecutionContract::decode(&contract.canonical_text()).unwrap();
    assert_eq!(decoded.contract_hash(), contract.contract_hash());
}

#[test]
fn a_contract_without_agents_says_nothing_of_delegation() {
    let text = LEAD.split("agents:").next().unwrap();
    let contract = Folder::of(&[("plain.yaml", text)]).contract("plain.yaml", &[]);
    let text = contract.canonical_text();
    assert!(!text.contains("\"agents\"") && !text.contains("\"delegation\""));
}

/// The agent of a file of that name and text: the name of its tool, and its description.
fn offered(name: &str, text: &str) -> (String, String) {
    let lead = format!(
        "{}agents: [{name}]\n",
        LEAD.split("agents:").next().unwrap()
    );
    let files = [("lead.yaml", lead.as_str()), (name, text)];
    let contract = Folder::of(&files).contract("lead.yaml", &[]);
    let tool = &contract.tools[0];
    (tool.name.clone(), tool.description.clone())
}

/// 001/5.hierarchies.2
/// 001/1.internal.3
#[test]
fn a_tool_is_called_as_its_file_says_else_by_its_id_else_by_its_file() {
    let check = |file: &str, text: &str, expect: &str| {
        assert_eq!(offered(file, text).0, format!("agent__{expect}"), "{file}");
    };
    check(
        "a.ai",
        "---\ntoolName: trend.analyzer_2-b\n---\nx",
        "trend.analyzer_2-b",
    );
    check("Web Search (2).ai", "---\n---\nx", "web-search-2");
    check("a.ai", "---\nid: seeker\n---\nx", "seeker");
    check("a.agent.yaml", "{id: one, version: 1.0.0}", "one");
    check("deep.research.yaml", "system: x", "deep-research");
    let long = format!("{}.ai", "x".repeat(80));
    check(&long, "---\n---\nx", &"x".repeat(57));
}

#[test]
fn a_tool_is_described_by_description_and_usage() {
    let check = |text: &str, expect: &str| assert_eq!(offered("a.ai", text).1, expect);
    check(
        "---\ndescription: Does it.\nusage: Say what.\n---\nx",
        "Does it.\n\nSay what.",
    );
    check("---\nusage: Say what.\n---\nx", "Say what.");
    check("---\n---\nx", "The agent a.");
    // A contract file says the same with the same keys.
    let text = "system: x\ndescription: Does it.\nusage: Say what.\n";
    assert_eq!(offered("a.yaml", text).1, "Does it.\n\nSay what.");
    let plain = LEAD.split("agents:").next().unwrap();
    let text = format!("description: Plans.\n{plain}");
    let made = Folder::of(&[("l.yaml", &text)]).contract("l.yaml", &[]);
    assert!(!made.canonical_text().contains("Plans."));
}

/// 001/5.hierarchies.3
#[test]
fn a_tool_takes_the_input_of_the_agent_or_one_text() {
    let contract = Folder::of(FILES).contract("lead.yaml", &[]);
    let schema = |name: &str| contract.tool(name).unwrap().input_schema.clone();
    assert_eq!(schema("agent__web.scout")["required"], json!(["topic"]));
    let text = schema("agent__judge");
    assert_eq!(text["required"], json!(["prompt"]));
    assert_eq!(text["additionalProperties"], json!(false));
}

/// 001/5.hierarchies.5
#[test]
fn what_is_wrong_with_agents_is_said_at_once_and_where_they_are_named() {
    let lead = format!(
        "{}agents:\n- gone.ai\n- bad.ai\n- a.ai\n- {{file: b.ai}}\n- batch.ai\n- list.ai\n",
        LEAD.split("agents:").next().unwrap()
    );
    let files = [
        ("lead.yaml", lead.as_str()),
        ("bad.ai", "---\ntoolName: a b\nmaxTurns: many\n---\nx"),
        ("a.ai", "---\ntoolName: twin\n---\nx"),
        ("b.ai", "---\ntoolName: twin\n---\ny"),
        ("batch.ai", "---\n---\nx"),
        (
            "list.ai",
            "---\ninput: {format: json, schema: {type: array}}\n---\nx",
        ),
    ];
    insta::assert_snapshot!(Folder::of(&files).faults("lead.yaml").join("\n"));
}

#[test]
fn an_entry_is_a_path_or_a_mapping() {
    let base = LEAD.split("agents:").next().unwrap();
    let check = |agents: &str, expect: &[&str]| {
        let text = format!("{base}agents: {agents}\n");
        assert_eq!(
            Folder::of(&[("lead.yaml", &text)]).faults("lead.yaml"),
            expect
        );
    };
    check(
        "[{tools: [a]}]",
        &["4: agents.0: the key `file` is missing"],
    );
    check(
        "[{file: a.ai, tool: [x]}]",
        &[
            "4: agents.0: a.ai: there is no such file",
            "4: agents.0.tool: unknown key `tool`",
        ],
    );
    check(
        "[{file: a.ai, tools: ['']}]",
        &[
            "4: agents.0: a.ai: there is no such file",
            "4: agents.0.tools: a pattern has 1 to 1024 characters",
        ],
    );
    check("a.ai", &["4: agents: expected a list, got `a.ai`"]);
    let many = format!("[{}]", vec!["a.ai"; 65].join(", "));
    check(&many, &["4: agents: at most 64 agents are taken, got 65"]);
    let none = format!("{base}agents: null\n");
    assert_eq!(
        Folder::of(&[("l.yaml", &none)]).spec("l.yaml", &[]).agents,
        []
    );
}

#[test]
fn a_server_is_not_called_as_agents_are() {
    let text = format!("{LEAD}tools: {{mcp: {{agent: {{command: x}}}}}}\n");
    let files = [("lead.yaml", text.as_str()), FILES[1], FILES[2]];
    let rule = "tools that begin with agent__ are monolith's own; call the server otherwise";
    assert_eq!(
        Folder::of(&files).faults("lead.yaml"),
        [format!("7: tools.mcp.agent: {rule}")]
    );
}

#[test]
fn front_matter_and_profiles_name_agents_too() {
    let files = [
        (
            "a.ai",
            "---\nmodels: [layer/m]\nagents: [scout.ai]\nmaxDepth: 2\n---\nx",
        ),
        (
            "b.agent.yaml",
            "{id: b, version: '1', models: [layer/m], contract: {agents: [{file: scout.ai, tools: []}]}}",
        ),
        ("scout.ai", SCOUT),
    ];
    let folder = Folder::of(&files);
    let spec = folder.spec("a.ai", &[]);
    assert_eq!(spec.agents[0].tool().as_deref(), Some("agent__web.scout"));
    assert_eq!(spec.max_delegation_depth, Some(2));
    let spec = folder.spec("b.agent.yaml", &[]);
    assert_eq!(spec.agents[0].grant, Some(Vec::new()));
}

#[test]
fn agents_that_name_each_other_are_read() {
    let files = [
        ("a.ai", "---\nmodels: [layer/m]\nagents: [b.ai]\n---\nx"),
        ("b.ai", "---\nagents: [a.ai]\n---\ny"),
    ];
    let spec = Folder::of(&files).spec("a.ai", &[]);
    assert_eq!(spec.agents[0].tool().as_deref(), Some("agent__b"));
    let b = Folder::of(&files).called().spec("b.ai", &[]);
    assert_eq!(
        b.agents[0].defined.as_ref().unwrap().digest,
        spec.own.unwrap().digest
    );
}

#[test]
fn only_an_agent_that_is_called_may_leave_out_models() {
    let files = [("a.ai", "---\n---\nx"), ("b.yaml", "system: x\n")];
    assert_eq!(
        Folder::of(&files).faults("a.ai"),
        ["1: : no model is named"]
    );
    assert_eq!(
        Folder::of(&files).faults("b.yaml"),
        ["1: : the key `targets` is missing"]
    );
    for name in ["a.ai", "b.yaml"] {
        assert_eq!(Folder::of(&files).called().spec(name, &[]).targets, []);
    }
    // No model at all is something else.
    let empty = [("c.yaml", "targets: []\n")];
    let faults = Folder::of(&empty).called().faults("c.yaml");
    assert_eq!(faults, ["1: targets: at least one target is needed"]);
}

#[test]
fn the_least_that_a_run_takes_does_not_depend_on_the_day() {
    let of_day = |day: &str| {
        let mut folder = Folder::of(FILES);
        folder.variables = [("DAY".to_owned(), day.to_owned())].into();
        folder.contract("lead.yaml", &[])
    };
    assert_eq!(
        of_day("Friday").contract_hash(),
        of_day("Wednesday").contract_hash()
    );
    let scout = &of_day("Friday").agents["agent__web.scout"];
    assert_eq!(scout.least_tokens, estimate_tokens("You look up ${DAY}.\n"));
}

#[test]
fn an_agent_is_known_by_its_whole_text_and_called_by_its_tool_its_id_or_its_file() {
    let check = |name: &str, text: &str, expect: &str| {
        let own = Folder::of(&[(name, text)])
            .called()
            .spec(name, &[])
            .own
            .unwrap();
        assert_eq!(own.name, expect);
        assert_eq!(own.digest, Digest::of(text.as_bytes()));
    };
    check("dir/lead.ai", "---\ntoolName: chief\n---\nx", "chief");
    check("dir/lead.ai", "---\nid: head\n---\nx", "head");
    check("dir/lead.ai", "no front matter", "lead");
    check("dir/My lead.yaml", "system: x", "My lead");
}

#[test]
fn the_top_of_a_tree_is_the_contract_itself() {
    let folder = Folder::of(FILES);
    let delegation = folder
        .contract("lead.yaml", &[])
        .delegation
        .clone()
        .unwrap();
    assert_eq!(
        delegation.chain,
        [folder.spec("lead.yaml", &[]).own.unwrap()]
    );
    assert_eq!(delegation.max_depth, 5);
    assert!(delegation.can_delegate() && delegation.granted.is_empty());
    let flat = folder.contract("lead.yaml", &["max_delegation_depth=0"]);
    assert!(!flat.delegation.as_ref().unwrap().can_delegate());
    assert_eq!(
        contract_warnings(&flat),
        [
            "max_delegation_depth 0 leaves no agent that may be called: every call of one will be refused"
        ]
    );
}

#[test]
fn a_run_of_an_agent_has_at_most_the_time_of_the_contract() {
    let time = |sets: &[&str]| {
        let contract = Folder::of(FILES).contract("lead.yaml", sets);
        let of = |name: &str| contract.agents[name].total_timeout_ms;
        (of("agent__web.scout"), of("agent__judge"))
    };
    assert_eq!(time(&[]), (3_600_000, 60_000));
    assert_eq!(time(&["total_timeout_ms=1000"]), (1000, 1000));
}

#[test]
fn calls_of_agents_wait_in_the_default_queue_where_there_are_queues() {
    let queue = |sets: &[&str]| {
        let contract = Folder::of(FILES).contract("lead.yaml", sets);
        contract.servers["agent"].queue.clone()
    };
    assert_eq!(queue(&[]), None);
    assert_eq!(
        queue(&["queues={slow: {concurrent: 1}}"]).as_deref(),
        Some("default")
    );
}

#[test]
fn an_agent_whose_file_no_one_read_makes_no_contract() {
    let spec = ContractSpec::parse("lead.yaml", LEAD, &[]).unwrap();
    let made = ContractFactory.make(&spec, &CapabilityManifest::default(), None);
    let file = "./scout.ai".to_owned();
    assert_eq!(made.unwrap_err(), FactoryError::AgentUnread { file });
}

#[test]
fn a_recorded_contract_with_agents_is_made_again_from_itself() {
    let check = |contract: &ExecutionContract| {
        let form = AuthorForm::of(contract, "its contract", Some("Plan a day.")).unwrap();
        let same = form.changed(&[], &NoTokenizers).unwrap();
        assert_eq!(same.contract.canonical_text(), contract.canonical_text());
        assert_eq!(same.unknown_servers, [] as [&str; 0]);
        form.changed(&["total_timeout_ms=2000".to_owned()], &NoTokenizers)
            .unwrap()
            .contract
    };
    let folder = Folder::of(FILES);
    let changed = check(&folder.contract("lead.yaml", &["max_delegation_depth=3"]));
    assert_eq!(changed.agents["agent__web.scout"].total_timeout_ms, 2000);
    assert_eq!(changed.agents["agent__judge"].total_timeout_ms, 2000);
    // One that stands below another.
    let mut spec = folder.spec("lead.yaml", &[]);
    let own = spec.own.clone().unwrap();
    spec.delegation = Some(DelegationTerms {
        chain: vec![own.clone(), own],
        granted: vec![vec!["a*".to_owned()]],
        max_depth: 2,
    });
    check(&contract_of(&spec));
    let contract = folder.contract("lead.yaml", &[]);
    let form = AuthorForm::of(&contract, "its contract", None).unwrap();
    let other = form.changed(&["agents=[other.ai]".to_owned()], &NoTokenizers);
    assert_eq!(
        other.unwrap_err().to_string(),
        "agents: the agent other.ai was not read; only a contract that is itself a file can name it"
    );
}

#[test]
fn what_bring_up_found_does_not_say_what_agents_offer() {
    let spec = Folder::of(FILES).spec("lead.yaml", &[]);
    let mut manifest = CapabilityManifest::default();
    let other = ServerCapability {
        available: false,
        kind: ServerKind::Stdio,
        tools: Vec::new(),
    };
    manifest.servers.insert("agent".to_owned(), other);
    let contract = ContractFactory.make(&spec, &manifest, None).unwrap();
    assert_eq!(contract.contract_hash(), contract_of(&spec).contract_hash());
    let recorded = CapabilityManifest::recorded_in(&contract);
    let again = ContractFactory.make(&spec, &recorded, None).unwrap();
    assert_eq!(again.contract_hash(), contract.contract_hash());
}

#[test]
fn terms_of_delegation_that_contradict_each_other_are_found() {
    let check = |change: &dyn Fn(&mut Terms), expect: &[&str]| {
        let mut terms = (*Folder::of(FILES).contract("lead.yaml", &[])).clone();
        change(&mut terms);
        assert_eq!(structure_faults(&terms), expect);
    };
    check(&|_| {}, &[]);
    check(
        &|terms| terms.delegation = None,
        &["agents need delegation, which says where the run stands"],
    );
    check(
        &|terms| terms.delegation.as_mut().unwrap().chain.clear(),
        &["the chain of delegation is empty: the run itself is its last link"],
    );
    check(
        &|terms| drop(terms.servers.remove("agent")),
        &[
            "agents are the tools of the server `agent`, and it is there exactly where there are agents",
        ],
    );
    check(
        &|terms| drop(terms.agents.remove("agent__judge")),
        &["`agent__judge` is not both an agent and a tool of the server `agent`"],
    );
    check(
        &|terms| {
            terms
                .agents
                .get_mut("agent__judge")
                .unwrap()
                .total_timeout_ms = 4_000_000;
        },
        &["a run of `agent__judge` has 4000000 ms, and this one has 3600000"],
    );
    check(
        &|terms| {
            terms.agents.get_mut("agent__judge").unwrap().grant = Some(vec![String::new()]);
        },
        &["a pattern of the tools of `agent__judge` is empty"],
    );
    check(
        &|terms| {
            let delegation = terms.delegation.as_mut().unwrap();
            delegation.max_depth = 0;
            delegation.chain.push(delegation.chain[0].clone());
        },
        &["the run stands 1 below the first one, and max_delegation_depth is 0"],
    );
}

#[test]
fn a_tool_needs_one_pattern_of_each_list_that_was_granted() {
    let check = |granted: &[&[&str]], expect: &[&str]| {
        let mut terms =
            (*Folder::of(FILES).contract("lead.yaml", &["progress_report=true"])).clone();
        let granted = granted
            .iter()
            .map(|list| list.iter().map(|p| (*p).to_owned()).collect());
        terms.delegation.as_mut().unwrap().granted = granted.collect();
        assert_eq!(ungranted(&terms), expect);
    };
    check(&[], &[]);
    check(&[&["*"]], &[]);
    check(&[&["agent__judge", "agent__web*"]], &[]);
    check(&[&["fs__*"]], &["agent__judge", "agent__web.scout"]);
    check(&[&["*"], &["agent__j*"]], &["agent__web.scout"]);
    check(&[&[]], &["agent__judge", "agent__web.scout"]);
    let mut terms = (*Folder::of(FILES).contract("lead.yaml", &["allowed_tools=[]"])).clone();
    terms.delegation.as_mut().unwrap().granted = vec![Vec::new()];
    assert_eq!(ungranted(&terms), [] as [&str; 0]);
}
