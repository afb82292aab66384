//! Command lines and files of ai-agent, as its users have them: 001 §2, §5, §11.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::delegation::{asks, prompt};
use crate::fixture::{Fixture, Left, says};

/// The agents of a public repository that docs/agent-files.md names.
const PUBLIC: [&str; 5] = [
    "code-review/code-review.ai",
    "neda/company.ai",
    "neda/web-fetch.ai",
    "neda/web-research.ai",
    "neda/web-search.ai",
];
/// A run that ends with the model's message, so that a script needs no nonce.
const MESSAGE: [&str; 4] = [
    "--set",
    "completion=message",
    "--set",
    "tool_transport=native",
];

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let layer = json!({"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}});
    fixture.layer(&layer.to_string());
    fixture.write("s.jsonl", &says("Hello."));
    fixture.write("leaf.ai", "---\nmodels: [demo/script]\n---\nYou are terse.");
    fixture.write("system.txt", "You are terse.");
    fixture.write("task.txt", "Say hello");
    fixture
}

/// 001/5.hierarchies.11, 001/11.direct.16
#[test]
fn a_command_line_of_ai_agent_works_with_its_name_replaced() {
    let fixture = fixture();
    let models = ["--models", "demo/script"];
    let check = |line: &[&str]| {
        let left = fixture.ends(&[line, &MESSAGE[..]].concat(), 0);
        assert_eq!(left.out, "Hello.\n", "{line:?}: {}", left.err);
        left.err
    };
    check(&["--agent", "leaf.ai", "Say hello"]);
    check(&["--max-tool-turns", "3", "leaf.ai", "Say hello"]);
    check(&["leaf.ai", "Say hello", "--quiet"]);
    check(&[&["You are terse.", "Say hello"], &models[..]].concat());
    check(&[&models[..], &["Terse", "Hello"]].concat());
    check(&[&["@system.txt", "@task.txt"], &models[..]].concat());
    let err = check(&["--agent", "./leaf.ai", "--verbose", "System", "Task"]);
    let note = "note: the first text is not used: ./leaf.ai has the system prompt";
    assert!(err.contains(note), "{err}");
    let dry = fixture.ok(&["--dry-run", "--agent", "leaf.ai", "Say hello"]);
    assert!(dry.contains("every tool is there"), "{dry}");
    // What is refused is refused for its own reason.
    let left = fixture.ends(&["--agent", "leaf.ai", "--api", "8080"], 4);
    assert!(
        left.err.contains("monolith answers no requests yet"),
        "{}",
        left.err
    );
    let left = fixture.ends(&["--agent", "gone.ai", "Say hello"], 4);
    assert!(left.err.contains("gone.ai"), "{}", left.err);
    let left = fixture.ends(&["You are terse.", "Say hello"], 4);
    assert!(left.err.contains("no model is named"), "{}", left.err);
}

/// 001 §6: a provider of this type needs no file, and answers any agent.
/// 001/6.providers.2
#[test]
fn test_llm_without_a_file_answers_by_a_built_in_script() {
    let fixture = Fixture::new();
    fixture.layer(r#"{"providers": {"fake": {"type": "test-llm"}}}"#);
    fixture.write("a.ai", "---\nmodels: [fake/any]\n---\nYou are terse.");
    let answer = "This is the built-in answer of test-llm.\n";
    assert_eq!(fixture.ok(&["a.ai", "Say hello", "--run-id", "r1"]), answer);
    fixture.ok(&["verify", "r1"]);
    fixture.ok(&["replay", "r1"]);
    let again = ["continue", "r1", "Again", "--run-id", "r2"];
    assert_eq!(fixture.ok(&again), answer);
    let direct = ["Terse", "Say hello", "--models", "fake/any"];
    assert_eq!(fixture.ok(&[&direct[..], &MESSAGE].concat()), answer);
}

/// 001 §5: providers accept no dot in a name, and a prompt names the agent as its file does.
/// 001/5.hierarchies.2
#[test]
fn a_dotted_tool_name_is_called_as_the_prompt_has_it_and_as_requests_have_it() {
    for called in ["agent__research.company", "agent__research_company"] {
        let fixture = Fixture::new();
        fixture.layer(r#"{"providers": {"fake": {"type": "test-llm"}}}"#);
        let calls = asks(&[(called, prompt("Who?"))], "Done.");
        fixture.agent("lead", "agents: [company.ai]\n", &calls);
        let front = "description: Knows companies\ntoolName: research.company\nmodels: [fake/any]";
        fixture.write("company.ai", &format!("---\n{front}\n---\nYou know."));
        let run = ["run", "lead.yaml", "--task", "x", "--run-id", "lead"];
        assert_eq!(fixture.ok(&run), "Done.\n", "{called}");
        let (_, shown) = fixture.json(&["show", "lead"]);
        let mut lines = shown["accounting"].as_array().unwrap().iter();
        let is_call = |line: &&Value| line["command"] == "agent__research.company";
        let line = lines.find(is_call).unwrap();
        assert_eq!(line["status"], "ok", "{called}: {line}");
    }
}

/// The names in a list of front matter, over all agents below a folder.
fn named(folder: &Path, key: &str, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, key, names);
            continue;
        }
        if path.extension().is_none_or(|ending| ending != "ai") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().skip_while(|line| *line != "---").skip(1);
        let front = lines.take_while(|line| *line != "---");
        let list = front.skip_while(|line| line.trim_end() != format!("{key}:"));
        let items = list.skip(1).take_while(|line| {
            let is_item = line.trim_start().starts_with("- ");
            is_item || line.trim().is_empty() || line.starts_with('#')
        });
        names.extend(items.filter_map(|line| {
            let item = line.trim().strip_prefix("- ")?;
            let item = item.split(" #").next().unwrap_or(item);
            Some(item.trim().to_owned())
        }));
    }
}

