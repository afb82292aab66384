//! Tests of the factory: refusals, hashes and pins.

use serde_json::{Value, json};

use super::{make, manifest, profile_faults, spec, structure_faults, tool, tool_faults};
use crate::contract::spec::tests::DEMO;
use crate::contract::*;
use crate::message::Digest;

fn refused(sets: &[&str]) -> String {
    let made = ContractFactory.make(&spec(sets), &manifest(), None);
    made.map(|c| c.canonical_text()).unwrap_err().to_string()
}

const WEB: &str =
    "tools.mcp.web={url: 'https://example.org/mcp', headers: {Authorization: secret}}";

/// Shows 002/4.identity.1.
#[test]
fn the_documented_file_gives_this_contract() {
    let contract = make(&[]);
    let value: Value = serde_json::from_str(&contract.canonical_text()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(structure_faults(&contract), [""; 0]);
    assert_eq!(profile_faults(&contract), [""; 0]);
    assert_eq!(tool_faults(&contract), []);
    assert_eq!(context_feasible(&contract), Ok(()));
}

/// Shows 002/6.factory.1.
#[test]
fn the_same_inputs_give_the_same_bytes_however_they_are_written() {
    let expect = make(&[]).canonical_text();
    assert_eq!(make(&[]).canonical_text(), expect);
    // The order of keys in the file, in schemas, of tools and of servers the file does not name means nothing.
    let mut shuffled = manifest();
    shuffled.servers.remove("web");
    for server in shuffled.servers.values_mut() {
        server.tools.reverse();
        for tool in &mut server.tools {
            tool.input_schema = serde_json::from_str(
                r#"{"additionalProperties": false, "properties": {"limit": {"maximum": 1500,
                    "type": "integer"}, "path": {"type": "string"}}, "required": ["path"], "type": "object"}"#,
            )
            .unwrap();
        }
    }
    let lines: Vec<&str> = DEMO
        .lines()
        .filter(|line| !line.starts_with(['#', ' ']))
        .collect();
    let (scalars, mappings): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| !line.ends_with(':'));
    assert_eq!(mappings, ["providers:", "tools:"]);
    let text = format!(
        "tools: {{workspace: ., builtin: [list_directory, read_file]}}\n\
         providers: {{demo: {{file: demo.jsonl, type: scripted}}}}\n{}",
        scalars.into_iter().rev().collect::<Vec<_>>().join("\n")
    );
    let spec = ContractSpec::parse("other.yaml", &text, &[]).unwrap();
    let made = ContractFactory.make(&spec, &shuffled, None).unwrap();
    assert_eq!(made.canonical_text(), expect);
}

#[test]
fn a_contract_reads_back_from_its_text_bit_for_bit() {
    for sets in [
        [].as_slice(),
        &[
            WEB,
            "max_cost_micro_usd=9007199254740991",
            "sampling.seed=9007199254740991",
        ],
        &[
            "context_budget.force_synthesis_at_ratio=0.30000000000000004",
            "sampling.temperature=off",
        ],
        &["logits_mask=[-1e9, 0.1, 1.7976931348623157e308, 5e-324, 2.2250738585072011e-308]"],
        &[
            "system=\"\\u0000 \\u2028 😀 </script> \\\\ \\\"\"",
            "max_calls={run: 3, per_tool: {echo: 1}}",
        ],
        &[
            "cycle_forbid=[[read_file, read_file]]",
            "allowed_tools=null",
        ],
    ] {
        let contract = make(sets);
        let text = contract.canonical_text();
        let back = ExecutionContract::decode(&text).unwrap();
        assert_eq!(back, contract);
        assert_eq!(back.canonical_text(), text);
        assert_eq!(back.rehash(), contract.contract_hash());
        // Not only equal: the order in which a schema reaches a provider is the same too.
        assert_eq!(
            serde_json::to_string(&*back).unwrap(),
            serde_json::to_string(&*contract).unwrap()
        );
    }
}

/// Shows 002/6.contract.1.
#[test]
fn a_changed_text_is_noticed_and_a_shapeless_one_refused() {
    let text = make(&[]).canonical_text();
    let changed = text.replace("\"max_turns\":6", "\"max_turns\":7");
    let changed = ExecutionContract::decode(&changed).unwrap();
    assert_ne!(changed.rehash(), changed.contract_hash());
    for bad in [
        text.replace("\"max_turns\":6", "\"max_turnz\":6"),
        text.replace("\"max_turns\":6,", ""),
        text.replace("\"contract_id\":", "\"contract_no\":"),
        text.replace("\"contract_hash\":\"", "\"contract_hash\":\"x"),
        "[]".to_owned(),
    ] {
        assert!(ExecutionContract::decode(&bad).is_err(), "{bad}");
    }
}

