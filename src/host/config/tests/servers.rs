//! Tests of the tool servers and queues of the layers.

use serde_json::json;

use super::Fixture;
use monolith_core::contract::{
    DefinitionKind, Definitions as _, HealthProbe, HttpMethod, McpTransport, ProviderType, Remote,
};

/// 000/7.layers.5, 000/7.placeholders.5, 000/7.queues.1
/// 001/6.servers.6, 001/6.servers.8
#[test]
fn servers_and_their_queues_come_from_layers_and_the_file_counts_where_both_speak() {
    let fixture = Fixture::new();
    fixture.write(
        "prompt/.ai-agent.json",
        &json!({
            "mcpServers": {
                "fs": {"type": "stdio", "command": ["npx", "-y"], "args": ["${WHAT}"], "env": {"T": "${T}"}, "queue": "slow", "shared": true},
                "old": {"type": "sse", "url": "http://o/"},
                "web": {"type": "http", "url": "http://w/", "headers": {"Authorization": "Bearer ${T}"}, "queue": "fast"},
            },
            "queues": {"slow": {"concurrent": 2}},
        }),
    );
    fixture.write("prompt/.ai-agent.env", "WHAT=server-fs\n");
    let text = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
    let spec = fixture
        .spec(&format!(
            "{text}tools: {{mcp: {{fs: , old: , web: {{queue: slow}}}}}}\n"
        ))
        .unwrap();
    let McpTransport::Stdio {
        arg_variables,
        args,
        command,
        env,
    } = &spec.tools.servers["fs"].transport
    else {
        panic!("{spec:?}");
    };
    assert_eq!(
        (command.as_str(), args.as_slice()),
        ("npx", &["-y".to_owned(), "${WHAT}".to_owned()][..])
    );
    assert_eq!(
        arg_variables,
        &["WHAT"],
        "put in when the server is started"
    );
    let old = spec.tools.servers["old"].transport.clone();
    assert!(matches!(
        old,
        McpTransport::Remote {
            remote: Remote::Sse,
            ..
        }
    ));
    assert_eq!(env["T"], "${T}", "expanded when the server is started");
    assert_eq!(spec.tools.servers["web"].queue.as_deref(), Some("slow"));
    assert_eq!(spec.queues["slow"].concurrent, 2);
    let fault = fixture
        .spec(&format!("{text}tools: {{mcp: {{web: }}}}\n"))
        .unwrap_err();
    assert!(
        fault.contains("no queue `fast` is defined under `queues`"),
        "{fault}"
    );
}

/// 001 §6: every type of server, with the names that it had.
/// 001/6.servers.1
#[test]
fn servers_of_every_type_and_of_the_older_names_are_servers_of_the_contract() {
    let fixture = Fixture::new();
    let check = |kind: &str, expect: Option<Remote>| {
        let server = match expect {
            None => json!({"type": kind, "command": "x", "args": []}),
            Some(Remote::Websocket) => json!({"type": kind, "url": "ws://h/"}),
            Some(_) => json!({"type": kind, "url": "http://h/"}),
        };
        fixture.write("cwd/.ai-agent.json", &json!({"mcpServers": {"s": server}}));
        let text = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\ntools: {mcp: {s: }}\n";
        let spec = fixture.spec(text).unwrap();
        let found = match &spec.tools.servers["s"].transport {
            McpTransport::Remote { remote, .. } => Some(*remote),
            McpTransport::Stdio { .. } => None,
            other => panic!("{kind}: {other:?}"),
        };
        assert_eq!(found, expect, "{kind}");
    };
    check("stdio", None);
    check("local", None);
    check("http", Some(Remote::Http));
    check("remote", Some(Remote::Http));
    check("sse", Some(Remote::Sse));
    check("websocket", Some(Remote::Websocket));
}

