//! Tests of the layers: files, variables, placeholders and origins.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LayerFiles, Layers, Locations};
use crate::driver::Environment;
use monolith_core::contract::{ContractSpec, DefinitionKind, Definitions, Setting};

mod providers;
mod servers;
mod whole;

/// Folders for every place.
struct Fixture(TempDir);

impl Fixture {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn write(&self, name: &str, text: &(impl std::fmt::Display + ?Sized)) -> &Self {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.to_string()).unwrap();
        self
    }

    fn layers(&self, config: Option<&str>) -> Layers {
        let root = self.0.path();
        let locations = Locations {
            config: config.map(|name| root.join(name)),
            cwd: root.join("cwd"),
            contract_dir: root.join("prompt"),
            binary_dir: Some(root.join("bin")),
            home: Some(root.join("me")),
            system: Some(root.join("etc")),
            recorded: None,
        };
        let environment =
            Environment::new(|name| (name == "SHELL_VAR").then(|| "shell".to_owned()));
        Layers::at(locations, environment, &LayerFiles::default()).unwrap()
    }

    fn spec(&self, text: &str) -> Result<ContractSpec, String> {
        let layers = self.layers(None);
        let spec = ContractSpec::parse_with("c.yaml", text, &[], &layers);
        spec.map_err(|faults| {
            let lines = faults.with_helps().map(|(error, help)| {
                let about = match error.path.as_str() {
                    "" => String::new(),
                    path => format!("{path}: "),
                };
                let help = help.unwrap_or_default();
                format!("error: {about}{}\n  = help: {help}\n", error.rule)
            });
            lines.collect()
        })
    }

    fn shown(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "")
    }
}

fn provider(address: &str) -> Value {
    json!({"providers": {"cloud": {"type": "openai", "baseUrl": address}}})
}

fn address(layers: &Layers) -> Option<Value> {
    let found = layers.find(DefinitionKind::Provider, "cloud").unwrap()?;
    let made = Value::Object(found.members);
    Some(made["base_url"].clone())
}

/// 000/7.layers.1, 000/7.layers.2, 000/7.layers.3, 000/7.layers.4
/// 001/4.layers.1
/// 001/4.layers.7
#[test]
fn the_higher_layer_counts_and_a_named_file_stands_for_the_first_two() {
    let order = [
        "cwd/.ai-agent.json",
        "prompt/.ai-agent.json",
        "bin/.ai-agent.json",
        "me/.ai-agent/ai-agent.json",
        "etc/ai-agent/ai-agent.json",
    ];
    for highest in 0..=order.len() {
        let fixture = Fixture::new();
        for (n, name) in order.iter().enumerate().skip(highest) {
            fixture.write(name, &provider(&format!("http://{n}/")));
        }
        let expect = (highest < order.len()).then(|| json!(format!("http://{highest}/")));
        assert_eq!(address(&fixture.layers(None)), expect, "{highest}");
        fixture.write("own.json", &json!({}));
        let below = highest.max(2);
        let expect = (below < order.len()).then(|| json!(format!("http://{below}/")));
        assert_eq!(
            address(&fixture.layers(Some("own.json"))),
            expect,
            "{highest}, named"
        );
        fixture.write("own.json", &provider("http://own/"));
        assert_eq!(
            address(&fixture.layers(Some("own.json"))),
            Some(json!("http://own/"))
        );
    }
}

