//! Tests of the knobs of front matter: what each of them is in a contract, their defaults and their ranges (001 §2, §8, §13).

use serde_json::{Value, json};

use super::tests::{Layer, parse_beside, parse_under, refused};
use super::{KNOBS, place_in, with_includes};
use crate::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, Definition, DefinitionKind, Definitions,
    ExecutionContract, ReportFormat, TargetCapability,
};

/// The contract of an agent that has these lines of front matter, under these changes.
fn contract(front: &str, sets: &[&str]) -> ExecutionContract {
    made(&spec(front, sets))
}

fn made(spec: &ContractSpec) -> ExecutionContract {
    let found = CapabilityManifest {
        targets: vec![TargetCapability::default()],
        ..CapabilityManifest::default()
    };
    ContractFactory.make(spec, &found, None).unwrap()
}

fn spec(front: &str, sets: &[&str]) -> ContractSpec {
    let text = format!("---\nmodels: [openai/gpt-4o-mini]\n{front}\n---\nHi");
    let spec = parse_under(&text, sets, ReportFormat::Markdown);
    spec.unwrap_or_else(|errors| panic!("{errors}"))
}

/// Providers without defaults.
struct Undefaulted;

impl Definitions for Undefaulted {
    fn find(&self, kind: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        Layer.find(kind, name)
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        Ok(None)
    }
}

/// 001 §2, §13: the tables of defaults.
/// 001/2.knobs.1, 001/8.overrides.4, 001/13.appendices.1
/// 001/2.file.8
#[test]
fn an_agent_that_says_nothing_has_the_documented_defaults() {
    let text = "---\nmodels: [openai/gpt-4o-mini]\n---\nHi";
    let terms = (&[][..], ReportFormat::Markdown);
    let contract = made(&parse_beside(text, terms, &Undefaulted).unwrap());
    let sampling = &contract.targets[0].sampling;
    let defaults = json!({
        "maxToolTurns": contract.max_turns,
        "maxToolCallsPerTurn": contract.max_tool_calls_per_turn,
        "maxRetries": contract.max_attempts_per_turn,
        "llmTimeout": contract.llm_timeout_ms,
        "toolTimeout": contract.tool_timeout_ms,
        "toolResponseMaxBytes": contract.tool_output_budget.max_bytes_per_call,
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "maxOutputTokens": sampling.max_output_tokens,
        "repeatPenalty": sampling.repeat_penalty,
        "stream": sampling.stream,
        "reasoning": sampling.reasoning,
        "reasoningTokens": sampling.reasoning_tokens,
        "caching": sampling.caching,
    });
    let documented = json!({
        "maxToolTurns": 10,
        "maxToolCallsPerTurn": 10,
        "maxRetries": 3,
        "llmTimeout": 600_000,
        "toolTimeout": 300_000,
        "toolResponseMaxBytes": 12_288,
        "temperature": 0.7,
        "topP": 1.0,
        "maxOutputTokens": 4096,
        "repeatPenalty": 1.1,
        "stream": false,
        "reasoning": null,
        "reasoningTokens": null,
        "caching": "full",
    });
    assert_eq!(defaults, documented);
}

/// Requests carry the defaults of 001, which may be left out again, and the author's parameters, which may not. No request carries
/// a default that its model refuses.
#[test]
fn an_agent_sends_the_defaults_that_its_model_takes_and_says_that_they_are_defaults() {
    let of = |model: &str, front: &str| {
        let text = format!("---\nmodels: [openai/{model}]\n{front}\n---\nHi");
        let contract = made(&parse_under(&text, &[], ReportFormat::Markdown).unwrap());
        contract.targets[0].sampling.clone()
    };
    let all = of("gpt-4o-mini", "");
    let names = [
        "max_output_tokens",
        "repeat_penalty",
        "temperature",
        "top_p",
    ];
    assert_eq!(all.defaulted, names);
    assert_eq!((all.sent_limit(), all.seed), (Some(4096), None));
    let some = of("gpt-4o-mini", "temperature: 0.7\ntopP: off");
    assert_eq!(some.defaulted, ["max_output_tokens", "repeat_penalty"]);
    assert_eq!((some.temperature, some.top_p), (Some(0.7), None));
    let reasons = of("gpt-5", "");
    assert_eq!((reasons.temperature, reasons.top_p), (None, None));
    assert_eq!(of("gpt-5", "temperature: 1").temperature, Some(1.0));
}