/// A layer with every provider and tool server that the agents below a folder name.
fn layer_for(folder: &Path) -> String {
    let (mut models, mut tools) = (BTreeSet::new(), BTreeSet::new());
    named(folder, "models", &mut models);
    named(folder, "tools", &mut tools);
    let provider = || json!({"type": "ollama", "contextWindow": 200_000});
    let providers = models.iter().filter_map(|model| model.split('/').next());
    let providers: Map<String, Value> = providers
        .map(|name| (name.to_owned(), provider()))
        .collect();
    let servers = tools.iter().filter(|name| *name != "batch");
    let servers: Map<String, Value> = servers
        .map(|name| (name.clone(), json!({"command": "true"})))
        .collect();
    json!({"providers": providers, "mcpServers": servers}).to_string()
}

/// Every agent that is named loads as it is, with those that it calls.
fn load(folder: &Path) {
    let fixture = Fixture::new();
    fixture.layer(&layer_for(folder));
    for name in PUBLIC {
        let path = folder.join(name);
        let path = path.to_str().unwrap();
        let out = fixture.ok(&["contract", "check", path]);
        assert!(!out.contains("FAILED"), "{name}: {out}");
    }
}

/// Every agent that is named loads with the configuration beside it, whose variables have a value.
fn load_with_own_layers(folder: &Path) {
    let fixture = Fixture::new();
    for name in PUBLIC {
        let path = folder.join(name);
        let layer = path.with_file_name(".ai-agent.json");
        let text = fs::read_to_string(&layer).unwrap();
        let variables = text.split("${").skip(1);
        let variables = variables.filter_map(|part| Some(part.split_once('}')?.0));
        let variables = variables.filter(|name| *name != "MCP_ROOT");
        let [path, layer] = [&path, &layer].map(|path| path.to_str().unwrap());
        let mut command = fixture.command(&["contract", "check", path, "--config", layer]);
        command.envs(variables.map(|name| {
            let is_address = name.ends_with("_URL");
            let address = is_address.then(|| "https://h.example/v1".to_owned());
            (
                name,
                address.unwrap_or_else(|| format!("{name}-0123456789")),
            )
        }));
        let left = Left::from(command.output().unwrap());
        assert_eq!(left.code, 0, "{name}: {}", left.printed());
    }
}

/// 001/2.file.1, 001/2.file.8, 001/3.prompt.1
#[test]
fn public_agents_load_unchanged() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/agent-files.md");
    let page = fs::read_to_string(page).unwrap();
    for name in PUBLIC {
        assert!(page.contains(&format!("`{name}`")), "the page names {name}");
    }
    let Some(folder) = std::env::var_os("MONOLITH_PUBLIC_AGENTS") else {
        let cases = PUBLIC.len();
        println!("skipped {cases} cases: MONOLITH_PUBLIC_AGENTS names no copy of the repository");
        return;
    };
    let folder = PathBuf::from(folder);
    load(&folder);
    load_with_own_layers(&folder);
}