/// 000/7.layers.4, 000/7.layers.5, 000/7.placeholders.1, 000/7.placeholders.2, 000/7.placeholders.4, 000/7.placeholders.5
/// 001/4.layers.2, 001/6.providers.1
/// 001/4.layers.5, 001/4.layers.6, 001/7.env.3
#[test]
fn layers_are_laid_over_each_other_and_each_value_sees_the_variables_beside_it() {
    let fixture = Fixture::new();
    fixture.write(
        "cwd/.ai-agent.json",
        &json!({"providers": {"cloud": {
            "apiKey": "${KEY}",
            "headers": {"X-High": "${A}"},
            "models": {"m": {"overrides": {"topP": 0.5}, "contextWindow": 9000}},
        }}}),
    );
    fixture.write("cwd/.ai-agent.env", "A=v-high\nKEY=k\n");
    fixture.write(
        "me/.ai-agent/ai-agent.json",
        &json!({"providers": {"cloud": {
            "type": "openai",
            "baseUrl": "http://${HOST}/${SHELL_VAR}/${parameters.x}",
            "headers": {"X-High": "lower", "X-Low": "${A}"},
            "models": {"m": {"overrides": {"temperature": 0}}},
            "custom": {"providerOptions": {"openai": {"user": "me"}}},
        }}}),
    );
    fixture.write("me/.ai-agent/ai-agent.env", "A=v-low\nHOST=h:1\n");
    let spec = fixture
        .spec("task: t\ntargets: [{provider: cloud, model: m}]\n")
        .unwrap();
    let cloud = &spec.providers["cloud"];
    assert_eq!(
        cloud.base_url.as_deref(),
        Some("http://h:1/shell/${parameters.x}")
    );
    assert_eq!(cloud.api_key_env.as_deref(), Some("KEY"));
    assert_eq!(cloud.headers["X-High"], "${A}");
    assert_eq!(cloud.models["m"].context_window, Some(9000));
    assert_eq!(cloud.provider_options.as_deref(), Some(r#"{"user":"me"}"#));
    let seen = |path: &str| spec.origins[path].variable("A").unwrap().to_owned();
    assert_eq!(seen("providers.cloud.headers.X-High"), "v-high");
    assert_eq!(seen("providers.cloud.headers.X-Low"), "v-low");
    let from = |path: &str| fixture.shown(&spec.origins[path].to_string());
    assert_eq!(
        from("providers.cloud.base_url"),
        "/me/.ai-agent/ai-agent.json"
    );
    assert_eq!(from("providers.cloud.api_key_env"), "/cwd/.ai-agent.json");
    let located = format!("{spec:?}");
    assert!(
        !located.contains("v-high") && !located.contains("v-low"),
        "{located}"
    );
}

#[test]
fn a_contract_that_defines_what_it_names_reads_no_layer() {
    let fixture = Fixture::new();
    fixture.write("cwd/.ai-agent.json", "broken");
    let whole = "task: t\ntargets: [{provider: cloud, model: m}]\nproviders: {cloud: {type: openai, base_url: 'http://own/'}}\n";
    let spec = fixture.spec(whole).unwrap();
    assert!(spec.origins.is_empty());
    let named = fixture.spec("task: t\ntargets: [{provider: cloud, model: m}]\n");
    let fault = fixture.shown(&named.unwrap_err());
    let expect = "configuration /cwd/.ai-agent.json: it is not JSON at line 1, column 1";
    assert!(fault.contains(expect), "{fault}");
}

/// 000/7.placeholders.3
/// 001/4.layers.3, 001/6.providers.12
#[test]
fn what_cannot_be_used_names_layer_and_key_and_never_a_value() {
    let check = |cloud: Value, expect: &str| {
        let fixture = Fixture::new();
        fixture.write(
            "cwd/.ai-agent.json",
            &json!({"providers": {"cloud": cloud}}),
        );
        let fault = fixture.spec("task: t\ntargets: [{provider: cloud, model: m}]\n");
        let fault = fixture.shown(&fault.unwrap_err());
        let first = fault.lines().next().unwrap();
        assert_eq!(first, format!("error: providers.cloud{expect}"));
        assert!(!fault.contains("sk-secret"), "{fault}");
    };
    check(
        json!({"type": "openai", "apiKey": "sk-secret"}),
        ": providers.cloud.apiKey in /cwd/.ai-agent.json: a key is written as ${NAME} and belongs in the .ai-agent.env beside the file, or in the environment",
    );
    check(
        json!({"type": "openai", "baseUrl": "http://${NO}/"}),
        ": Unresolved variable ${NO} for provider 'cloud' at /cwd/.ai-agent.json: providers.cloud.baseUrl needs it; set it in the .ai-agent.env next to that file, or in the environment",
    );
    check(
        json!({"type": "openai", "toolsAllowed": {"x": 1}}),
        ".tools_allowed: expected a list, got a mapping (in /cwd/.ai-agent.json)",
    );
    check(
        json!({"type": "openia"}),
        ".type: expected one of openai, openai_responses, anthropic, google, openrouter, ollama, local, scripted, got the text \"openia\" (in /cwd/.ai-agent.json)",
    );
    check(
        json!(7),
        ": providers.cloud in /cwd/.ai-agent.json: it is no JSON object",
    );
}

/// 000/7.layers.4
/// 001/8.overrides.2
/// 001/6.defaults.1
#[test]
fn defaults_stand_where_a_contract_that_takes_from_layers_says_nothing() {
    let fixture = Fixture::new();
    let low =
        json!({"defaults": {"maxTurns": 4, "temperature": 0.1, "topP": 0.2, "verbose": true}});
    fixture.write("me/.ai-agent/ai-agent.json", &low);
    let high = json!({
        "providers": {"cloud": {"type": "openai"}},
        "defaults": {
            "maxRetries": 2, "maxToolCallsPerTurn": 7, "temperature": "${T}", "toolResponseMaxBytes": 99,
            "llmTimeout": 11, "toolTimeout": 12, "contextWindowBufferTokens": 13, "stream": true,
            "parallelToolCalls": true, "repeatPenalty": 1.5, "maxOutputTokens": 14,
        },
    });
    fixture.write("cwd/.ai-agent.json", &high);
    fixture.write("cwd/.ai-agent.env", "T=off");
    let asks = "task: t\ntargets: [{provider: cloud, model: m}]\n";
    let spec = fixture.spec(asks).unwrap();
    let limits = (spec.max_turns, spec.max_attempts_per_turn);
    assert_eq!(limits, (Some(4), Some(2)));
    assert_eq!(spec.max_tool_calls_per_turn, Some(7));
    assert_eq!(
        (spec.llm_timeout_ms, spec.tool_timeout_ms),
        (Some(11), Some(12))
    );
    assert_eq!(spec.context_budget.buffer, Some(13));
    assert_eq!(spec.tool_output_budget.max_bytes_per_call, Some(99));
    assert_eq!(spec.parallel_tool_calls, Some(true));
    assert_eq!(spec.sampling.stream, Some(true));
    assert_eq!(spec.sampling.temperature, Setting::Off);
    assert_eq!(spec.sampling.top_p, Setting::Value(0.2));
    assert_eq!(spec.sampling.repeat_penalty, Setting::Value(1.5));
    assert_eq!(spec.sampling.max_output_tokens, Setting::Value(14));
    let origin = |path: &str| fixture.shown(&spec.origins[path].to_string());
    assert_eq!(origin("max_turns"), "/me/.ai-agent/ai-agent.json");
    assert_eq!(origin("sampling.temperature"), "/cwd/.ai-agent.json");

    // What the file says counts, also where it switches something off; an override comes before both.
    let says = format!("{asks}max_turns: 9\nsampling: {{temperature: 1, top_p: null}}\n");
    let layers = fixture.layers(None);
    let sets = ["max_attempts_per_turn=1".to_owned()];
    let spec = ContractSpec::parse_with("c.yaml", &says, &sets, &layers).unwrap();
    assert_eq!(
        (spec.max_turns, spec.max_attempts_per_turn),
        (Some(9), Some(1))
    );
    assert_eq!(spec.sampling.temperature, Setting::Value(1.0));
    assert_eq!(spec.sampling.top_p, Setting::Off);
    assert!(
        !spec.origins.contains_key("max_turns"),
        "{:?}",
        spec.origins
    );

    // A contract that takes nothing is what it says, unless a file is named.
    let whole = "task: t\ntargets: [{provider: p, model: m}]\nproviders: {p: {type: ollama}}\n";
    assert_eq!(fixture.spec(whole).unwrap().max_turns, None);
    let named = fixture.layers(Some("cwd/.ai-agent.json"));
    let spec = ContractSpec::parse_with("c.yaml", whole, &[], &named).unwrap();
    assert_eq!(
        (spec.max_turns, spec.max_attempts_per_turn),
        (Some(4), Some(2))
    );
}

#[test]
fn a_higher_layer_counts_under_any_name_of_a_key() {
    let check = |high: Value, low: Value, expect: u32| {
        let fixture = Fixture::new();
        fixture.write("me/.ai-agent/ai-agent.json", &json!({"defaults": low}));
        let cloud = json!({"cloud": {"type": "openai"}});
        let high = json!({"providers": cloud, "defaults": high});
        fixture.write("cwd/.ai-agent.json", &high);
        let asks = "task: t\ntargets: [{provider: cloud, model: m}]\n";
        let spec = fixture.spec(asks).unwrap();
        assert_eq!(spec.max_turns, Some(expect), "{high}");
        let origin = fixture.shown(&spec.origins["max_turns"].to_string());
        assert_eq!(origin, "/cwd/.ai-agent.json");
    };
    check(json!({"maxTurns": 9}), json!({"maxToolTurns": 4}), 9);
    check(json!({"maxToolTurns": 9}), json!({"maxTurns": 4}), 9);
    // An overruled value is no fault any more.
    let both = json!({"maxTurns": 4, "maxToolTurns": 5});
    check(json!({"maxTurns": 9}), both, 9);

    let check = |high: Value, low: Value, path: &str, expect: Value| {
        let fixture = Fixture::new();
        let low = json!({"providers": {"cloud": low}});
        fixture.write("me/.ai-agent/ai-agent.json", &low);
        let high = json!({"providers": {"cloud": high}});
        fixture.write("cwd/.ai-agent.json", &high);
        let layers = fixture.layers(None);
        let found = layers
            .find(DefinitionKind::Provider, "cloud")
            .unwrap()
            .unwrap();
        let made = Value::Object(found.members);
        assert_eq!(made.pointer(path), Some(&expect), "{made}");
    };
    check(
        json!({"type": "openai", "baseUrl": "http://high"}),
        json!({"base_url": "http://low"}),
        "/base_url",
        json!("http://high"),
    );
    check(
        json!({"type": "openai", "api_key_env": "HIGH"}),
        json!({"apiKey": "${LOW}"}),
        "/api_key_env",
        json!("HIGH"),
    );
    check(
        json!({"models": {"m": {"context_window": 9}}}),
        json!({"models": {"m": {"contextWindow": 4}}}),
        "/models/m/context_window",
        json!(9),
    );
    check(
        json!({"overrides": {"top_p": 0.9}}),
        json!({"overrides": {"topP": 0.4}}),
        "/overrides",
        json!({"top_p": 0.9}),
    );
    // Free names are taken as written.
    check(
        json!({"headers": {"baseUrl": "a"}}),
        json!({"headers": {"base_url": "b"}}),
        "/headers",
        json!({"baseUrl": "a", "base_url": "b"}),
    );
}

#[test]
fn a_default_that_no_contract_allows_is_refused_by_its_name() {
    let check = |defaults: Value, expect: &str| {
        let fixture = Fixture::new();
        let config = json!({"providers": {"cloud": {"type": "openai"}}, "defaults": defaults});
        fixture.write("cwd/.ai-agent.json", &config);
        let fault = fixture.spec("task: t\ntargets: [{provider: cloud, model: m}]\n");
        let fault = fixture.shown(&fault.unwrap_err());
        assert_eq!(fault.lines().next().unwrap(), format!("error: {expect}"));
    };
    let at = "in /cwd/.ai-agent.json";
    check(
        json!({"topK": 4}),
        &format!("defaults.topK {at}: a contract has no place for it"),
    );
    check(
        json!({"maxTurns": 4, "maxToolTurns": 5}),
        &format!("defaults.maxToolTurns {at}: maxTurns and maxToolTurns are one and the same"),
    );
    check(
        json!({"temperature": [1]}),
        &format!("defaults.temperature {at}: it is no single value"),
    );
    check(
        json!({"maxRetries": "many"}),
        &format!("max_attempts_per_turn: expected a whole number, got a text ({at})"),
    );
    check(
        json!(7),
        "providers.cloud: configuration /cwd/.ai-agent.json: defaults is no JSON object",
    );
}

/// 000/7.placeholders.3
/// 001/7.env.2
#[test]
fn an_error_never_shows_what_a_variable_holds() {
    let check = |config: Value, contract: &str, expect: &str| {
        let fixture = Fixture::new();
        fixture.write("cwd/.ai-agent.json", &config);
        fixture.write("cwd/.ai-agent.env", "KEY=hunter2-hunter2\n");
        let fault = fixture.spec(contract).unwrap_err();
        assert!(!fault.contains("hunter2"), "{fault}");
        assert!(fault.contains(expect), "{fault}");
    };
    let cloud = |cloud: Value| json!({"providers": {"cloud": cloud}});
    let asks = "task: t\ntargets: [{provider: cloud, model: m}]\n";
    let got = "got the value of a variable (in ";
    check(cloud(json!({"type": "${KEY}"})), asks, got);
    check(cloud(json!({"type": "a${KEY}b"})), asks, got);
    let typed = |key: &str, value: Value| cloud(json!({"type": "openai", key: value}));
    check(
        typed("baseUrl", json!("${KEY}")),
        asks,
        "begins with https://",
    );
    check(typed("overrides", json!({"topP": "${KEY}"})), asks, got);
    check(
        typed("models", json!({"m": {"contextWindow": "${KEY}"}})),
        asks,
        got,
    );
    check(
        typed("models", json!({"m": {"overrides": {"topP": "${KEY}"}}})),
        asks,
        got,
    );
    let server = json!({"mcpServers": {"fs": {"command": ["x", "${KEY}"], "queue": "${KEY}"}}});
    let uses = "task: t\ntargets: [{provider: p, model: m}]\nproviders: {p: {type: ollama}}\ntools: {mcp: {fs: }}\n";
    check(
        server,
        uses,
        "no queue of the name that a variable holds is defined under `queues`",
    );
    let queue = json!({"mcpServers": {"fs": {"command": "x", "queue": "q"}}, "queues": {"q": {"concurrent": "${KEY}"}}});
    check(queue, uses, got);
}

#[test]
fn a_file_that_the_caller_names_must_be_there() {
    let locations = Locations {
        config: Some(Path::new("/no/such.json").to_owned()),
        ..Locations::default()
    };
    let environment = Environment::new(|_| None);
    let fault = Layers::at(locations, environment, &LayerFiles::default());
    let fault = fault.err().unwrap();
    assert_eq!(
        fault.to_string(),
        "configuration /no/such.json: there is no such file"
    );
}

#[test]
fn a_contract_can_do_without_the_tokenizer_of_a_layer() {
    let fixture = Fixture::new();
    let models = json!({"m": {"tokenizer": "anthropic"}});
    let layer = json!({"providers": {"cloud": {"type": "openai", "models": models}}});
    fixture.write("cwd/.ai-agent.json", &layer);
    let asks = "task: t\ntargets: [{provider: cloud, model: m}]\n";
    let check = |more: &str, expect: Option<&str>| {
        let spec = fixture.spec(&format!("{asks}{more}\n")).unwrap();
        assert_eq!(spec.tokenizer_id().as_deref(), expect, "{more}");
    };
    check("", Some("anthropic"));
    check("tokenizer: null", None);
    check("tokenizer: gpt-4o", Some("o200k_base/1"));
    check("providers: {cloud: {models: {m: {tokenizer: null}}}}", None);
    check(
        "providers: {cloud: {models: {m: {tokenizer: gpt-4o}}}}",
        Some("o200k_base/1"),
    );
    check("providers: {cloud: {models: {m: null}}}", Some("anthropic"));
}

/// 001 §6: the form of this place counts before the one for every place; a contract file has a report only where it says so.
/// 001/6.defaults.1
#[test]
fn the_form_of_reports_is_a_default_of_agents_alone() {
    let check = |defaults: Value, expect: Result<Option<&str>, &str>| {
        let fixture = Fixture::new();
        fixture.write("cwd/.ai-agent.json", &json!({"defaults": defaults}));
        let layers = fixture.layers(None);
        let found = layers.report_format();
        let found = found.map_err(|fault| fixture.shown(&fault));
        assert_eq!(
            found,
            expect
                .map(|word| word.map(str::to_owned))
                .map_err(str::to_owned)
        );
    };
    check(json!({}), Ok(None));
    check(json!({"outputFormat": "pipe"}), Ok(Some("pipe")));
    check(
        json!({"format": "text", "formats": {"slack": "json"}}),
        Ok(Some("text")),
    );
    check(
        json!({"outputFormat": "pipe", "formats": {"cli": "tty"}}),
        Ok(Some("tty")),
    );
    let all = "json, markdown, markdown+mermaid, pipe, slack-block-kit, sub-agent, text, tty";
    let fault = format!("defaults.outputFormat in /cwd/.ai-agent.json: it is none of {all}");
    check(json!({"outputFormat": "pdf"}), Err(&fault));
}
