//! Tests of a target's parameters: their layers, what each layer may set, and the result (000 §1, 001 §2, §6, §8).

use serde_json::{Value, json};

use super::manifest;
use crate::contract::*;

/// Two providers, three targets, and every layer that the file has.
const FILE: &str = "\
targets:
- {provider: a, model: small}
- {provider: a, model: large}
- {provider: b, model: small, sampling: {top_p: 0.4}}
providers:
  a:
    type: anthropic
    overrides: {temperature: 0.3, stop: [A]}
    reasoning: [null, light, 2048, 8192]
    models:
      large: {overrides: {temperature: 0.2, caching: none}, reasoning: 9000, context_window: 777}
  b: {type: openrouter, overrides: {seed: 5, top_p: 0.1}}
sampling: {temperature: 0.9, top_p: 0.5, reasoning: medium}
context_budget: {context_window: 50000}
";

fn read(text: &str, sets: &[&str]) -> Result<ContractSpec, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    ContractSpec::parse("c.yaml", text, &sets).map_err(|errors| errors.to_string())
}

fn made(text: &str, sets: &[&str]) -> Result<ExecutionContract, String> {
    let made = ContractFactory.make(&read(text, sets)?, &manifest(), None);
    made.map_err(|fault| fault.to_string())
}

/// One key of the parameters of every target, null where it is not there.
fn each(sets: &[&str], key: &str) -> Vec<Value> {
    let contract = made(FILE, sets).unwrap();
    let targets = contract.targets.iter();
    let written = targets.map(|target| serde_json::to_value(&target.sampling).unwrap());
    written
        .map(|sampling| sampling.get(key).cloned().unwrap_or_default())
        .collect()
}

/// 001/6.providers.11
#[test]
fn the_most_particular_layer_wins() {
    assert_eq!(each(&[], "temperature"), [0.3, 0.2, 0.9]);
    assert_eq!(each(&[], "top_p"), [0.5, 0.5, 0.4]);
    assert_eq!(each(&[], "seed"), [Value::Null, Value::Null, json!(5)]);
    assert_eq!(each(&[], "caching"), ["full", "none", "full"]);
    assert_eq!(each(&[], "stop"), [json!(["A"]), json!(["A"]), Value::Null]);
    let windows = made(FILE, &[]).unwrap();
    let windows: Vec<u64> = windows.targets.iter().map(|t| t.context_window).collect();
    assert_eq!(windows, [50_000, 777, 50_000]);
}

#[test]
fn the_command_line_comes_before_every_part_of_the_file() {
    let all = ["sampling.temperature=0.6"];
    assert_eq!(each(&all, "temperature"), [0.6, 0.6, 0.6]);
    let both = [
        "sampling.temperature=0.6",
        "providers.a.overrides.temperature=0.7",
    ];
    assert_eq!(each(&both, "temperature"), [0.7, 0.7, 0.6]);
    let off = ["sampling.top_p=off"];
    assert_eq!(each(&off, "top_p"), [Value::Null, Value::Null, Value::Null]);
    // What the command line leaves alone is as it was written.
    assert_eq!(each(&all, "top_p"), each(&[], "top_p"));
    let whole = ["sampling={temperature: 1, top_p: 1}"];
    assert_eq!(each(&whole, "temperature"), [1.0, 1.0, 1.0]);
    assert_eq!(
        each(&whole, "reasoning"),
        [Value::Null, Value::Null, Value::Null]
    );
}

/// A provider knows its models: what no author states is left to it (`differs`, 000 §1).
#[test]
fn a_contract_file_sends_what_it_states_and_nothing_else() {
    let text = "targets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai}}\n";
    let contract = made(text, &[]).unwrap();
    assert_eq!(
        serde_json::to_value(&contract.targets[0].sampling).unwrap(),
        json!({
            "caching": "full", "max_output_tokens": 4096, "max_output_tokens_unsent": true, "reasoning": null,
            "reasoning_tokens": null, "repeat_penalty": null, "seed": null, "stream": false, "temperature": null, "top_p": null,
        })
    );
    let stated = made(
        text,
        &["sampling={temperature: 0.1, seed: 0, max_output_tokens: 5}"],
    )
    .unwrap();
    let sampling = &stated.targets[0].sampling;
    assert_eq!(sampling.temperature, Some(0.1));
    assert_eq!(sampling.seed, Some(BigCount(0)));
    assert_eq!(sampling.sent_limit(), Some(5));
    assert!(sampling.defaulted.is_empty());
}

