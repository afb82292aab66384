//! Tests of the providers of the layers: what each key of 001 §6 is in a contract.

use serde_json::{Value, json};

use super::Fixture;
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, Definitions as _, ExecutionContract, ProviderType,
    ReasoningValue, ServerKind, TargetCapability,
};

/// The contract of a file with those targets, given that layer.
fn contract(layer: &Value, targets: &str, more: &str) -> ExecutionContract {
    let fixture = Fixture::new();
    fixture.write("prompt/.ai-agent.json", layer);
    let text = format!("task: t\ntool_policy: optional\ntargets: [{targets}]\n{more}");
    let spec = fixture.spec(&text).unwrap();
    let found = CapabilityManifest {
        targets: vec![TargetCapability::default(); spec.targets.len()],
        ..CapabilityManifest::default()
    };
    ContractFactory.make(&spec, &found, None).unwrap()
}

const TWO: &str = "{provider: web, model: small}, {provider: web, model: large}";

fn layer(provider: &Value) -> Value {
    json!({"providers": {"web": provider}, "defaults": {"contextWindowBufferTokens": 7}})
}

/// 001 §6: windows, tokenizers and buffers of a provider are those of its models that say nothing else.
/// 001/6.providers.3, 001/6.providers.5, 001/6.providers.6, 001/6.providers.7
#[test]
fn a_provider_states_windows_tokenizers_and_buffers_for_its_models() {
    let provider = json!({
        "type": "openai", "contextWindow": 9000, "tokenizer": "gpt-4o", "contextWindowBufferTokens": 1024,
        "models": {"large": {"contextWindow": 64_000, "contextWindowBufferTokens": 2048}},
    });
    let made = contract(&layer(&provider), TWO, "");
    let windows: Vec<u64> = made
        .targets
        .iter()
        .map(|target| target.context_window)
        .collect();
    assert_eq!(windows, [9000, 64_000]);
    assert_eq!(made.tokenizer.as_deref(), Some("o200k_base/1"));
    assert_eq!(
        made.context_budget.buffer, 2048,
        "the largest of the targets"
    );
    let buffer = |targets: &str, more: &str| {
        let made = contract(&layer(&provider), targets, more);
        made.context_budget.buffer
    };
    assert_eq!(
        buffer("{provider: web, model: small}", ""),
        1024,
        "before the defaults"
    );
    assert_eq!(
        buffer(TWO, "context_budget: {buffer: 9}\n"),
        9,
        "after the file"
    );
    let plain = json!({"type": "openai", "contextWindow": 9000});
    let made = contract(&layer(&plain), "{provider: web, model: small}", "");
    assert_eq!(made.context_budget.buffer, 7, "the defaults of the layers");
    let own = json!({
        "type": "openai", "contextWindow": 9000, "tokenizer": "gpt-4o",
        "models": {"small": {"tokenizer": null}},
    });
    let made = contract(&layer(&own), "{provider: web, model: small}", "");
    assert_eq!(made.tokenizer, None, "a model comes before its provider");
}

/// 001 §6: levels of reasoning are one value or four, of words or tokens, and null is none.
/// 001/6.providers.8
#[test]
fn levels_of_reasoning_are_what_the_provider_or_its_model_says() {
    let provider = json!({
        "type": "anthropic", "contextWindow": 9000, "reasoning": [null, "light", 2048, 8192],
        "models": {"large": {"reasoning": "max"}},
    });
    let level = |level: &str, model: &str| {
        let target = format!("{{provider: web, model: {model}}}");
        let more = format!("sampling: {{reasoning: {level}}}\n");
        let made = contract(&layer(&provider), &target, &more);
        let sampling = &made.targets[0].sampling;
        (
            sampling.reasoning.is_some(),
            sampling.reasoning_value.clone(),
        )
    };
    let word = |word: &str| Some(ReasoningValue::Word(word.to_owned()));
    assert_eq!(level("minimal", "small"), (false, None));
    assert_eq!(level("low", "small"), (true, word("light")));
    assert_eq!(
        level("medium", "small"),
        (true, Some(ReasoningValue::Tokens(2048)))
    );
    assert_eq!(
        level("high", "small"),
        (true, Some(ReasoningValue::Tokens(8192)))
    );
    assert_eq!(level("low", "large"), (true, word("max")));
}