/// Every key that reaches the contract, each with a value other than the demo's.
const CHANGES: &[&str] = &[
    "targets.0.text_profile=hermes",
    "targets.0.text_profile=qwen",
    "allowed_tools=null",
    "allowed_tools=[read_file]",
    "approval_timeout_ms=1",
    "checkpoint_every=1",
    "completion=final_report",
    "context_budget.buffer=1",
    "context_budget.context_window=4096",
    "context_budget.force_synthesis_at_ratio=0.5",
    "context_budget.minimum_loop_margin=1",
    "context_budget.reserved_synthesis=1",
    "context_budget.reserved_system=1",
    "cycle_forbid=[[echo, echo]]",
    "grammar=x",
    "grammar_profile=x",
    "idempotent=[read_file]",
    "llm_timeout_ms=1",
    "logits_mask=[0.5]",
    "max_attempts_per_turn=1",
    "max_calls.per_tool.read_file=1",
    "max_calls.run=1",
    "max_cost_micro_usd=1",
    "max_format_retries=0",
    "max_identical_calls=1",
    "max_inferences=7",
    "max_invalid_turns=1",
    "max_resumes=1",
    "max_tokens_consumed=1",
    "max_tool_calls_per_turn=1",
    "max_turns=7",
    "metadata.cycle_exceptions=[{from: a, to: b, max: 1}]",
    "model_profile_id=unknown",
    "page=null",
    "prices={version: a, models: {demo: {script: {input: 1, output: 1}}}}",
    "parallel_safe=[read_file]",
    "parallel_tool_calls=true",
    "providers.demo.file=other.jsonl",
    "providers.other={type: openai}",
    "providers.other={type: openrouter}",
    "providers.other={type: openai, api_key_env: A}",
    "providers.other={type: openai, base_url: 'http://127.0.0.1/v1'}",
    "providers.other={type: openai, headers: {a: b}}",
    "queues={slow: {concurrent: 1}}",
    "queues={slow: {concurrent: 2}}",
    "tools.mcp.fs={command: x, queue: default}",
    "require_approval=[read_file]",
    "sampling.caching=none",
    "sampling.max_output_tokens=1",
    "sampling.reasoning=low",
    "sampling.reasoning_tokens=1",
    "sampling.repeat_penalty=1.2",
    "sampling.max_output_tokens=4096",
    "sampling.seed=8",
    "sampling.seed=off",
    "sampling.stop=[END]",
    "providers.demo.overrides={temperature: 0.9}",
    "providers.demo.models={script: {overrides: {temperature: 0.8}}}",
    "providers.demo.models={script: {context_window: 5}}",
    "providers.demo.provider_options={a: 1}",
    "providers.demo.provider_options={a: 1.0}",
    "sampling.stream=true",
    "sampling.temperature=0.1",
    "sampling.top_p=0.1",
    "speculative_exec=true",
    "step_timeout_ms=1",
    "strict_mode=false",
    "system=other",
    "targets.0.context_window=1",
    "targets.0.model=other",
    "targets.0.model_profile_id=smollm2-135m",
    "targets.0.sampling.temperature=1",
    "token_gate=false",
    "tokenizer=x",
    "tool_output_budget.max_bytes_per_call=1",
    "tool_output_budget.summarizer_model=demo/x",
    "tool_output_budget.truncation_marker=x",
    "tool_proof=succeeded",
    "tool_timeout_ms=1",
    "tool_transport=xml",
    "tools.builtin=[read_file]",
    "tools.mcp.fs={command: x}",
    "tools.mcp.fs={command: y}",
    "tools.mcp.fs={command: x, args: [a]}",
    "tools.mcp.fs={command: x, env: {A: b}}",
    "tools.mcp.fs={url: 'http://127.0.0.1'}",
    "tools.mcp.fs={url: 'http://127.0.0.1', headers: {A: b}}",
    "tools.mcp.fs={command: x, pin: '0000000000000000000000000000000000000000000000000000000000000000'}",
    WEB,
    "total_timeout_ms=1",
];

