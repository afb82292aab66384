//! One agent with everything that an agent may have, against a model server and two tool servers; and the mistakes of its author, each of which a
//! dry run finds: 001 §2, §3, §4, §6, §11.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left};
use crate::http::serving;

const KEY: &str = "canary-key-0123456789";

const AGENT: &str = "#!/usr/bin/env monolith
---
description: Finds the licence of a folder
${include:parts/limits.yaml}
models: [web/m]
tools: [told, diary__note0]
input: {format: json, schemaRef: in.yaml}
output:
  format: json
  schema:
    type: object
    required: [licence]
    properties: {licence: {type: string}}
maxToolTurns: 6
---
${include:parts/rules.md}
Answer in ${FORMAT} within ${MAX_TURNS} turns, {{NOBODY}}.
";

const TASK: &str = r#"{"file": "LICENSE"}"#;

/// The model: it asks one tool server, then the other, and reports what it read of them.
fn model(heads: Arc<Mutex<Vec<String>>>) -> u16 {
    serving(move |asked| {
        heads.lock().unwrap().push(asked.head.clone());
        let status = "200 OK\r\ncontent-type: application/json".to_owned();
        let Ok(body) = serde_json::from_str::<Value>(&asked.body) else {
            return (status, "{}".to_owned());
        };
        let messages = body["messages"].as_array().unwrap();
        let results: Vec<&Value> = messages.iter().filter(|m| m["role"] == "tool").collect();
        let call = |name: &str| {
            let function = json!({"name": name, "arguments": "{}"});
            let call = json!({"id": name, "type": "function", "function": function});
            json!({"role": "assistant", "content": null, "tool_calls": [call]})
        };
        let (message, finish) = match results.as_slice() {
            [] => (call("diary__note0"), "tool_calls"),
            [_] => (call("told__tell"), "tool_calls"),
            [.., told] => {
                let (_, nonce) = asked.body.split_once("<ai-agent-").unwrap();
                let nonce = &nonce[..8];
                let report = json!({"licence": told["content"]});
                let content = format!(
                    "<ai-agent-{nonce}-FINAL tool=\"agent__final_report\" format=\"json\">{report}</ai-agent-{nonce}-FINAL>"
                );
                (json!({"role": "assistant", "content": content}), "stop")
            }
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        (status, json!({"choices": [choice]}).to_string())
    })
}

fn fixture_path(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    path.join(name).display().to_string()
}

/// The agent, with what it includes and names.
fn fixture(port: u16) -> Fixture {
    let fixture = Fixture::new();
    let server =
        |args: &[&str]| json!({"command": "python3", "args": args, "env": {"PATH": "${PATH}"}});
    let web = json!({
        "type": "openai", "baseUrl": "${MODEL_URL}/v1", "apiKey": "${WEB_KEY}", "contextWindow": 9000,
    });
    let layer = json!({
        "providers": {"web": web},
        "mcpServers": {
            "told": server(&[&fixture_path("telling_server.py")]),
            "diary": server(&[&fixture_path("diary_server.py"), "diary.txt", "d"]),
        },
        "persistence": {"sessionsDir": "./ses"},
        "restTools": {"near": {
            "description": "Near.", "method": "GET", "url": "http://127.0.0.1:9/",
        }},
    });
    fixture.layer(&serde_json::to_string_pretty(&layer).unwrap());
    fixture.write(
        ".ai-agent.env",
        &format!("MODEL_URL=http://127.0.0.1:{port}\nexport WEB_KEY=\"{KEY}\"\n"),
    );
    fixture.write("a.ai", AGENT);
    fixture.write("parts/limits.yaml", "temperature: 0.2\nmaxRetries: 2");
    fixture.write("parts/rules.md", "You are exact. {{include:tone.md}}");
    fixture.write("parts/tone.md", "You are kind.");
    fixture.write("in.yaml", "type: object\nrequired: [file]\n");
    fixture.write("told.json", r#"[{"type": "text", "text": "MIT"}]"#);
    fixture
}

fn has_python() -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        println!("skipped 1 case: python3 is not here");
    }
    found
}

