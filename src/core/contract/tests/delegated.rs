//! The values that an agent inherits from its caller, and its inputs (001 §5, §8).

use std::path::Path;

use serde_json::json;

use super::agents_folder::{Folder, contract_of};
use crate::contract::*;

const LEAD: &str = "\
task: Plan a day.
targets: [{provider: p, model: big, sampling: {top_p: 0.3, stop: [END]}}, {provider: p, model: next}]
providers: {p: {type: scripted, file: lead.jsonl}, unused: {type: ollama}}
agents: [sub/scout.ai]
max_turns: 7
tool_timeout_ms: 1234
max_calls: {run: 5, per_tool: {agent__scout: 2}}
sampling: {temperature: 0.2, seed: 9}
context_budget: {context_window: 9000, buffer: 77}
tool_output_budget: {max_bytes_per_call: 999, summarizer_model: p/small}
prices: {version: a, models: {p: {big: {input: 1, output: 2}}}}
redact: {env: [PASSWORD]}
";
const GRANT: DelegationGrant = DelegationGrant {
    max_cost_micro_usd: Some(40),
    max_tokens: 700,
    total_timeout_ms: 9_000,
};

/// The agent of that text, as it is run for the lead's call; `sets` are overrides of the lead, `own` those of every agent.
fn delegated_by(lead: &str, text: &str, sets: &[&str], own: &[&str]) -> ContractSpec {
    let files = [("lead.yaml", lead), ("sub/scout.ai", text)];
    let by = Folder::of(&files).spec("lead.yaml", sets);
    let mut folder = Folder::of(&files).called();
    folder.defaults = json!({
        "max_turns": 6,
        "llm_timeout_ms": 5,
        "context_budget": {"buffer": 1},
        "sampling": {"temperature": 0.9, "top_p": 0.8},
    });
    let spec = folder.spec("sub/scout.ai", own);
    let contract = contract_of(&by);
    let by = Delegator {
        contract: &contract,
        folder: Path::new("/a/lead"),
        spec: &by,
    };
    let to = ("agent__scout", Path::new("/a/lead/./sub"));
    spec.delegated(by, to, &GRANT, "Look.".to_owned())
}

fn delegated(text: &str) -> ContractSpec {
    delegated_by(LEAD, text, &[], &[])
}

const BARE: &str = "---\n---\nYou have ${MAX_TURNS} turns.\n";
const OWN: &str = "---\nmodels: [layer/own]\nmaxTurns: 3\ntemperature: 0.5\ncontextWindowBufferTokens: 2\n---\nYou have ${MAX_TURNS} turns.\n";

/// 001/5.hierarchies.4
/// 001/8.overrides.6
#[test]
fn what_the_agents_own_file_states_comes_first_and_else_what_holds_for_the_caller() {
    let limits = |spec: &ContractSpec| {
        json!([
            spec.max_turns,
            spec.tool_timeout_ms,
            spec.llm_timeout_ms,
            spec.context_budget.buffer,
            spec.tool_output_budget.max_bytes_per_call,
            spec.max_calls.run,
            spec.max_calls.per_tool,
        ])
    };
    // Of `defaults` in a layer nothing is left: they are what the caller has already, where it has them.
    let bare = delegated(BARE);
    assert_eq!(limits(&bare), json!([7, 1234, null, 77, 999, 5, {}]));
    let own = delegated(OWN);
    assert_eq!(limits(&own), json!([3, 1234, null, 2, 999, 5, {}]));
    // An override is for every agent.
    let set = delegated_by(LEAD, OWN, &[], &["agent.maxTurns=2"]);
    assert_eq!(set.max_turns, Some(2));
}

#[test]
fn the_prompt_says_the_turns_that_the_agent_has() {
    let prompt = |text: &str| delegated(text).system.unwrap();
    assert_eq!(prompt(BARE), "You have 7 turns.");
    assert_eq!(prompt(OWN), "You have 3 turns.");
}