/// 001 §6: what a server of the layers may have.
/// 001/6.servers.2
/// 001/6.servers.9
#[test]
fn a_server_of_the_layers_keeps_its_filters_its_probe_and_whether_it_is_shared() {
    let fixture = Fixture::new();
    let high = json!({"mcpServers": {"fs": {"tools_allowed": ["READ_FILE"], "healthProbe": "listTools"}, "web": {"toolsAllowed": "one"}}});
    fixture.write("cwd/.ai-agent.json", &high);
    let low = json!({"mcpServers": {
        "fs": {
            "type": "local", "command": "x", "toolsAllowed": ["any"], "toolsDenied": "write_file", "shared": false, "toolSchemas": {"a": 1},
            "health_probe": "ping",
        },
        "web": {"type": "remote", "url": "http://w/"},
        "off": {"command": "x", "enabled": false},
        "odd": {"command": "x", "enabled": "no"},
    }});
    fixture.write("me/.ai-agent/ai-agent.json", &low);
    let text = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
    let spec = fixture
        .spec(&format!("{text}tools: {{mcp: {{fs: , web: }}}}\n"))
        .unwrap();
    let fs = &spec.tools.servers["fs"];
    assert_eq!(fs.tools.allowed, Some(vec!["READ_FILE".to_owned()]));
    assert_eq!(fs.tools.denied, ["write_file"]);
    assert_eq!(fs.terms.health_probe, HealthProbe::ListTools);
    assert!(!fs.shared);
    let web = &spec.tools.servers["web"];
    assert_eq!(web.tools.allowed, Some(vec!["one".to_owned()]));
    assert!(matches!(
        web.transport,
        McpTransport::Remote {
            remote: Remote::Http,
            ..
        }
    ));
    assert!(web.shared);
    // A text is no switch: one that says `no` would leave the server on.
    for (server, rule) in [
        ("off", "the server is switched off"),
        ("odd", "expected true or false, without quotes"),
    ] {
        let named = format!("{text}tools: {{mcp: {{{server}: }}}}\n");
        let fault = fixture.spec(&named).unwrap_err();
        assert!(fault.contains(rule), "{fault}");
    }
}

/// 001 §6: a REST tool of the layers, with the names that other programs have for its keys.
/// 001/6.rest.1
#[test]
fn a_rest_tool_of_the_layers_is_the_tool_of_a_contract_and_keeps_places_of_arguments() {
    let fixture = Fixture::new();
    let mut tool = json!({
        "description": "Lists.",
        "method": "POST",
        "url": "${BASE}/catalog/${parameters.shelf}",
        "headers": {"Authorization": "Bearer ${T}"},
        "parametersSchema": {"type": "object", "properties": {"shelf": {"type": "string"}, "topP": {}}},
        "bodyTemplate": {"topP": "${parameters.topP}", "fixed": "${WHAT}"},
        "streaming": {"mode": "json-stream", "linePrefix": "data: ", "doneValue": "end"},
        "queue": "slow",
    });
    let layer = |tool: &serde_json::Value| {
        fixture.write(
            "prompt/.ai-agent.json",
            &json!({"restTools": {"list": tool}, "queues": {"slow": {"concurrent": 2}}}),
        );
        fixture.write("prompt/.ai-agent.env", "BASE=https://h.example\nWHAT=x\n");
        let text = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
        fixture.spec(&format!("{text}tools: {{rest: {{list: }}}}\n"))
    };
    let spec = layer(&tool).unwrap();
    let server = &spec.tools.servers["rest__list"];
    assert_eq!(server.queue.as_deref(), Some("slow"));
    let McpTransport::Rest {
        headers,
        tool: read,
        ..
    } = &server.transport
    else {
        panic!("{spec:?}");
    };
    assert_eq!(
        headers["Authorization"], "Bearer ${T}",
        "expanded when it is set up"
    );
    assert_eq!(read.url, "https://h.example/catalog/${parameters.shelf}");
    let body = json!({"topP": "${parameters.topP}", "fixed": "x"});
    assert_eq!(read.body_template.as_ref(), Some(&body));
    let streaming = read.streaming.clone().unwrap_or_default();
    assert_eq!(
        (
            streaming.line_prefix.as_str(),
            streaming.done_value.as_str()
        ),
        ("data: ", "end")
    );
    assert_eq!(streaming.token_field, "content");
    tool["cookies"] = json!(7);
    let fault = layer(&tool).unwrap_err();
    assert!(
        fault.contains("restTools.list.cookies") && fault.contains("no place"),
        "{fault}"
    );
}

