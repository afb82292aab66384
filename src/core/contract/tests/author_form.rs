//! A contract that is made again from itself: what the cases of the corpus do not have.

use proptest::prelude::*;

use crate::contract::{
    AuthorForm, CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract,
    TargetCapability, TargetTerms, Terms,
};
use crate::message::NoTokenizers;

/// Every value that a file and a contract write in different forms.
const RICH: &str = r#"
task: Which licence?
targets:
- {provider: hosted, model: one, sampling: {temperature: 0.25, reasoning: low}, model_profile_id: hermes}
- {provider: hosted, model: two, context_window: 9000, sampling: {reasoning: high, stop: [END, "\u0000"]}}
- {provider: near, model: three, sampling: {max_output_tokens: off, seed: 9007199254740991}, text_profile: qwen}
providers:
  hosted:
    type: openrouter
    api_key_env: OTHER_KEY
    base_url: "https://example.org/v1?key=s3cret&plain"
    headers: {X-Team: "Bearer ${A}-${B}", X-Plain: plain}
    provider_options: {zeta: 1.50, alpha: {b: 1e3, a: [null, true, "x"]}}
    reasoning: [null, brief, 2048, "9"]
    models: {two: {reasoning: much}}
  near: {type: ollama, overrides: {top_p: off, repeat_penalty: 1.5}, tools_allowed: [files__read, any], tools_denied: [drop]}
sampling: {caching: none, top_p: 0.5}
tool_output_budget: {summarizer_model: near/small, max_bytes_per_call: 99}
context_budget: {force_synthesis_at_ratio: 0.125, reserved_synthesis: 7}
prices: {version: a, models: {hosted: {one: {unit: per_1k, input: 0.000000001, output: 12.5, cache_read: 3}}}}
tools:
  mcp:
    files: {command: run, args: [-x, 7, "${KEY}", "${x}"], arg_variables: [KEY], env: {TOKEN: "${TOKEN}", MODE: fast}, queue: slow}
    web: {url: "https://example.org/mcp?token=s3cret", headers: {authorization: "Bearer ${WEB}"}, shared: false}
    locked: {url: "https://example.org/x", oauth: {client_id: me, client_secret_env: S, grant: client_credentials, issuer: "https://login/", scopes: [r]}}
  openapi:
    shop:
      spec: shop.yaml
      base_url: https://h.example/v1
      headers: {Authorization: "Bearer ${TOKEN}"}
      include_methods: [GET, POST]
      tags: [catalog]
      tools_allowed: [getItem]
      tools_denied: [drop]
      max_bytes: 1000
  rest:
    list: {description: Lists., method: POST, url: "https://example.org/${parameters.id}?key=s3cret&q=${parameters.q}", headers: {X-Key: "${WEB}"}, parameters_schema: {type: object, properties: {id: {}, q: {}}}, body_template: {a: ["${parameters.q}", 1]}, streaming: {line_prefix: "data: "}, loopback: true, max_bytes: 7, max_redirects: 0, queue: slow}
queues: {slow: {concurrent: 2}}
max_calls: {run: 9, per_tool: {files__read: 2}}
max_cost_micro_usd: 9007199254740991
cycle_forbid: [[a, b]]
metadata: {cycle_exceptions: [{from: a, to: b, max: 2}]}
model_profiles: [{id: our, match: [{providers: [openrouter], models: ["t*"]}], context_window: 16384, strict_mode: false}]
redact: {env: [PASSWORD], patterns: ["a+"]}
grammar: "start: \"x\""
grammar_profile: lark/1
logits_mask: [0, -1e9, 0.1]
completion: final_report
final_report: {format: json, schema: {type: object, properties: {b: {type: integer}, a: {type: string}}}}
system: "Be brief.\n\tÄ \u007f \u0085 \u2028 \ufeff 😀 # no: comment"
page: code
batch: true
progress_report: true
tokenizer: null
"#;

fn made(text: &str, targets: Vec<TargetCapability>) -> ExecutionContract {
    let spec = ContractSpec::parse("c.yaml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let manifest = CapabilityManifest {
        targets,
        ..CapabilityManifest::default()
    };
    ContractFactory.make(&spec, &manifest, None).unwrap()
}