/// Shows 002/4.identity.2.
#[test]
fn every_single_change_of_the_file_changes_the_hash() {
    let mut seen = vec![(make(&[]), "the demo")];
    for change in CHANGES {
        let contract = make(&[change]);
        for (other, name) in &seen {
            assert_ne!(
                contract.contract_hash(),
                other.contract_hash(),
                "{change} / {name}"
            );
            assert_ne!(
                contract.contract_id(),
                other.contract_id(),
                "{change} / {name}"
            );
        }
        seen.push((contract, change));
    }
    // Each field of the terms is changed by one of them, except derived and constant ones.
    let fields = |contract: &ExecutionContract| match serde_json::to_value(&**contract) {
        Ok(Value::Object(map)) => map,
        other => panic!("{other:?}"),
    };
    let demo = fields(&make(&[]));
    let unchanged: Vec<&String> = demo
        .keys()
        .filter(|key| {
            seen.iter()
                .all(|(contract, _)| fields(contract)[*key] == demo[*key])
        })
        .collect();
    let derived = ["format", "parent_contract_hash", "semantics_version"];
    // The policy follows the page; tested with the resolver.
    assert_eq!(unchanged, [derived.as_slice(), &["tool_policy"]].concat());
}

#[test]
fn what_is_no_term_changes_no_hash() {
    let expect = make(&[WEB]).contract_hash();
    for sets in [
        [WEB, "tools.workspace=/elsewhere"],
        [WEB, "tools.mcp.web.headers.Authorization=another secret"],
        [WEB, "task=Who wrote this repository?"],
        [
            WEB,
            "task=Which licence do the files of this workspace use?",
        ],
    ] {
        assert_eq!(make(&sets).contract_hash(), expect, "{sets:?}");
    }
    assert!(!make(&[WEB]).canonical_text().contains("secret"));
}

/// Shows 002/6.factory.2.
#[test]
fn every_change_of_what_bring_up_found_changes_the_hash() {
    let demo = spec(&[WEB]);
    let hash_of = |change: &dyn Fn(&mut CapabilityManifest)| {
        let mut found = manifest();
        change(&mut found);
        ContractFactory
            .make(&demo, &found, None)
            .unwrap()
            .contract_hash()
    };
    let with_tool = |change: &dyn Fn(&mut ToolCapability)| {
        hash_of(&|found| {
            let web = found.servers.get_mut("web").unwrap();
            change(&mut web.tools[0]);
        })
    };
    let parent = ContractFactory
        .make(&demo, &manifest(), Some(Digest::ZERO))
        .unwrap();
    let mut hashes = vec![
        hash_of(&|_| {}),
        parent.contract_hash(),
        hash_of(&|found| found.servers.get_mut("web").unwrap().available = false),
        hash_of(&|found| found.servers.get_mut("web").unwrap().tools.clear()),
        hash_of(&|found| found.servers.get_mut("builtin").unwrap().available = false),
        hash_of(&|found| found.targets[0].context_window = Some(1)),
        hash_of(&|found| found.targets[0].fingerprint = Some("f".to_owned())),
        with_tool(&|tool| tool.annotations = json!({"readOnlyHint": true})),
        with_tool(&|tool| tool.description.push('.')),
        with_tool(&|tool| tool.input_schema = json!({"type": "object", "title": "t"})),
        with_tool(&|tool| tool.name.push('2')),
        with_tool(&|tool| tool.schema_tokens += 1),
    ];
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn mcp_tools_carry_their_servers_name_and_all_are_sorted() {
    let contract = make(&[WEB, "allowed_tools=null"]);
    let names: Vec<&str> = contract
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["list_directory", "read_file", "web__search"]);
    let tool = contract.tool("web__search").unwrap();
    assert_eq!(tool.origin, "mcp:web");
    let found = &manifest().servers["web"];
    assert_eq!(tool.pin, ToolPin::of("mcp:web", &found.tools[0]).0);
    assert_eq!(contract.servers["web"].pin, Some(found.pin("mcp:web")));
    assert_eq!(contract.servers["web"].header_names, ["Authorization"]);
}