/// No server has defaults for an embedded model, and Anthropic takes no request without a limit.
#[test]
fn an_embedded_model_has_every_parameter_and_a_protocol_the_ones_it_needs() {
    let of = |provider: &str| {
        let text = format!(
            "targets: [{{provider: p, model: m, context_window: 9000}}]\nproviders: {{p: {{type: {provider}}}}}\n"
        );
        made(&text, &[]).unwrap().targets[0].sampling.clone()
    };
    let local = of("local");
    assert_eq!(local.seed, Some(BigCount(0)));
    assert_eq!((local.temperature, local.top_p), (Some(0.7), Some(1.0)));
    assert_eq!(
        (local.repeat_penalty, local.sent_limit()),
        (Some(1.1), Some(4096))
    );
    assert!(local.defaulted.is_empty());
    let anthropic = of("anthropic");
    assert_eq!(
        (anthropic.temperature, anthropic.sent_limit()),
        (None, Some(4096))
    );
    assert!(anthropic.defaulted.is_empty());
    for other in [
        "openai",
        "openai_responses",
        "google",
        "openrouter",
        "ollama",
    ] {
        assert_eq!(of(other).sent_limit(), None, "{other}");
    }
}

/// The shipped profiles advise; the author's own profile is the author's word.
#[test]
fn only_the_authors_own_profile_states_parameters() {
    let text = "targets: [{provider: p, model: qwen3-8b, context_window: 9000}]\nproviders: {p: {type: openai}}\n";
    let shipped = made(text, &[]).unwrap();
    assert_eq!(shipped.targets[0].model_profile_id, "qwen");
    assert_eq!(shipped.targets[0].sampling.temperature, None);
    let own = "model_profiles=[{id: own, match: [{providers: [openai], models: ['qwen*']}], sampling: {temperature: 0.3, max_output_tokens: 7}}]";
    let sampling = made(text, &[own]).unwrap().targets[0].sampling.clone();
    assert_eq!(
        (sampling.temperature, sampling.sent_limit()),
        (Some(0.3), Some(7))
    );
    assert!(sampling.defaulted.is_empty());
}

fn target(provider: &str, model: &str, sets: &[&str]) -> (TargetTerms, ExecutionContract) {
    let text =
        format!("targets: [{{provider: p, model: {model}}}]\nproviders: {{p: {provider}}}\n");
    let contract = made(&text, sets).unwrap();
    (contract.targets[0].clone(), contract)
}

#[test]
fn the_catalogue_knows_the_window_the_price_and_the_longest_answer_of_a_model() {
    let (gpt, contract) = target("{type: openai}", "gpt-5", &["max_cost_micro_usd=1"]);
    assert_eq!(gpt.context_window, 272_000);
    assert_eq!(gpt.sampling.max_output_tokens, 4096);
    assert!(structure_faults(&contract).is_empty());
    assert_eq!(
        contract.price(0).unwrap().output_pico_usd,
        BigCount(10_000_000)
    );
    let facts = gpt.facts.unwrap();
    assert!(facts.catalogue.contains("litellm"), "{}", facts.catalogue);
    // The author's word comes first, and the price has one version.
    let sets = [
        "targets.0.context_window=1000",
        "prices={version: a, models: {p: {gpt-5: {input: 1, output: 2}}}}",
    ];
    let (stated, contract) = target("{type: openai}", "gpt-5", &sets);
    assert_eq!(stated.context_window, 1000);
    assert_eq!(stated.facts.unwrap().price, None);
    assert_eq!(
        contract.price(0).unwrap().output_pico_usd,
        BigCount(2_000_000)
    );
    let capped = ["context_budget={context_window: 1000000}"];
    let (capped, _) = target("{type: openai}", "gpt-5", &capped);
    assert_eq!(capped.context_window, 272_000);
    let (small, _) = target("{type: openai}", "gpt-4-0613", &[]);
    assert!(small.sampling.max_output_tokens <= 4096);
}