/// Temperature, top_p and seed of each target of the contract.
fn sampled(spec: &ContractSpec) -> serde_json::Value {
    let contract = contract_of(spec);
    let targets = contract.targets.iter().filter(|target| !target.summarizer);
    let targets = targets.map(|target| {
        let sampling = &target.sampling;
        json!([
            target.model,
            sampling.temperature,
            sampling.top_p,
            sampling.seed.as_ref().map(|seed| seed.0)
        ])
    });
    targets.collect()
}

/// 001/5.hierarchies.4
#[test]
fn sampling_is_inherited_key_by_key() {
    let bare = delegated(BARE);
    assert_eq!(
        sampled(&bare),
        json!([["big", 0.2, 0.3, 9], ["next", 0.2, 1.0, 9]])
    );
    // Its own temperature; the rest is the caller's, but of targets that it does not have.
    let own = delegated(OWN);
    assert_eq!(sampled(&own), json!([["own", 0.5, 1.0, 9]]));
    // What it states comes before what the caller's targets say.
    let some = delegated("---\ntopP: 0.6\n---\nx");
    assert_eq!(
        sampled(&some),
        json!([["big", 0.2, 0.6, 9], ["next", 0.2, 0.6, 9]])
    );
    // What is commanded of the caller comes before its targets, and behind the agent's file.
    let lead = |set: &str, text: &str| sampled(&delegated_by(LEAD, text, &[set], &[]));
    let set = "sampling.top_p=0.1";
    assert_eq!(
        lead(set, BARE),
        json!([["big", 0.2, 0.1, 9], ["next", 0.2, 0.1, 9]])
    );
    let own = "---\ntopP: 0.6\n---\nx";
    assert_eq!(
        lead(set, own),
        json!([["big", 0.2, 0.6, 9], ["next", 0.2, 0.6, 9]])
    );
    assert_eq!(
        lead("sampling.temperature=0.1", OWN),
        json!([["own", 0.5, 1.0, 9]])
    );
    // What is commanded of every agent comes before all.
    let all = delegated_by(LEAD, own, &[set], &["agent.topP=0.7"]);
    assert_eq!(
        sampled(&all),
        json!([["big", 0.2, 0.7, 9], ["next", 0.2, 0.7, 9]])
    );
}

/// 001/5.hierarchies.4
#[test]
fn an_agent_without_models_has_those_of_its_caller() {
    let bare = delegated(BARE);
    let models = |spec: &ContractSpec| {
        let targets = spec.targets.iter();
        let targets = targets.map(|t| format!("{}/{} {}", t.provider, t.model, t.summarizer));
        targets.collect::<Vec<_>>()
    };
    assert_eq!(
        models(&bare),
        ["p/big false", "p/next false", "p/small true"]
    );
    let providers: Vec<&String> = bare.providers.keys().collect();
    assert_eq!(providers, ["p"]);
    assert_eq!(bare.providers["p"].file.as_deref(), Some("../lead.jsonl"));
    assert_eq!(contract_of(&bare).targets[0].context_window, 9000);
    assert_eq!(bare.prices.as_ref().unwrap().models["p"].len(), 1);

    let own = delegated(OWN);
    assert_eq!(models(&own), ["layer/own false"]);
    assert_eq!(own.providers.keys().collect::<Vec<_>>(), ["layer"]);
    assert_eq!(own.context_budget.context_window, None);
    assert_eq!(own.prices, None);
}

#[test]
fn a_model_that_the_agent_names_elsewhere_is_there_beside_those_of_its_caller() {
    let lead = LEAD.replace("ollama", "scripted, file: other.jsonl");
    let text = "models: null\nsystem: x\ntool_output_budget: {summarizer_model: p/tiny}\n";
    let text = text.replace("models: null\n", "");
    let files = [
        ("lead.yaml", lead.as_str()),
        ("sub/scout.ai", BARE),
        ("own.yaml", &text),
    ];
    let by = Folder::of(&files).spec("lead.yaml", &[]);
    let spec = Folder::of(&files).called().spec("own.yaml", &[]);
    let contract = contract_of(&by);
    let by = Delegator {
        contract: &contract,
        folder: Path::new("/a"),
        spec: &by,
    };
    let spec = spec.delegated(by, ("agent__scout", Path::new("/a")), &GRANT, String::new());
    let last = spec.targets.last().unwrap();
    assert_eq!((last.model.as_str(), last.summarizer), ("tiny", true));
    assert_eq!(spec.providers["p"].file.as_deref(), Some("lead.jsonl"));
}