fn again(contract: &ExecutionContract, task: &str, sets: &[&str]) -> ExecutionContract {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let form = AuthorForm::of(contract, "its contract", Some(task)).unwrap();
    form.changed(&sets, &NoTokenizers).unwrap().contract
}

#[test]
fn a_contract_in_which_everything_is_stated_is_made_again_from_itself() {
    let found = TargetCapability {
        context_window: Some(7000),
        ..TargetCapability::default()
    };
    let contract = made(RICH, vec![found]);
    let again = again(&contract, "Which licence?", &[]);
    assert_eq!(again.canonical_text(), contract.canonical_text());
}

#[test]
fn what_follows_from_a_key_follows_its_change() {
    let text = "targets: [{provider: p, model: our-8b, context_window: 8000}]\nproviders: {p: {type: openai}}\n";
    let contract = made(text, Vec::new());
    let sets = ["max_turns=4", "sampling.max_output_tokens=100"];
    let changed = again(&contract, "Hm.", &sets);
    assert_eq!(
        changed.max_inferences,
        4 * 3 + u64::from(contract.max_format_retries) + 3
    );
    assert_eq!(changed.context_budget.reserved_synthesis, 100);
    // What was found of a model is not found of another one.
    let other = again(&contract, "Hm.", &["targets.0.model=gpt-4o"]);
    assert_eq!(other.targets[0].model_fingerprint, "openai:gpt-4o");
    assert_eq!(other.targets[0].context_window, 128_000);
}

/// The defaults of an agent file are not stated, and facts are those of the catalogue then.
#[test]
fn defaults_and_facts_of_a_recorded_contract_stay_what_they_are() {
    let text = "targets: [{provider: p, model: gpt-4o, sampling: {top_p: 1}}, {provider: q, model: claude-opus-4-7}]\n\
                providers: {p: {type: openai}, q: {type: anthropic}}\n";
    for sends_defaults in [false, true] {
        let spec = ContractSpec {
            sends_defaults,
            ..ContractSpec::parse("c.yaml", text, &[]).unwrap()
        };
        let contract = ContractFactory
            .make(&spec, &CapabilityManifest::default(), None)
            .unwrap();
        let defaulted = &contract.targets[0].sampling.defaulted;
        let expected: &[&str] = if sends_defaults {
            &["max_output_tokens", "repeat_penalty", "temperature"]
        } else {
            &[]
        };
        assert_eq!(defaulted, expected);
        assert_eq!(
            again(&contract, "Hm.", &[]).canonical_text(),
            contract.canonical_text()
        );
        // As an older catalogue had it.
        let mut terms = Terms::clone(&contract);
        let older = |target: &mut TargetTerms| {
            target.context_window = 77_777;
            let facts = target.facts.as_mut().unwrap();
            facts.catalogue = "older".to_owned();
            facts.max_output_tokens = Some(5000);
        };
        terms.targets.iter_mut().for_each(older);
        terms.context_budget.context_window = 77_777;
        let older = ExecutionContract::seal(terms);
        assert_eq!(
            again(&older, "Hm.", &[]).canonical_text(),
            older.canonical_text()
        );
        let other = again(&older, "Hm.", &["targets.0.model=gpt-5"]);
        assert_ne!(other.targets[0].facts.as_ref().unwrap().catalogue, "older");
        assert_eq!(other.targets[1], older.targets[1]);
    }
}

proptest! {
    #[test]
    fn any_text_of_a_contract_is_read_as_it_is_recorded(system in any::<String>()) {
        let spec = ContractSpec {
            system: Some(system),
            ..ContractSpec::parse(
                "c.yaml",
                "targets: [{provider: p, model: m}]\nproviders: {p: {type: openai}}\n",
                &[],
            ).unwrap()
        };
        let contract = ContractFactory.make(&spec, &CapabilityManifest::default(), None).unwrap();
        let again = again(&contract, "Hm.", &[]);
        prop_assert_eq!(&again.system, &contract.system);
        prop_assert_eq!(again.contract_hash(), contract.contract_hash());
    }
}