#[test]
fn a_contract_names_the_catalogue_only_where_it_uses_a_fact() {
    let every = [
        "targets.0.context_window=1000",
        "sampling.max_output_tokens=9",
        "prices={version: a, models: {p: {gpt-4o: {input: 1, output: 2}}}}",
    ];
    assert_eq!(target("{type: openai}", "gpt-4o", &every).0.facts, None);
    assert!(
        target("{type: openai}", "gpt-4o", &every[..2])
            .0
            .facts
            .is_some()
    );
    let unknown = target(
        "{type: openai}",
        "our-own",
        &["targets.0.context_window=1000"],
    );
    assert_eq!(unknown.0.facts, None);
    let other_host = "{type: openai, base_url: 'http://127.0.0.1:1/v1'}";
    let (own, contract) = target(other_host, "deepseek-chat", &[]);
    assert_eq!((own.facts, own.context_window), (None, 0));
    let faults = structure_faults(&contract);
    assert!(
        faults[0].text.contains("context_window: 32768"),
        "{faults:?}"
    );
}

#[test]
fn a_stated_parameter_that_the_model_refuses_is_sent_with_a_warning() {
    let sets = [
        "sampling={temperature: 0.5, reasoning_tokens: 2000, max_output_tokens: 200000}",
        "model_profile_id=unknown",
    ];
    let (claude, contract) = target("{type: anthropic}", "claude-opus-4-7", &sets);
    assert_eq!(claude.sampling.temperature, Some(0.5));
    let warnings = contract_warnings(&contract);
    for part in [
        "`claude-opus-4-7` refuses temperature",
        "refuses a number of tokens for reasoning",
        "refuses max_output_tokens of 200000",
        "at most 128000",
    ] {
        assert!(
            warnings.iter().any(|warning| warning.contains(part)),
            "{part}: {warnings:?}"
        );
    }
    let (_, quiet) = target("{type: anthropic}", "claude-opus-4-7", &[]);
    assert_eq!(contract_warnings(&quiet), [""; 0]);
}

#[test]
fn a_model_that_its_vendor_stops_is_warned_of_with_the_day() {
    let (_, contract) = target("{type: openai}", "gpt-4o-mini", &[]);
    let text = "targets.0: `gpt-4o-mini` retires on 2027-01-14, by the catalogue of models: choose another model before that day";
    assert_eq!(contract_warnings(&contract), [text]);
    let gateway = "{type: openai, base_url: 'http://127.0.0.1:1/v1'}";
    let (_, contract) = target(gateway, "gpt-4o-mini", &["targets.0.context_window=9000"]);
    assert_eq!(contract_warnings(&contract), [""; 0]);
}

#[test]
fn every_word_for_off_switches_every_parameter_off() {
    let text = "targets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai}}\n";
    for word in ["off", "none", "unset", "default", "null", "~"] {
        let keys = [
            "caching",
            "max_output_tokens",
            "reasoning",
            "reasoning_tokens",
            "repeat_penalty",
            "seed",
            "stop",
            "temperature",
            "top_p",
        ];
        let sets = keys.map(|key| format!("sampling.{key}={word}"));
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let contract = made(text, &sets).unwrap();
        assert_eq!(
            serde_json::to_value(&contract.targets[0].sampling).unwrap(),
            json!({
                "caching": "none", "max_output_tokens": 4096, "max_output_tokens_unsent": true, "reasoning": null,
                "reasoning_tokens": null, "repeat_penalty": null, "seed": null, "stream": false, "temperature": null,
                "top_p": null,
            }),
            "{word}"
        );
    }
}

#[test]
fn numbers_out_of_range_are_clamped_in_every_layer() {
    let sets = [
        "sampling.temperature=9",
        "targets.2.sampling.top_p=7",
        "providers.b.overrides.repeat_penalty=-3",
        "providers.a.models.large.overrides.top_p=-1",
    ];
    assert_eq!(each(&sets, "temperature"), [2.0, 2.0, 2.0]);
    assert_eq!(each(&sets, "top_p"), [0.5, 0.0, 1.0]);
    let penalties = [Value::Null, Value::Null, json!(0.0)];
    assert_eq!(each(&sets, "repeat_penalty"), penalties);
}