/// A child run's cost counts against the parent run's limit: the child's own file makes nothing cheaper there.
#[test]
fn under_a_limit_from_above_the_higher_price_counts() {
    let own = "\
targets: [{provider: p, model: big}]
providers: {p: {type: scripted, file: own.jsonl}}
prices: {version: b, models: {p: {big: {input: 0, output: 9}, own: {input: 0, output: 0}}}}
";
    let prices = |lead: &str| {
        let files = [
            ("lead.yaml", lead),
            ("sub/scout.ai", BARE),
            ("own.yaml", own),
        ];
        let by = Folder::of(&files).spec("lead.yaml", &[]);
        let contract = contract_of(&by);
        let by = Delegator {
            contract: &contract,
            folder: Path::new("/a"),
            spec: &by,
        };
        let spec = Folder::of(&files).called().spec("own.yaml", &[]);
        let spec = spec.delegated(by, ("agent__scout", Path::new("/a")), &GRANT, String::new());
        let table = spec.prices.unwrap();
        let of = |model: &str| {
            let price = table.models["p"][model];
            (price.input_pico_usd.0, price.output_pico_usd.0)
        };
        (of("big"), of("own"))
    };
    assert_eq!(prices(LEAD), ((0, 9_000_000), (0, 0)));
    let limited = format!("{LEAD}max_cost_micro_usd: 100\n");
    assert_eq!(prices(&limited), ((1_000_000, 9_000_000), (0, 0)));
}

/// The contract of `own`, a contract file, as it is run for a call of a run of `lead`.
fn own_under(lead: &str, own: &str) -> ExecutionContract {
    let files = [
        ("lead.yaml", lead),
        ("sub/scout.ai", BARE),
        ("own.yaml", own),
    ];
    let by = Folder::of(&files).spec("lead.yaml", &[]);
    let contract = contract_of(&by);
    let by = Delegator {
        contract: &contract,
        folder: Path::new("/a"),
        spec: &by,
    };
    let spec = Folder::of(&files).called().spec("own.yaml", &[]);
    contract_of(&spec.delegated(by, ("agent__scout", Path::new("/a")), &GRANT, String::new()))
}

/// Its budget depends on it; a run at the top leaves the length to the provider.
#[test]
fn a_delegated_run_states_how_long_an_answer_may_be() {
    let own = "\
targets: [{provider: q, model: own, context_window: 9000}]
providers: {q: {type: openai}}
";
    let sampling = own_under(LEAD, own).targets[0].sampling.clone();
    assert_eq!(sampling.sent_limit(), Some(4096));
    assert_eq!(sampling.defaulted, ["max_output_tokens"]);
    let files = [("own.yaml", own)];
    let alone = contract_of(&Folder::of(&files).spec("own.yaml", &[]));
    assert_eq!(alone.targets[0].sampling.sent_limit(), None);
}

/// A limit was judged by the catalogue's prices, too: the child's file makes nothing cheaper than those.
#[test]
fn under_a_limit_from_above_a_price_of_the_catalogue_counts() {
    let lead = "\
task: Plan a day.
targets: [{provider: p, model: gpt-4o}]
providers: {p: {type: openai}}
agents: [sub/scout.ai]
";
    let own = "\
targets: [{provider: p, model: gpt-4o}]
providers: {p: {type: openai}}
prices: {version: b, models: {p: {gpt-4o: {input: 0, output: 0}}}}
";
    let price = |lead: &str| own_under(lead, own).price(0).unwrap().output_pico_usd;
    assert_eq!(price(lead), BigCount(0));
    let limited = format!("{lead}max_cost_micro_usd: 100\n");
    assert_eq!(price(&limited), BigCount(10_000_000));
}