/// Shows 002/6.factory.3.
#[test]
fn defaults_are_those_of_the_semantics() {
    let check = |sets: &[&str], pointer: &str, expect: Value| {
        let value = serde_json::to_value(&*make(sets)).unwrap();
        assert_eq!(value.pointer(pointer), Some(&expect), "{sets:?} {pointer}");
    };
    check(&[], "/max_inferences", json!(6 * 3 + 1 + 3));
    check(
        &["max_format_retries=0", "max_attempts_per_turn=2"],
        "/max_inferences",
        json!(12 + 3),
    );
    check(&[], "/token_gate", json!(true));
    check(&["strict_mode=false"], "/token_gate", json!(false));
    check(
        &["tool_policy=optional", "page=null"],
        "/token_gate",
        json!(false),
    );
    check(&[], "/context_budget/context_window", json!(32_768));
    check(&[], "/context_budget/reserved_synthesis", json!(4096));
    let bigger = "targets.0.sampling.max_output_tokens=5000";
    check(&[bigger], "/context_budget/reserved_synthesis", json!(5000));
    check(
        &["context_budget.context_window=100"],
        "/targets/0/context_window",
        json!(100),
    );
    let openai = [
        "targets=[{provider: o, model: gpt-4o}]",
        "providers.o={type: openai}",
    ];
    check(&openai, "/targets/0/context_window", json!(128_000));
    check(
        &openai,
        "/targets/0/model_fingerprint",
        json!("openai:gpt-4o"),
    );
    check(
        &openai,
        "/providers/o/base_url",
        json!("https://api.openai.com/v1"),
    );
    check(&openai, "/providers/o/api_key_env", json!("OPENAI_API_KEY"));
    let two = [
        "targets=[{provider: o, model: mine, context_window: 8192, sampling: {max_output_tokens: 1000}}, {provider: o, model: gpt-4o}]",
        "providers.o={type: openai}",
    ];
    check(&two, "/context_budget/context_window", json!(128_000));
    check(&two, "/context_budget/reserved_synthesis", json!(1000));
    let unknown = [
        "targets=[{provider: o, model: mine}]",
        "providers.o={type: openai}",
    ];
    check(&unknown, "/context_budget/context_window", json!(0));
    check(&unknown, "/model_profile_id", json!("unknown"));
}

#[test]
fn no_derived_count_outgrows_what_a_json_number_holds() {
    let most = u32::MAX;
    let sets = [
        format!("max_turns={most}"),
        format!("max_attempts_per_turn={most}"),
    ];
    let mut found = manifest();
    found.targets[0].context_window = Some(u64::MAX);
    for server in found.servers.values_mut() {
        server
            .tools
            .iter_mut()
            .for_each(|tool| tool.schema_tokens = u64::MAX);
    }
    let spec = spec(&[&sets[0], &sets[1]]);
    let contract = ContractFactory.make(&spec, &found, None).unwrap();
    let largest = (1 << 53) - 1;
    assert_eq!(contract.max_inferences, largest);
    assert_eq!(contract.targets[0].context_window, largest);
    assert_eq!(contract.tools[0].schema_tokens, largest);
    assert_eq!(
        ExecutionContract::decode(&contract.canonical_text()).unwrap(),
        contract
    );
}

#[test]
fn the_definitions_of_all_tools_are_bounded_together() {
    let offered = |tools: usize| {
        let mut found = manifest();
        let mut described = tool("t", json!({"type": "object"}));
        described.description = "x".repeat(250_000);
        let named = |n| ToolCapability {
            name: format!("t{n}"),
            ..described.clone()
        };
        found.servers.get_mut("web").unwrap().tools = (0..tools).map(named).collect();
        let spec = spec(&["tools.mcp.web={url: 'https://example.org'}"]);
        ContractFactory.make(&spec, &found, None)
    };
    assert!(offered(16).is_ok());
    let fault = offered(17).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the definitions of all tools up to `web__t16` are longer than 4194304 bytes; \
         name fewer tool servers"
    );
}

#[test]
fn what_cannot_be_a_contract_is_refused_by_name() {
    let mut out: Vec<String> = Vec::new();
    for sets in [
        ["adapter_version=openai-chat/2"].as_slice(),
        &["model_profile_id=gpt"],
        &["tool_policy=optional"],
        &["task=What is a monad?"],
        &["page=chat"],
    ] {
        out.push(format!("{}\n  {}", sets.join(" "), refused(sets)));
    }
    let mut found = manifest();
    let web = found.servers.get_mut("web").unwrap();
    web.tools.push(tool("all*", json!({})));
    let error = ContractFactory
        .make(&spec(&[WEB]), &found, None)
        .unwrap_err();
    out.push(error.to_string());
    let web = found.servers.get_mut("web").unwrap();
    web.tools[1].name = "search".to_owned();
    let error = ContractFactory
        .make(&spec(&[WEB]), &found, None)
        .unwrap_err();
    out.push(error.to_string());
    insta::assert_snapshot!(out.join("\n"));
}