#[test]
fn a_level_is_what_the_provider_or_the_model_makes_of_it() {
    let level = |level: &str| {
        let set = format!("sampling.reasoning={level}");
        (each(&[&set], "reasoning"), each(&[&set], "reasoning_value"))
    };
    let null = Value::Null;
    let check = |name: &str, first: Value, second: Value| {
        let (levels, values) = level(name);
        assert_eq!(values, [first.clone(), second, null.clone()], "{name}");
        // A level that the mapping switches off is not asked for.
        let expected = if first.is_null() {
            null.clone()
        } else {
            json!(name)
        };
        assert_eq!(levels, [expected, json!(name), json!(name)]);
    };
    check("minimal", null.clone(), json!(9000));
    check("low", json!("light"), json!(9000));
    check("medium", json!(2048), json!(9000));
    check("high", json!(8192), json!(9000));
    let (levels, values) = level("off");
    assert_eq!(levels, [null.clone(), null.clone(), null.clone()]);
    assert_eq!(values, levels);
}

#[test]
fn a_faulty_layer_is_refused_with_its_place() {
    let check = |set: &str, expect: &str| {
        let message = made(FILE, &[set]).unwrap_err();
        assert!(message.contains(expect), "{set}: {message}");
    };
    check(
        "providers.a.overrides={temprature: 1}",
        "did you mean `temperature`",
    );
    check(
        "providers.a.models.large.override={}",
        "did you mean `overrides`",
    );
    check(
        "providers.a.reasoning=[low, high]",
        "expected one value or four",
    );
    check(
        "providers.a.reasoning=[a, b, [], d]",
        "providers.a.reasoning.2",
    );
    check(
        "providers.b={type: openai, reasoning: 5}",
        "takes words for `reasoning`",
    );
    check(
        "providers.b={type: ollama, models: {m: {reasoning: [null, null, 1, null]}}}",
        "takes words for `reasoning`",
    );
    check("sampling.stop=[a, b, c, d, e]", "at most 4 texts");
    check("sampling.stop=['']", "at most 4 texts");
    check("sampling.caching=some", "expected one of full, none");
    check("sampling.max_output_tokens=off", "cannot be switched off");
}

#[test]
fn options_of_a_provider_stay_as_they_are_written() {
    let check = |written: &str, expect: &str| {
        let set = format!("providers.b.provider_options={written}");
        let contract = made(FILE, &[&set]).unwrap();
        let options = contract.providers["b"].provider_options.as_deref();
        assert_eq!(options, Some(expect), "{written}");
        let back = ExecutionContract::decode(&contract.canonical_text()).unwrap();
        assert_eq!(
            back.providers["b"].provider_options.as_deref(),
            Some(expect)
        );
    };
    check("{}", "{}");
    check(
        "{z: 1e400, a: {n: 1.0, m: [true, null, x86, '86', -0]}}",
        r#"{"z":1e400,"a":{"n":1.0,"m":[true,null,"x86","86",-0]}}"#,
    );
    check(
        r#"{"s": "a\u0000\n", "big": 123456789012345678901234567890}"#,
        r#"{"s":"a\u0000\n","big":123456789012345678901234567890}"#,
    );
    let refused = |written: &str, expect: &str| {
        let set = format!("providers.b.provider_options={written}");
        let message = made(FILE, &[&set]).unwrap_err();
        assert!(message.contains(expect), "{written}: {message}");
    };
    for owned in [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "stream",
        "max_tokens",
        "input",
        "contents",
    ] {
        let rule = format!("`{owned}` of a request is the machine's own");
        refused(&format!("{{{owned}: 1}}"), &rule);
    }
    refused(
        "{options: {num_predict: 1}}",
        "providers.b.provider_options.options.num_predict",
    );
    refused("{a: {api_key: x}}", "may hold a secret");
    refused("{a: .5}", "no number of JSON");
    refused("{a: +1}", "no number of JSON");
    refused("[]", "expected a mapping");
    refused("{a: 1, a: 2}", "occurs twice");
}