/// 001 §6: a filter of tools at a provider is part of the contract; a higher layer replaces a list of a lower one.
/// 001/6.providers.9
#[test]
fn a_filter_of_tools_at_a_provider_is_part_of_the_contract() {
    let provider = json!({
        "type": "openai", "contextWindow": 9000, "toolsAllowed": ["a", "B"], "toolsDenied": ["c"],
    });
    let made = contract(&layer(&provider), "{provider: web, model: small}", "");
    let web = &made.providers["web"];
    let allowed = web.tools_allowed.as_deref();
    assert_eq!(allowed, Some(&["a".to_owned(), "B".to_owned()][..]));
    assert_eq!(web.tools_denied, ["c"]);
    let plain = json!({"type": "openai", "contextWindow": 9000});
    let other = contract(&layer(&plain), "{provider: web, model: small}", "");
    assert_ne!(made.contract_hash(), other.contract_hash());
    assert!(other.providers["web"].offers_all_tools());
}

/// 001 §4: a placeholder is replaced wherever it stands, also in words that say what something is.
/// 001/4.layers.5
#[test]
fn placeholders_are_replaced_in_the_words_of_a_layer_too() {
    let fixture = Fixture::new();
    let layer = json!({
        "providers": {"cloud": {"type": "${KIND}", "tokenizer": "${COUNTER}"}},
        "mcpServers": {"far": {"type": "${WIRE}", "url": "http://${HOST}/x", "queue": "${QUEUE}"}},
        "queues": {"slow": {"concurrent": 2}},
        "defaults": {"outputFormat": "${FORM}", "formats": {"cli": "${FORM}"}},
    });
    fixture.write("cwd/.ai-agent.json", &layer);
    let variables = "KIND=openai\nCOUNTER=gpt-4o\nWIRE=sse\nHOST=h\nQUEUE=slow\nFORM=pipe";
    fixture.write("cwd/.ai-agent.env", variables);
    let text = "task: t\ntargets: [{provider: cloud, model: m}]\ntools: {mcp: {far: }}\n";
    let spec = fixture.spec(text).unwrap();
    assert_eq!(spec.tokenizer_id().as_deref(), Some("o200k_base/1"));
    let far = &spec.tools.servers["far"];
    assert_eq!(far.transport.kind(), ServerKind::Sse);
    let layers = fixture.layers(None);
    assert_eq!(layers.report_format(), Ok(Some("pipe".to_owned())));
}

/// ai-agent's word for a server with OpenAI's API, and its word for one of the two protocols.
/// 001/6.providers.12
#[test]
fn a_compatible_provider_and_a_mode_of_openai_are_protocols() {
    let kind = |provider: Value| {
        let fixture = Fixture::new();
        fixture.write("cwd/.ai-agent.json", &layer(&provider));
        let spec = fixture.spec("task: t\ntargets: [{provider: web, model: m}]\n");
        spec.map(|spec| spec.providers["web"].provider_type)
    };
    let at = "http://h.example/v1";
    let compatible = json!({"type": "openai-compatible", "baseUrl": at, "openaiMode": "responses"});
    assert_eq!(
        kind(compatible),
        Ok(ProviderType::Openai),
        "it has chat alone"
    );
    let mode = |mode: &str| kind(json!({"type": "openai", "openaiMode": mode}));
    assert_eq!(mode("chat"), Ok(ProviderType::Openai));
    assert_eq!(mode("responses"), Ok(ProviderType::OpenaiResponses));
    let fault = mode("assistants").unwrap_err();
    assert!(fault.contains("providers.web.openaiMode in"), "{fault}");
    assert!(fault.contains("expected chat or responses"), "{fault}");
    // Its key would go to OpenAI.
    let fault = kind(json!({"type": "openai-compatible", "baseUrl": null})).unwrap_err();
    assert!(fault.contains("providers.web.type in"), "{fault}");
    assert!(fault.contains("needs a baseUrl"), "{fault}");
}