/// A run that delegates to one of the first file, which delegates to one of the second: each may cost that, or what the first may.
fn below_each_other(lead: &str, files: [&str; 2], most: Option<u64>) -> [ContractSpec; 2] {
    let [middle, below] = files;
    let files = [
        ("lead.yaml", lead),
        ("sub/scout.ai", BARE),
        ("middle.yaml", middle),
        ("below.yaml", below),
    ];
    let lead = Folder::of(&files).spec("lead.yaml", &[]);
    let called = Folder::of(&files).called();
    let grant = DelegationGrant {
        max_cost_micro_usd: most.or(lead.max_cost_micro_usd),
        ..GRANT
    };
    let delegated = |by: &ContractSpec, file: &str| {
        let contract = contract_of(by);
        let delegator = Delegator {
            contract: &contract,
            folder: Path::new("/a"),
            spec: by,
        };
        let to = ("agent__scout", Path::new("/a"));
        let spec = called.spec(file, &[]);
        spec.delegated(delegator, to, &grant, String::new())
    };
    let middle = delegated(&lead, "middle.yaml");
    let below = delegated(&middle, "below.yaml");
    [middle, below]
}

/// A level without the provider hands the price on: with a limit above it counts where it is the higher one, and else where there is none.
#[test]
fn prices_hold_below_a_run_that_has_another_provider() {
    let model = |provider: &str| {
        format!(
            "targets: [{{provider: {provider}, model: big}}]\nproviders: {{{provider}: {{type: scripted, file: x.jsonl}}}}\n"
        )
    };
    let middle = format!(
        "{}prices: {{version: b, models: {{other: {{big: {{input: 5, output: 5}}}}}}}}\n",
        model("other")
    );
    let own =
        |price: &str| format!("prices: {{version: c, models: {{p: {{big: {{{price}}}}}}}}}\n");
    let price = |limit: &str, stated: &str| {
        let lead = format!("{LEAD}{limit}");
        let below = format!("{}{stated}", model("p"));
        let [middle, below] = below_each_other(&lead, [&middle, &below], None);
        for (spec, provider) in [(&middle, "other"), (&below, "p")] {
            // No contract has prices of providers that it has not.
            let prices = spec.prices.as_ref().unwrap();
            assert_eq!(prices.models.keys().collect::<Vec<_>>(), [provider]);
        }
        let price = below.prices.unwrap().models["p"]["big"];
        (price.input_pico_usd.0, price.output_pico_usd.0)
    };
    let limit = "max_cost_micro_usd: 100\n";
    for (limit, stated, expected) in [
        (limit, own("input: 0, output: 9"), (1_000_000, 9_000_000)),
        (limit, String::new(), (1_000_000, 2_000_000)),
        ("", own("input: 0, output: 9"), (0, 9_000_000)),
        ("", String::new(), (1_000_000, 2_000_000)),
    ] {
        assert_eq!(price(limit, &stated), expected, "{limit}{stated}");
    }
}

/// A limit is about what is below the run that has it: prices of a run above it, which has none, raise nothing.
#[test]
fn a_limit_in_the_middle_raises_no_price_to_that_of_a_run_above_it() {
    let own = |price: u32| {
        format!(
            "targets: [{{provider: p, model: big}}]\nproviders: {{p: {{type: scripted, file: x.jsonl}}}}\n\
             prices: {{version: b, models: {{p: {{big: {{input: {price}, output: {price}}}}}}}}}\n"
        )
    };
    let without = |provider: &str| {
        format!(
            "targets: [{{provider: {provider}, model: big}}]\nproviders: {{{provider}: {{type: scripted, file: x.jsonl}}}}\n"
        )
    };
    let lead = own(10);
    let limit = "max_cost_micro_usd: 9000\n";
    // Whether the first run has a limit, too; the run in the middle; the price below.
    for (limit, middle, expected) in [
        ("", own(7), 7_000_000),
        (limit, own(7), 10_000_000),
        ("", without("other"), 0),
        (limit, without("other"), 10_000_000),
        ("", without("p"), 0),
        (limit, without("p"), 10_000_000),
    ] {
        let lead = format!("{lead}{limit}agents: [sub/scout.ai]\n");
        let [_, below] = below_each_other(&lead, [&middle, &own(0)], Some(5_000));
        let price = below.prices.unwrap().models["p"]["big"];
        assert_eq!(price.input_pico_usd.0, expected, "{limit}{middle}");
    }
}