/// 001 §6: a web service of the layers. The path of its description begins where it is written.
/// 001/6.openapi.1
#[test]
fn a_description_of_the_layers_is_a_service_of_the_contract() {
    let fixture = Fixture::new();
    let inventory = json!({
        "spec": "./specs/inventory.yaml",
        "baseUrl": "${BASE}/v1",
        "headers": {"Authorization": "Bearer ${T}"},
        "includeMethods": ["get", "post"],
        "tagFilter": ["catalog"],
        "toolsDenied": ["drop"],
    });
    let layers = json!({"openapiSpecs": {"inventory": inventory}});
    fixture.write("prompt/.ai-agent.json", &layers);
    fixture.write("prompt/.ai-agent.env", "BASE=https://h.example\n");
    let other = json!({"openapiSpecs": {
        "other": {"spec": "o.yaml"}, "far": {"spec": "https://h.example/o.json"}, "odd": {"spec": "o", "cache": 7},
    }});
    fixture.write("me/.ai-agent/ai-agent.json", &other);
    let spec = |name: &str| {
        let text = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
        fixture.spec(&format!("{text}tools: {{openapi: {{{name}: }}}}\n"))
    };
    let terms = |name: &str| {
        let spec = spec(name).unwrap();
        let server = &spec.tools.servers[&format!("rest__{name}")];
        let McpTransport::Openapi { headers, terms } = &server.transport else {
            panic!("{spec:?}");
        };
        (server.tools.denied.clone(), headers.clone(), terms.clone())
    };
    let (denied, headers, inventory) = terms("inventory");
    assert_eq!(denied, ["drop"]);
    assert_eq!(
        headers["Authorization"], "Bearer ${T}",
        "expanded when it is set up"
    );
    assert_eq!(inventory.spec, "./specs/inventory.yaml");
    assert_eq!(inventory.base_url.as_deref(), Some("https://h.example/v1"));
    assert_eq!(
        inventory.include_methods,
        [HttpMethod::Get, HttpMethod::Post]
    );
    assert_eq!(inventory.tags, ["catalog"]);
    let elsewhere = terms("other").2.spec;
    assert!(
        std::path::Path::new(&elsewhere).is_absolute(),
        "{elsewhere}"
    );
    assert!(elsewhere.ends_with("me/.ai-agent/o.yaml"), "{elsewhere}");
    assert_eq!(terms("far").2.spec, "https://h.example/o.json");
    let fault = spec("odd").unwrap_err();
    assert!(
        fault.contains("openapiSpecs.odd.cache") && fault.contains("no place"),
        "{fault}"
    );
}

/// 001 §6: the provider without a model, which plays a script. The path of that begins where it is written.
/// 001/6.providers.2
#[test]
fn a_provider_for_tests_is_a_scripted_one() {
    let fixture = Fixture::new();
    let layer = |file: &str| json!({"providers": {"fake": {"type": "test-llm", "file": file}}});
    fixture.write("prompt/.ai-agent.json", &layer("answers.jsonl"));
    let text = "task: t\ntargets: [{provider: fake, model: m}]\n";
    let read = |text: &str| {
        fixture
            .spec(text)
            .unwrap()
            .providers
            .remove("fake")
            .unwrap()
    };
    let here = read(text);
    assert_eq!(here.provider_type, ProviderType::Scripted);
    assert_eq!(here.file.as_deref(), Some("answers.jsonl"));
    fixture.write("prompt/.ai-agent.json", &json!({}));
    fixture.write("me/.ai-agent/ai-agent.json", &layer("answers.jsonl"));
    let elsewhere = read(text).file.unwrap();
    assert!(
        elsewhere.ends_with("me/.ai-agent/answers.jsonl"),
        "{elsewhere}"
    );
}