/// Preferences for the hosts behind OpenRouter are an option of its requests, beside `providerOptions` as in them.
/// 001/6.providers.10
#[test]
fn routing_beside_the_options_of_openrouter_is_one_of_them() {
    let options = |kind: &str, custom: Value| {
        let fixture = Fixture::new();
        let provider = json!({"type": kind, "custom": custom});
        fixture.write("cwd/.ai-agent.json", &layer(&provider));
        let spec = fixture.spec("task: t\ntargets: [{provider: web, model: m}]\n")?;
        let options = spec.providers["web"].provider_options.clone();
        let options = options.map(|text| serde_json::from_str::<Value>(&text).unwrap());
        Ok::<_, String>(options)
    };
    let routing = json!({"sort": "price"});
    let alone = options("openrouter", json!({"provider": routing}));
    assert_eq!(alone, Ok(Some(json!({"provider": routing}))));
    let both = json!({"provider": routing, "providerOptions": {"openrouter": {"user": "me"}}});
    let expect = json!({"provider": routing, "user": "me"});
    assert_eq!(options("openrouter", both), Ok(Some(expect)));
    let fault = options("ollama", json!({"provider": routing})).unwrap_err();
    assert!(
        fault.contains("providers.web.custom.provider in"),
        "{fault}"
    );
}

/// 001 §6: monolith ignores keys of other programs in public files, and a note names those of definitions.
/// 001/6.providers.1, 001/6.defaults.1
#[test]
fn keys_of_public_files_that_mean_nothing_are_read_over_with_a_note() {
    let fixture = Fixture::new();
    let layer = json!({
        "providers": {"cloud": {
            "type": "ollama", "mergeStrategy": "overlay", "custom": {"stream": true},
            "stringSchemaFormatsAllowed": ["date"], "stringSchemaFormatsDenied": ["uri"],
            "models": {"m": {"interleaved": true}, "n": {"interleaved": false, "toolChoice": "auto"}},
        }},
        "mcpServers": {"fs": {"command": "true", "cache": "1d", "requestTimeoutMs": 9}},
        "restTools": {"ask": {
            "method": "GET", "url": "https://h.example/", "cache": 7,
            "streaming": {"mode": "json-stream", "timeoutMs": 60_000, "maxBytes": 9},
        }},
        "defaults": {"maxConcurrentTools": 3, "mcpInitConcurrency": 10, "maxToolTurns": 7},
    });
    fixture.write("cwd/.ai-agent.json", &layer);
    let asks =
        "task: t\ntargets: [{provider: cloud, model: m}]\ntools: {mcp: {fs: }, rest: {ask: }}\n";
    let spec = fixture.spec(asks).unwrap();
    assert_eq!(spec.max_turns, Some(7));
    assert_eq!(spec.providers["cloud"].provider_options, None);
    let notes = spec.clamped.iter().map(|note| fixture.shown(note));
    let keys = [
        "`cache` of a tool server",
        "`requestTimeoutMs` of a tool server",
        "`mergeStrategy` of a provider",
        "`stringSchemaFormatsAllowed` of a provider",
        "`stringSchemaFormatsDenied` of a provider",
        "`stream` of `custom` of a provider",
        "`interleaved` of a model",
        "`toolChoice` of a model",
        "`cache` of a REST tool",
        "`maxBytes` of `streaming` of a REST tool",
        "`timeoutMs` of `streaming` of a REST tool",
    ];
    let expect = keys.map(|key| format!("/cwd/.ai-agent.json: {key} is ignored"));
    assert_eq!(notes.collect::<Vec<_>>(), expect);
}