/// 001 §2, §8: each knob of front matter changes the contract, and an option comes before it.
/// 001/2.knobs.2, 001/8.overrides.1
#[test]
fn each_knob_is_a_value_of_the_contract_and_an_option_comes_before_it() {
    for &(knob, path) in KNOBS.iter() {
        let (value, other) = match knob {
            "caching" => ("none", "full"),
            "parallelToolCalls" | "stream" => ("true", "false"),
            "reasoning" => ("low", "high"),
            "temperature" | "topP" | "repeatPenalty" => ("0.5", "0.25"),
            _ => ("77", "55"),
        };
        let written = contract(&format!("{knob}: {value}"), &[]);
        let set = |value: &str| contract("", &[&format!("{path}={value}")]);
        assert_eq!(
            written.contract_hash(),
            set(value).contract_hash(),
            "{knob}"
        );
        // How deep runs may stand below each other means nothing to one that has no agents.
        if knob == "maxDepth" {
            continue;
        }
        assert_ne!(
            written.contract_hash(),
            set(other).contract_hash(),
            "{knob}"
        );
        let over = contract(&format!("{knob}: {value}"), &[&format!("{path}={other}")]);
        assert_eq!(over.contract_hash(), set(other).contract_hash(), "{knob}");
        let over = contract(
            &format!("{knob}: {value}"),
            &[&format!("agent.{knob}={other}")],
        );
        assert_eq!(over.contract_hash(), set(other).contract_hash(), "{knob}");
    }
}

/// 001 §2: what is out of its range is taken at its limit, and that is said by the name that the agent has for it; a count that is none is
/// refused.
/// 001/2.knobs.3, 001/2.knobs.4
#[test]
fn a_number_out_of_its_range_is_clamped_with_a_note_and_a_count_is_refused() {
    let check = |front: &str, expect: Value, note: &str| {
        let spec = spec(front, &[]);
        let said = spec.clamped.join("\n");
        assert_eq!(said, note, "{front}");
        let contract = contract(front, &[]);
        let sampling = &contract.targets[0].sampling;
        let taken = json!([
            sampling.temperature,
            sampling.top_p,
            sampling.repeat_penalty
        ]);
        assert_eq!(taken, expect, "{front}");
    };
    check("temperature: 2", json!([2.0, 1.0, 1.1]), "");
    let limit = "the nearest that is allowed";
    check(
        "temperature: 2.5",
        json!([2.0, 1.0, 1.1]),
        &format!("temperature is 2.5, and 2 is taken, {limit}"),
    );
    check(
        "temperature: -1\ntopP: 7\nrepeatPenalty: -0.5",
        json!([0.0, 1.0, 0.0]),
        &format!(
            "temperature is -1, and 0 is taken, {limit}\ntopP is 7, and 1 is taken, {limit}\n\
             repeatPenalty is -0.5, and 0 is taken, {limit}"
        ),
    );
    for count in [
        "maxToolTurns",
        "maxRetries",
        "llmTimeout",
        "maxOutputTokens",
    ] {
        let said = refused(&format!("---\nmodels: [openai/m]\n{count}: -1\n---\nHi"));
        assert!(said.contains(&format!(": {count}: ")), "{said}");
    }
}

