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
    assert_eq!(each(&[], "seed"), ["0", "0", "5"]);
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

#[test]
fn an_unset_value_is_the_built_in_default() {
    let text = "targets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai}}\n";
    let contract = made(text, &[]).unwrap();
    assert_eq!(
        serde_json::to_value(&contract.targets[0].sampling).unwrap(),
        json!({
            "caching": "full",
            "defaulted": ["max_output_tokens", "repeat_penalty", "seed", "temperature", "top_p"],
            "max_output_tokens": 4096, "reasoning": null, "reasoning_tokens": null,
            "repeat_penalty": 1.1, "seed": "0", "stream": false, "temperature": 0.7, "top_p": 1.0,
        })
    );
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
    assert_eq!(each(&sets, "repeat_penalty"), [1.1, 1.1, 0.0]);
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
