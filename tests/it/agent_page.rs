//! The page about agent files: its first agent runs as it stands, and what an agent says of itself reaches those that call it. Against the binary.

use std::path::Path;

use serde_json::{Value, json};

use crate::delegation::{asks, prompt};
use crate::fixture::{Fixture, Left};
use crate::harness::Harness;
use crate::http::serving;

const KEY: &str = "canary-key-0123456789";

/// The first agent of the page, byte for byte.
fn first_agent() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agent-files.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, fence) = page.split_once("```text\n").unwrap();
    fence.split_once("```\n").unwrap().0.to_owned()
}

/// A model that asks the server `filesystem` once, and reports.
fn model() -> u16 {
    serving(|asked| {
        let status = "200 OK\r\ncontent-type: application/json".to_owned();
        let Ok(body) = serde_json::from_str::<Value>(&asked.body) else {
            return (status, "{}".to_owned());
        };
        let messages = body["messages"].as_array().unwrap();
        let has_result = messages.iter().any(|message| message["role"] == "tool");
        let (message, finish) = if has_result {
            let (_, nonce) = asked.body.split_once("<ai-agent-").unwrap();
            let tag = format!("ai-agent-{}-FINAL", &nonce[..8]);
            let of = "tool=\"agent__final_report\" format=\"markdown\"";
            let content = format!("<{tag} {of}>It is under MIT.</{tag}>");
            (json!({"role": "assistant", "content": content}), "stop")
        } else {
            let function = json!({"name": "filesystem__tell", "arguments": "{}"});
            let call = json!({"id": "c", "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        };
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        (status, json!({"choices": [choice]}).to_string())
    })
}

/// Neither the agent nor its layer states a window: the catalogue knows that of the model.
#[test]
fn the_first_agent_of_the_page_runs_as_it_stands() {
    if !Harness::has_python() {
        return;
    }
    let fixture = Fixture::new();
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/telling_server.py"
    );
    let url = format!("http://127.0.0.1:{}/v1", model());
    let layer = json!({
        "providers": {"openai": {"type": "openai", "apiKey": "${OPENAI_API_KEY}", "baseUrl": url}},
        "mcpServers": {"filesystem": {"command": "python3", "args": [server], "env": {"PATH": "${PATH}"}}},
    });
    fixture.layer(&layer.to_string());
    fixture.write("agent.ai", &first_agent());
    fixture.write("told.json", r#"[{"type": "text", "text": "MIT"}]"#);
    let run = |args: &[&str]| -> Left {
        let mut command = fixture.command(args);
        command.env("OPENAI_API_KEY", KEY).output().unwrap().into()
    };
    let checked = run(&["contract", "check", "agent.ai"]);
    assert!(
        !checked.printed().contains("context_window"),
        "{}",
        checked.printed()
    );
    let left = run(&["run", "agent.ai", "Which licence is this under?"]);
    assert_eq!(left.code, 0, "{}", left.printed());
    assert!(left.out.contains("It is under MIT."), "{}", left.printed());
}

/// A contract file describes itself as an agent file does: its caller's model reads that as the description of the tool.
#[test]
fn the_description_of_an_agent_is_what_its_caller_sees() {
    let fixture = Fixture::new();
    let says = asks(&[], "found");
    let own = "description: Finds notes.\nusage: Say which.\n";
    fixture.agent("worker", own, &says[1..]);
    let calls = asks(
        &[("agent__worker", prompt("the last one"))],
        "It was found.",
    );
    fixture.agent("lead", "agents: [worker.yaml]\n", &calls);
    let contract = fixture.ok(&["contract", "show", "lead.yaml", "--set", "task=go"]);
    assert!(
        contract.contains(r"Finds notes.\n\nSay which."),
        "{contract}"
    );
    let result = fixture.leads();
    assert_eq!(
        result["outcome"]["class"], "COMPLETED_WITH_TOOLS",
        "{result}"
    );
    // It is no part of the agent's own contract.
    let alone = fixture.contract_of("lead.1").canonical_text();
    assert!(!alone.contains("Finds notes."), "{alone}");
}