/// 001 §6: model prices of a provider of the layers. The file's own prices take precedence, and the file's own providers keep
/// their prices. 001/6.providers.4
#[test]
fn prices_of_the_layers_are_those_of_the_targets_that_are_theirs() {
    let fixture = Fixture::new();
    let pricing = json!({
        "cloud": {
            "org/m.1": {"unit": "per_1k", "currency": "USD", "prompt": 0.25, "completion": 1, "cacheRead": 0.5},
            "other": {"prompt": 9, "completion": 9},
        },
        "own": {"x": {"prompt": 9, "completion": 9}},
    });
    let layer = |pricing: &serde_json::Value| {
        let cloud = json!({"type": "ollama"});
        fixture.write(
            "prompt/.ai-agent.json",
            &json!({"providers": {"cloud": cloud}, "pricing": pricing}),
        );
    };
    layer(&pricing);
    let text = "task: t\ntargets: [{provider: cloud, model: org/m.1}, {provider: own, model: x}]\nproviders: {own: {type: ollama}}\n";
    let prices = |more: &str| {
        fixture
            .spec(&format!("{text}{more}"))
            .unwrap()
            .prices
            .unwrap()
    };
    let table = prices("");
    assert_eq!(table.version, "layers");
    assert_eq!(table.models.keys().collect::<Vec<_>>(), ["cloud"]);
    assert_eq!(
        table.models["cloud"].keys().collect::<Vec<_>>(),
        ["org/m.1"]
    );
    let of = |table: &monolith_core::contract::PriceTable| table.models["cloud"]["org/m.1"];
    let stated = prices(
        "prices: {version: a, models: {own: {x: {input: 250, output: 1000}}, cloud: {org/m.1: {output: 2000, unit: per_1m}}}}\n",
    );
    assert_eq!(stated.version, "a");
    // A tenth of a cent for a thousand is a dollar for a million.
    assert_eq!(
        of(&table).input_pico_usd,
        stated.models["own"]["x"].input_pico_usd
    );
    assert_eq!(
        of(&table).output_pico_usd,
        stated.models["own"]["x"].output_pico_usd
    );
    assert_ne!(of(&stated).output_pico_usd, of(&table).output_pico_usd);
    let alone = "task: t\ntargets: [{provider: own, model: x}]\nproviders: {own: {type: ollama}}\n";
    assert_eq!(fixture.spec(alone).unwrap().prices, None);
    for (price, expect) in [
        (
            json!({"prompt": 1, "completion": 1, "currency": "EUR"}),
            "prices are in US dollars",
        ),
        (
            json!({"prompt": 1, "completion": 1, "per": 1}),
            "a contract has no place for it",
        ),
    ] {
        layer(&json!({"cloud": {"org/m.1": price}}));
        let fault = fixture.spec(text).unwrap_err();
        assert!(
            fault.contains("pricing.cloud/org/m.1") && fault.contains(expect),
            "{fault}"
        );
    }
}