/// 001/12.snapshots.2, 001/11.direct.11, 001/11.direct.12
/// 001/2.file.1, 001/2.file.4, 001/3.prompt.1, 001/3.prompt.4, 001/6.providers.1, 001/7.env.1, 001/1.running.3
/// 001/1.internal.2
#[test]
fn an_agent_with_includes_a_schema_and_two_servers_runs_against_a_model_server() {
    if !has_python() {
        return;
    }
    let heads: Arc<Mutex<Vec<String>>> = Arc::default();
    let fixture = fixture(model(Arc::clone(&heads)));
    let run = ["run", "a.ai", TASK, "--run-id", "r", "--json"];
    let more = ["--trace-llm", "--trace-mcp"];
    let left = fixture.run(&[&run[..], &more].concat());
    assert_eq!(left.code, 0, "{}", left.err);
    let result = left.document();
    assert_eq!(result["outcome"]["class"], "COMPLETED_WITH_TOOLS");
    assert_eq!(
        result["finalReport"]["content_json"],
        json!({"licence": "MIT"})
    );
    assert_eq!(result["counters"]["tools_executed"], 2);
    // The final report in its tag is no call, and what it cost is not known.
    let totals = &crate::kept::snapshot(&fixture, "r")["opTree"]["totals"];
    assert_eq!(
        (&totals["toolsRun"], &totals["agentsRun"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(totals.get("costUsd"), None, "{totals}");
    let system = result["conversation"][0]["content"].as_str().unwrap();
    let expect = "You are exact. You are kind.\nAnswer in JSON that matches the schema of the final report within 6 turns, {{NOBODY}}.";
    assert!(system.starts_with(expect), "{system}");
    let heads = heads.lock().unwrap().concat();
    assert!(heads.contains(&format!("Bearer {KEY}")), "{heads}");
    // What was sent and received is shown, and no key.
    for (shown, times) in [
        ("[TRC] → [1.0] llm web:m, request 1, attempt 1: ", 1),
        ("\"role\":\"system\"", 3),
        ("← request 3: ", 1),
        ("→ told: {\"method\":\"tools/list\"", 1),
        ("→ diary: {\"method\":\"tools/call\"", 1),
        ("\"text\": \"noted\"", 1),
        ("\"text\": \"MIT\"", 1),
        ("\"name\":\"telling\"", 1),
    ] {
        assert_eq!(
            left.err.matches(shown).count(),
            times,
            "{shown}: {}",
            left.err
        );
    }
    assert!(!left.printed().contains(KEY));
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
    assert!(!fixture.ok(&["export", "r"]).contains(KEY));
    // A continuation is said in text, whatever the agent's input is.
    fixture.ok(&["continue", "r", "Sure?", "--run-id", "r2"]);
}

/// One mistake: in which file, what becomes of which text, and what is said of it with which exit code.
type Mistake = (
    &'static str,
    &'static str,
    &'static str,
    u8,
    &'static [&'static str],
);

#[rustfmt::skip]
const MISTAKES: &[Mistake] = &[
    ("a.ai", "maxToolTurns: 6", "maxToolTurnz: 6", 4, &["a.ai:14:1", "unknown key `maxToolTurnz`", "`maxToolTurns`"]),
    ("a.ai", "maxToolTurns: 6", "maxToolTurns: -1", 4, &["a.ai:14:15", "maxToolTurns: "]),
    ("a.ai", "maxToolTurns: 6", "maxToolTurns: 0", 4, &["a.ai:14", "max_turns is 0"]),
    ("a.ai", "maxToolTurns: 6", "maxToolTurns: many", 4, &["a.ai:14:15", "`many`"]),
    ("a.ai", "maxToolTurns: 6", "maxToolTurns: 6\nmaxTurns: 5", 4, &["a.ai:15:11", "one and the same"]),
    ("a.ai", "maxToolTurns: 6", "maxToolTurns: 6\nmaxToolTurns: 5", 4, &["a.ai:15:1", "maxToolTurns"]),
    ("a.ai", "maxToolTurns: 6", "llmTimeout: soon", 4, &["a.ai:14:13", "llmTimeout: "]),
    ("a.ai", "maxToolTurns: 6", "reasoning: extreme", 4, &["a.ai:14:12", "minimal"]),
    ("a.ai", "maxToolTurns: 6", "caching: some", 4, &["a.ai:14:10", "caching: "]),
    ("a.ai", "models: [web/m]", "models: [web/m", 4, &["a.ai:"]),
    ("a.ai", "maxToolTurns: 6\n---\n", "maxToolTurns: 6\n", 4, &["a.ai:2:1", "the front matter is not closed"]),
    ("a.ai", "models: [web/m]", "models: [wob/m]", 4, &["a.ai:5:10", "no provider `wob` is defined", ".ai-agent.json"]),
    ("a.ai", "models: [web/m]", "models: [m]", 4, &["a.ai:5:10", "expected provider/model"]),
    ("a.ai", "models: [web/m]", "models: []", 4, &["a.ai:5:9", "models"]),
    ("a.ai", "models: [web/m]\n", "", 4, &["a.ai:", "no model is named", "--models"]),
    ("a.ai", "[told, diary__note0]", "[told, diry]", 4, &["a.ai:6:15", "no tool server `diry` is configured"]),
    ("a.ai", "[told, diary__note0]", "[told, diary__note7]", 3, &["a.ai:6:15", "the tool server `diary` does not offer `note7`", "it offers note0"]),
    ("a.ai", "[told, diary__note0]", "[rest__shop_list]", 4, &["a.ai:6:9", "no REST tool `shop_list` is configured"]),
    (".ai-agent.json", "\"told\":", "\"to ld\":", 4, &["a.ai:6:9", "no tool server `told` is configured"]),
    ("a.ai", "[told, diary__note0]", "[agent__other]", 4, &["a.ai:6:9", "`agent__other` is an agent"]),
    ("a.ai", "parts/rules.md", "parts/gone.md", 4, &["a.ai:16:1", "`parts/gone.md` cannot be included: "]),
    ("a.ai", "parts/rules.md", ".ai-agent.env", 4, &["a.ai:16:1", "`.ai-agent.env` is hidden"]),
    ("a.ai", "parts/rules.md}", "parts/rules.md", 4, &["a.ai:16:1", "`${include:` is not closed"]),
    ("parts/tone.md", "You are kind.", "${include:rules.md}", 4, &["parts/tone.md:1:1", "`rules.md` includes itself"]),
    ("parts/tone.md", "You are kind.", "x\n${include:1.md}", 4, &["parts/6.md:1:1", "includes nest more than 8 levels"]),
    ("parts/limits.yaml", "maxRetries: 2", "maxRetries: two", 4, &["parts/limits.yaml:2:13", "maxRetries: "]),
    ("parts/limits.yaml", "maxRetries: 2", "maxRetris: 2", 4, &["parts/limits.yaml:2:1", "unknown key `maxRetris`"]),
    ("a.ai", "    type: object\n", "    type: obejct\n", 4, &["a.ai:1", "output.schema: invalid_parameters: the schema at \"/type\""]),
    ("a.ai", "  format: json\n", "  format: jsn\n", 4, &["a.ai:9:11", "output.format: ", "json"]),
    ("a.ai", "  format: json\n", "  format: markdown\n", 4, &["a.ai:", "final_report.schema needs format json"]),
    ("a.ai", "  format: json\n", "  form: json\n", 4, &["a.ai:9:3", "unknown key `form`"]),
    ("a.ai", "schemaRef: in.yaml", "schemaRef: on.yaml", 4, &["a.ai:7:", "invalid_parameters: `on.yaml`"]),
    ("a.ai", "schemaRef: in.yaml", "schema: {type: 7}", 4, &["a.ai:7:", "input.schema: invalid_parameters: "]),
    ("a.ai", "format: json, schemaRef", "format: text, schemaRef", 4, &["a.ai:7:", "only input in JSON has a schema"]),
    ("in.yaml", "required: [file]", "required: [folder]", 4, &["invalid_parameters: the task: ", "folder"]),
    (".ai-agent.json", "${MODEL_URL}", "${MODEL_URX}", 4, &["a.ai:5:10", "Unresolved variable ${MODEL_URX} for provider 'web' at ", ".ai-agent.json"]),
    (".ai-agent.json", "${WEB_KEY}", "${WEB_KAY}", 4, &["a.ai:5:10", "Unresolved variable ${WEB_KAY} for provider 'web' at "]),
    (".ai-agent.json", "${PATH}", "${PATHS}", 4, &["a.ai:6:9", "Unresolved variable ${PATHS} for mcp 'told' at "]),
    (".ai-agent.json", "\"${WEB_KEY}\"", "\"sk-written-out\"", 4, &["a.ai:5:10", "providers.web.apiKey in ", "a key is written as ${NAME}"]),
    (".ai-agent.json", "\"type\": \"openai\"", "\"type\": \"openia\"", 4, &["a.ai:5:10", "providers.web.type", "expected one of openai"]),
    (".ai-agent.json", "\"contextWindow\": 9000", "\"contextWindow\": -1", 4, &["a.ai:5:10", "context_window"]),
    (".ai-agent.json", "\"contextWindow\": 9000", "\"contextWindow\": 600", 4, &["context window has 600"]),
    (".ai-agent.json", "\"contextWindow\"", "\"contextWidow\"", 4, &["a.ai:5:10", "providers.web.contextWidow in "]),
    (".ai-agent.json", "\"providers\"", "providers", 4, &[".ai-agent.json", "line "]),
    (".ai-agent.json", "\"command\": \"python3\"", "\"command\": \"pythn3\"", 3, &["a.ai:6:9", "the tool server `told` is not available", "failed to find the command \"pythn3\""]),
    (".ai-agent.json", "\"command\": \"python3\"", "\"queue\": \"slow\", \"command\": \"python3\"", 4, &["a.ai:6:9", "no queue `slow` is defined"]),
    (".ai-agent.json", "\"command\": \"python3\"", "\"enabled\": false, \"command\": \"python3\"", 4, &["a.ai:6:9", "the server is switched off"]),
    ("a.ai", "[told, diary__note0]", "[told, rest__near]", 3, &["a.ai:6:15", "failed to reach tools.rest.near: 127.0.0.1", "`loopback: true`"]),
    (".ai-agent.json", "\"Near.\"", "\"Near.\", \"queue\": \"slow\"", 4, &["restTools.near.queue in ", "no queue `slow` is defined"]),
    (".ai-agent.env", "MODEL_URL=", "MODEL_URL:", 4, &[".ai-agent.env", "line 1"]),
];

/// 001/11.direct.4
/// 001/2.file.14, 001/2.file.16, 001/2.file.17
/// 001/1.checks.1
#[test]
fn a_dry_run_finds_every_mistake_with_its_place_and_its_rule() {
    if !has_python() {
        return;
    }
    // No model is asked: there is none.
    let dry_run = |fixture: &Fixture| -> (Left, Left) {
        let run = ["run", "a.ai", TASK, "--dry-run"];
        (
            fixture.run(&run),
            fixture.run(&[&run[..], &["--json"]].concat()),
        )
    };
    let (sound, document) = dry_run(&fixture(9));
    assert_eq!((sound.code, document.code), (0, 0), "{}", sound.printed());
    assert_eq!(document.document()["ok"], true, "{}", document.out);
    let mut missed = Vec::new();
    for (file, was, is, code, expect) in MISTAKES {
        let fixture = fixture(9);
        for depth in 1..=9 {
            let next = format!("${{include:{}.md}}", depth + 1);
            fixture.write(&format!("parts/{depth}.md"), &next);
        }
        let text = fixture.read(file);
        assert!(text.contains(was), "{file}: {was}");
        fixture.write(file, &text.replacen(was, is, 1));
        let (said, document) = dry_run(&fixture);
        let found = said.printed();
        let lacks: Vec<_> = expect
            .iter()
            .filter(|text| !found.contains(**text))
            .collect();
        let ok = serde_json::from_str::<Value>(&document.out).map(|all| all["ok"].clone());
        let is_refused = matches!(ok, Ok(Value::Bool(false)));
        let errors = found.matches("error: ").count() + found.matches("FAILED  ").count();
        let is_found = said.code == i32::from(*code) && lacks.is_empty() && is_refused;
        if !is_found || errors != 1 || found.contains(KEY) {
            let codes = (said.code, document.code);
            missed.push(format!(
                "{file}: {was:?} → {is:?}: {codes:?}, {errors} errors, lacks {lacks:?}:\n{found}"
            ));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}