/// A configuration with the keys of the public one, in our words.
fn public_layer() -> Value {
    let compatible = json!({
        "type": "openai-compatible", "apiKey": "${ONE_KEY}", "baseUrl": "${ONE_URL}", "openaiMode": "chat",
        "contextWindow": 131_072, "stringSchemaFormatsAllowed": ["*"], "stringSchemaFormatsDenied": ["uri"],
        "models": {"large-5": {"contextWindow": 196_608, "reasoning": null, "interleaved": true, "overrides": {}}},
    });
    // No window is stated: the catalogue has the least that the hosts of this model give.
    let router = json!({
        "type": "openrouter", "apiKey": "${TWO_KEY}", "headers": {}, "mergeStrategy": "overlay",
        "custom": {"provider": {"allow_fallbacks": true, "sort": "throughput"}},
        "models": {"openai/gpt-oss-120b": {"toolChoice": "auto"}},
    });
    let remote = json!({
        "type": "http", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer ${THREE_KEY}"},
        "enabled": true, "cache": "1d", "toolsAllowed": ["*"], "toolsDenied": [],
    });
    let local = json!({"type": "stdio", "command": "node", "args": ["/opt/files.js", "${MCP_ROOT}"], "env": {}});
    json!({
        "providers": {"one": compatible, "two": router},
        "mcpServers": {"reader-1": remote, "search-1": remote, "search-2": remote, "files-cwd": local},
        "queues": {"default": {"concurrent": 64}},
        "defaults": {
            "llmTimeout": 600_000, "temperature": 0.2, "topP": null, "repeatPenalty": null, "stream": true,
            "maxTurns": 10, "mcpInitConcurrency": 10, "maxRetries": 5, "toolResponseMaxBytes": 32_768,
        },
    })
}

/// Agents with the keys and forms of those files, in our words, load, too, also with a configuration of that form.
#[test]
fn agents_with_the_keys_of_public_files_load() {
    let fixture = Fixture::new();
    let head =
        |more: &str, body: &str| format!("#!/usr/bin/env ai-agent\n---\n{more}---\n{body}\n");
    let knobs = "llmTimeout: 120000\ntoolTimeout: 60000\ntoolResponseMaxBytes: 65536\n\
        maxConcurrentTools: 3\nparallelToolCalls: true\ntemperature: 0.7\ntopP: 1\n\
        maxOutputTokens: 32768\nrepeatPenalty: 1.2\nmaxRetries: 5\nmaxToolTurns: 20\n\
        maxToolCallsPerTurn: 20\n";
    let models = "models:\n  - one/large-5\n#  - one/small\n  - two/openai/gpt-oss-120b\n  - two/openai/gpt-oss-120b\n";
    let reviewer = "description: \"Reviews changes\"\nusage: what to review\n\nmodels:\n  - one/large-5\n\n\
        agents:\n  - reader.ai\n\ntools:\n\nmaxTurns: 10\ntemperature: 0.3\ncache: 1h\noutput:\n";
    let body = "Report in ${FORMAT} at ${DATETIME}, ${DAY}, second ${TIMESTAMP}.";
    fixture.write("code-review/code-review.ai", &head(reviewer, body));
    let reader = "description: Reads\nmodels:\n  - one/large-5\ntools:\n  - files-cwd\ninput:\n  \
        type: object\n  required: [path]\n  properties:\n    path: {type: string}\n";
    fixture.write("code-review/reader.ai", &head(reader, "You read."));
    let text = "description: |\n  Profiles of companies:\n  with sources.\nusage: |\n  a name\n";
    let below = "agents:\n  - web-fetch.ai\n  - web-search.ai\n";
    let company = format!("{text}{models}tools:\n  - batch\n{below}{knobs}");
    let body = "${include:tone.md}\n\nUse `agent__batch`, then `agent__final_report`.";
    fixture.write("neda/company.ai", &head(&company, body));
    fixture.write("neda/tone.md", "Be plain in ${MAX_TURNS} turns.");
    let fetch = format!(
        "description: Fetches\nusage: JSON input \n{models}tools:\n  - reader-1\n#  - browser\nagents: []\n\
         input:\n  format: json\n  schema:\n    type: object\n    required: [ url ]\n    properties:\n      \
         url:\n        type: string\noutput:\n  format: json\n  schema:\n    type: object\n    \
         required: [ status ]\n    properties:\n      status:\n        type: boolean\n{knobs}caching: none\n# reasoning: low\n"
    );
    fixture.write("neda/web-fetch.ai", &head(&fetch, "You fetch."));
    let tools = "tools:\n  - search-1\n  - search-2\n  - batch\n";
    let search =
        format!("{text}{models}{tools}agents:\n  - web-fetch.ai\n{knobs}reasoning: none\n");
    fixture.write("neda/web-search.ai", &head(&search, "You search."));
    let research = format!("{text}{models}tools:\n  - batch\n{below}{knobs}reasoning: high\n");
    fixture.write("neda/web-research.ai", &head(&research, "You ask."));
    load(&fixture.path(""));
    for place in ["code-review", "neda"] {
        let layer = public_layer().to_string();
        fixture.write(&format!("{place}/.ai-agent.json"), &layer);
    }
    load_with_own_layers(&fixture.path(""));
}