#[test]
fn a_run_has_what_it_is_given() {
    let spec = delegated(OWN);
    assert_eq!(spec.task.as_deref(), Some("Look."));
    assert_eq!(spec.max_tokens_consumed, Some(700));
    assert_eq!(spec.max_cost_micro_usd, Some(40));
    assert_eq!(spec.total_timeout_ms, Some(9_000));
    assert_eq!(spec.redact.env, ["PASSWORD"]);
}

#[test]
fn a_run_stands_below_its_caller_and_has_its_grants_too() {
    let lead = LEAD.replace("[sub/scout.ai]", "[{file: sub/scout.ai, tools: ['fs__*']}]");
    let files = [("lead.yaml", lead.as_str()), ("sub/scout.ai", BARE)];
    let folder = Folder::of(&files);
    let mut by = folder.spec("lead.yaml", &[]);
    let own = by.own.clone().unwrap();
    by.delegation = Some(DelegationTerms {
        chain: vec![own.clone()],
        granted: vec![vec!["*__read".to_owned()]],
        max_depth: 3,
    });
    let contract = contract_of(&by);
    let by = Delegator {
        contract: &contract,
        folder: Path::new("/a"),
        spec: &by,
    };
    let spec = Folder::of(&files).called().spec("sub/scout.ai", &[]);
    let digest = spec.own.as_ref().unwrap().digest;
    let spec = spec.delegated(
        by,
        ("agent__scout", Path::new("/a/sub")),
        &GRANT,
        String::new(),
    );
    let made = spec.delegation.clone().unwrap();
    assert_eq!(made.chain_to("x"), "lead → scout → x");
    assert_eq!(made.chain[1].digest, digest);
    assert_eq!(made.granted, [["*__read"], ["fs__*"]]);
    assert_eq!(made.max_depth, 3);
    // It stands in the contract as it is, and the contract holds together.
    let contract = contract_of(&spec);
    assert_eq!(contract.delegation, Some(made));
    assert_eq!(super::fixture::structure_faults(&contract), [] as [&str; 0]);
}

#[test]
fn a_script_of_the_caller_is_found_from_the_agents_folder() {
    let check = |folder: &str, theirs: &str, expect: &str| {
        let files = [("lead.yaml", LEAD), ("sub/scout.ai", BARE)];
        let by = Folder::of(&files).spec("lead.yaml", &[]);
        let contract = contract_of(&by);
        let by = Delegator {
            contract: &contract,
            folder: Path::new(theirs),
            spec: &by,
        };
        let spec = Folder::of(&files).called().spec("sub/scout.ai", &[]);
        let spec = spec.delegated(
            by,
            ("agent__scout", Path::new(folder)),
            &GRANT,
            String::new(),
        );
        assert_eq!(spec.providers["p"].file.as_deref(), Some(expect));
    };
    check("/a/b", "/a/b", "lead.jsonl");
    check("/a/b/../b/.", "/a/b", "lead.jsonl");
    check("/a/b/c/d", "/a/b", "../../lead.jsonl");
    check("/a/x", "/a/b", "../b/lead.jsonl");
    check("x", "/a/b", "/a/b/lead.jsonl");
}

#[test]
fn a_task_is_the_prompt_or_the_arguments_as_they_are() {
    let json = InputSpec { schema: None };
    let check = |arguments: &str, input: Option<&InputSpec>, expect: &str| {
        assert_eq!(task_of(arguments, input), expect);
    };
    check(r#"{"prompt": "Look."}"#, None, "Look.");
    check(r#"{"prompt": 1}"#, None, r#"{"prompt":1}"#);
    check(
        r#"{"b": 1, "a": {"prompt": "x"}}"#,
        Some(&json),
        r#"{"a":{"prompt":"x"},"b":1}"#,
    );
    check(r#"{"prompt": "x"}"#, Some(&json), r#"{"prompt":"x"}"#);
    check(
        r#"{"n": 9007199254740993}"#,
        Some(&json),
        r#"{"n": 9007199254740993}"#,
    );
}