/// 001 §2: the words that switch a knob off.
/// 001/2.knobs.5
#[test]
fn a_knob_is_switched_off_by_a_word() {
    let off = contract(
        "temperature: off\ntopP: none\nreasoningTokens: disabled",
        &[],
    );
    let sampling = &off.targets[0].sampling;
    assert_eq!((sampling.temperature, sampling.top_p), (None, None));
    assert_eq!(sampling.reasoning_tokens, Some(0));
    let zero = contract("reasoningTokens: 0\nmaxOutputTokens: unset", &[]);
    let sampling = &zero.targets[0].sampling;
    assert_eq!(sampling.reasoning_tokens, Some(0));
    assert!(sampling.max_output_tokens_unsent);
    let none = contract("maxOutputTokens: undefined", &[]);
    let asked = contract("", &["sampling.max_output_tokens=undefined"]);
    for sampling in [&none.targets[0].sampling, &asked.targets[0].sampling] {
        assert!(sampling.max_output_tokens_unsent);
    }
    let said = refused("---\nmodels: [openai/m]\ntemperature: undefined\n---\nHi");
    let words = [
        ": temperature: ",
        "switches it off: ",
        "unset",
        "off",
        "none",
    ];
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

/// ai-agent's other ways to name a REST tool and a service, and its key for what a tool returns.
/// 001/2.file.6, 001/2.file.13
#[test]
fn a_rest_tool_is_taken_by_its_bare_name_and_a_service_as_a_whole() {
    let tools = "tools: [list, 'openapi:shop', rest__shop_get, rest__shop_a_get, files]";
    let agent = spec(&format!("{tools}\ntoolOutput: {{maxChunks: 3}}"), &[]);
    let servers = agent.tools.servers.iter();
    let taken = servers.map(|(name, server)| (server.place(name), server.tools.allowed.is_some()));
    let expect = [
        ("tools.mcp.files", false),
        ("tools.rest.list", false),
        ("tools.openapi.shop", false),
        ("tools.openapi.shop_a", true),
    ];
    let expect = expect.map(|(place, is_narrowed)| (place.to_owned(), is_narrowed));
    assert_eq!(taken.collect::<Vec<_>>(), expect);
    let note =
        "toolOutput is ignored: `toolResponseMaxBytes` limits what a model is shown of an output";
    assert_eq!(agent.clamped, [note]);
    let said = refused("---\nmodels: [openai/m]\ntools: [none, 'openapi:none']\n---\nHi");
    for kind in ["tool server", "web service"] {
        assert!(
            said.contains(&format!("no {kind} `none` is configured")),
            "{said}"
        );
    }
}

/// 001 §3: front matter is read after its includes, and a fault names the file that it stands in.
/// 001/3.prompt.5
/// 001/1.prompt.1
#[test]
fn what_an_include_brings_is_front_matter_and_prompt_with_its_own_lines() {
    let files = super::tests::Files(
        [
            (
                "a.ai",
                "---\n${include:k.yaml}\n---\nHi ${include:p.md} there.\n",
            ),
            ("k.yaml", "models: [openai/gpt-4o-mini]\nmaxRetries: 2"),
            ("p.md", "one\ntwo"),
        ]
        .into(),
    );
    let whole = with_includes(std::path::Path::new("a.ai"), files.0["a.ai"], &files).unwrap();
    let place = |word: &str| {
        let offset = whole.text.find(word).unwrap();
        let (file, line, column) = place_in(&whole.parts, &whole.text, offset).unwrap();
        let file = file.map(|file| file.display().to_string());
        (file.unwrap_or_default(), line, column)
    };
    assert_eq!(place("models"), ("k.yaml".to_owned(), 1, 1));
    assert_eq!(place("2"), ("k.yaml".to_owned(), 2, 13));
    assert_eq!(place("Hi"), (String::new(), 4, 1));
    assert_eq!(place("one"), ("p.md".to_owned(), 1, 1));
    assert_eq!(place("two"), ("p.md".to_owned(), 2, 1));
    assert_eq!(place("there"), (String::new(), 4, 20));
    let spec = parse_under(&whole.text, &[], ReportFormat::Markdown).unwrap();
    assert_eq!(spec.max_attempts_per_turn, Some(2));
    assert_eq!(spec.system.as_deref(), Some("Hi one\ntwo there."));
}