/// 001 §6: a root that is missing or blank is the folder of the process.
/// 001/6.servers.3
#[test]
fn a_blank_root_beside_a_layer_is_none() {
    let fixture = Fixture::new();
    let server = json!({"command": "${MCP_ROOT}/serve"});
    fixture.write("cwd/.ai-agent.json", &json!({"mcpServers": {"fs": server}}));
    let command = |variables: &str| {
        fixture.write("cwd/.ai-agent.env", variables);
        let found = fixture.layers(None).find(DefinitionKind::Server, "fs");
        found.map(|found| found.unwrap().members["command"].clone())
    };
    assert_eq!(command("MCP_ROOT=/srv\n"), Ok(json!("/srv/serve")));
    let fault = command("MCP_ROOT='  '\n").unwrap_err();
    assert!(
        fault.contains("Unresolved variable ${MCP_ROOT} for mcp 'fs' at "),
        "{fault}"
    );
}

/// 001 §7: what a variable holds is taken as it is.
/// 001/7.env.4
#[test]
fn a_value_is_never_expanded_again() {
    let fixture = Fixture::new();
    let server = json!({"command": "${OUTER}", "args": ["${OUTER}", "${SHELL_VAR}"]});
    fixture.write("cwd/.ai-agent.json", &json!({"mcpServers": {"fs": server}}));
    fixture.write("cwd/.ai-agent.env", "OUTER='${SHELL_VAR}'\n");
    let found = fixture.layers(None).find(DefinitionKind::Server, "fs");
    let members = found.unwrap().unwrap().members;
    assert_eq!(members["command"], json!("${SHELL_VAR}"));
    // Those of arguments are replaced once, where the server is started.
    assert_eq!(members["args"], json!(["${OUTER}", "${SHELL_VAR}"]));
    assert_eq!(members["arg_variables"], json!(["OUTER", "SHELL_VAR"]));
}

/// 000/1.queues.1, 001/6.servers.14: the queue of servers that name none has the places that the layers give it.
#[test]
fn the_default_queue_of_the_layers_counts_for_what_is_taken_from_them() {
    let fixture = Fixture::new();
    let layer = json!({
        "mcpServers": {"s": {"command": "x", "args": []}},
        "queues": {"default": {"concurrent": 1}},
    });
    fixture.write("prompt/.ai-agent.json", &layer);
    let head = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
    let places = |more: &str| {
        let spec = fixture.spec(&format!("{head}{more}")).unwrap();
        spec.queues.get("default").map(|queue| queue.concurrent)
    };
    assert_eq!(places("tools: {mcp: {s: }}\n"), Some(1));
    let own = "tools: {mcp: {s: }}\nqueues: {default: {concurrent: 3}}\n";
    assert_eq!(places(own), Some(3), "the file comes first");
    assert_eq!(places("tools: {mcp: {t: {command: x, args: []}}}\n"), None);
}

/// The path `./file` in a layer is relative to the layer's folder; a layer may also state a sandbox.
#[test]
fn a_server_of_a_layer_finds_the_files_beside_its_layer_and_states_its_sandbox() {
    let fixture = Fixture::new();
    fixture.write("cwd/mcp/server.js", "x");
    let layer = json!({"mcpServers": {"s": {
        "command": "./mcp/server.js", "args": ["./mcp/server.js", "./gone.js", "mcp/server.js"], "sandbox": "off", "roots": ["."],
    }}});
    fixture.write("cwd/.ai-agent.json", &layer);
    let head = "task: t\ntargets: [{provider: d, model: m}]\nproviders: {d: {type: ollama}}\n";
    let spec = fixture
        .spec(&format!("{head}tools: {{mcp: {{s: }}}}\n"))
        .unwrap();
    let server = &spec.tools.servers["s"];
    let McpTransport::Stdio { args, command, .. } = &server.transport else {
        panic!("{spec:?}");
    };
    assert_eq!(fixture.shown(command), "/cwd/mcp/server.js");
    let args: Vec<String> = args.iter().map(|arg| fixture.shown(arg)).collect();
    assert_eq!(args, ["/cwd/mcp/server.js", "./gone.js", "mcp/server.js"]);
    assert!(server.sandbox.as_ref().is_some_and(|sandbox| sandbox.off));
    assert_eq!(server.terms.roots, ["."]);
}
