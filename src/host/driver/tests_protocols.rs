//! Every provider type end to end: the real driver over HTTP on loopback or over a script, then replayed from the store.

use std::path::Path;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::tests::{Watcher, end, replay, tool_server};
use super::{Environment, Finished, RunRequest, drive, prepare};
use crate::store::{Durability, Store};
use monolith_core::contract::ContractSpec;
use monolith_core::message::RunId;
use monolith_core::session::RedactionKey;

/// One protocol: a provider type, what recordings call it, where requests go, how the key is shown, and two responses.
struct Protocol {
    kind: &'static str,
    proto: &'static str,
    path: &'static str,
    key: (&'static str, &'static str),
    call: Value,
    text: Value,
}

const KEY: &str = "k-1";

fn protocols() -> Vec<Protocol> {
    let chat = |kind, proto| Protocol {
        kind,
        proto,
        path: "/v/chat/completions",
        key: ("authorization", "Bearer k-1"),
        call: json!({"choices": [{"message": {"content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"LICENSE\"}"}},
        ]}, "finish_reason": "tool_calls"}]}),
        text: json!({"choices": [{"message": {"content": "MIT"}, "finish_reason": "stop"}]}),
    };
    vec![
        chat("openai", "openai-chat"),
        chat("openrouter", "openrouter-chat"),
        Protocol {
            kind: "openai_responses",
            proto: "openai-responses",
            path: "/v/responses",
            key: ("authorization", "Bearer k-1"),
            call: json!({"status": "completed", "output": [
                {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": "{\"path\":\"LICENSE\"}"},
            ]}),
            text: json!({"status": "completed", "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "MIT"}]},
            ]}),
        },
        Protocol {
            kind: "anthropic",
            proto: "anthropic-messages",
            path: "/v/messages",
            key: ("x-api-key", KEY),
            call: json!({"content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "LICENSE"}},
            ], "stop_reason": "tool_use"}),
            text: json!({"content": [{"type": "text", "text": "MIT"}], "stop_reason": "end_turn"}),
        },
        Protocol {
            kind: "google",
            proto: "gemini",
            path: "/v/models/some:generateContent",
            key: ("x-goog-api-key", KEY),
            call: json!({"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "read_file", "args": {"path": "LICENSE"}}, "thoughtSignature": "sig"},
            ]}, "finishReason": "STOP"}]}),
            text: json!({"candidates": [{"content": {"parts": [{"text": "MIT"}]}, "finishReason": "STOP"}]}),
        },
        Protocol {
            kind: "ollama",
            proto: "ollama-chat",
            path: "/v/api/chat",
            key: ("authorization", "Bearer k-1"),
            call: json!({"message": {"content": "", "tool_calls": [
                {"function": {"name": "read_file", "arguments": {"path": "LICENSE"}}},
            ]}, "done": true, "done_reason": "stop"}),
            text: json!({"message": {"content": "MIT"}, "done": true, "done_reason": "stop"}),
        },
    ]
}

async fn run(folder: &Path, provider: &str, sets: &[&str]) -> Finished {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    std::fs::write(folder.join("LICENSE"), "MIT OR Apache-2.0").unwrap();
    let contract = format!(
        "task: Which licence?\ntool_policy: required\ntargets: [{{provider: p, model: some, context_window: 100000}}]\n\
         providers: {{p: {{{provider}}}}}\ntools: {{builtin: [read_file], workspace: .}}\n"
    );
    let request = RunRequest {
        spec: ContractSpec::parse("c.yaml", &contract, &sets).unwrap(),
        contract_dir: folder.to_path_buf(),
        environment: Environment::new(|name| (name == "THE_KEY").then(|| KEY.to_owned())),
        invocation: None,
        redaction_key: RedactionKey::new([7; 32]),
        run_id: Some(RunId::try_from("r1".to_owned()).unwrap()),
    };
    let store = Store::open(&folder.join("runs.db"), Durability::Normal).unwrap();
    let prepared = prepare(request, &CancellationToken::new()).await.unwrap();
    let (_keep, control) = mpsc::channel(1);
    drive(prepared, &store, control, &mut Watcher::default())
        .await
        .unwrap()
}

fn succeeded(protocol: &Protocol, folder: &Path, finished: &Finished) {
    let outcome = end(finished);
    assert_eq!(
        outcome, "COMPLETED_WITH_TOOLS (final_message)",
        "{}",
        protocol.kind
    );
    let talk = finished.run.conversation();
    assert_eq!(talk[2].content, "MIT OR Apache-2.0", "{}", protocol.kind);
    assert_eq!(talk[3].content, "MIT", "{}", protocol.kind);
    let report = replay(folder, finished);
    assert!(
        report.same,
        "{}: {:#?}",
        protocol.kind, report.first_difference
    );
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.get(name)?.to_str().ok()
}

#[tokio::test]
async fn every_provider_type_runs_over_http_and_replays() {
    for protocol in protocols() {
        let folder = tempfile::tempdir().unwrap();
        let server = MockServer::start().await;
        for response in [&protocol.call, &protocol.text] {
            Mock::given(method("POST"))
                .and(path(protocol.path))
                .respond_with(ResponseTemplate::new(200).set_body_json(response))
                .up_to_n_times(1)
                .expect(1)
                .mount(&server)
                .await;
        }
        let provider = format!(
            "type: {}, base_url: \"{}/v\", api_key_env: THE_KEY",
            protocol.kind,
            server.uri()
        );
        let finished = run(folder.path(), &provider, &[]).await;
        succeeded(&protocol, folder.path(), &finished);
        let requests = server.received_requests().await.unwrap();
        let (name, value) = protocol.key;
        // The probe, and two inferences.
        assert_eq!(requests.len(), 3, "{}", protocol.kind);
        for request in &requests {
            assert_eq!(header(request, name), Some(value), "{}", protocol.kind);
            let versioned = header(request, "anthropic-version").is_some();
            assert_eq!(versioned, protocol.kind == "anthropic");
            let bearer = header(request, "authorization").is_some();
            assert_eq!(bearer, name == "authorization", "{}", protocol.kind);
        }
        let second = String::from_utf8(requests[2].body.clone()).unwrap();
        assert!(second.contains("MIT OR Apache-2.0"), "{second}");
        let signed = protocol.call.to_string().contains("sig");
        assert_eq!(second.contains("\"sig\""), signed, "{second}");
    }
}

#[tokio::test]
async fn a_script_of_every_protocol_plays_and_replays() {
    for protocol in protocols() {
        let folder = tempfile::tempdir().unwrap();
        let lines = [&protocol.call, &protocol.text]
            .map(|body| json!({"proto": protocol.proto, "response": body.to_string()}).to_string());
        std::fs::write(folder.path().join("script.jsonl"), lines.join("\n")).unwrap();
        let finished = run(folder.path(), "type: scripted, file: script.jsonl", &[]).await;
        succeeded(&protocol, folder.path(), &finished);
        let message = &finished.run.conversation()[1];
        assert_eq!(message.tool_calls[0].source_model, "some");
    }
}

/// Arguments that a parser would change: key order, escapes that need none, numbers beyond a double, digits that mean nothing.
const ODD: &str = r#"{"z":"x86","a":"\u0000\u0041\/","n":1e400,"m":{"y":1.50,"x":-0.0,"w":[1E2, 12345678901234567890123]},"é":"\ud83d\ude00 😀"}"#;

/// A call of `name` in every protocol, with unchanged arguments, and the mode that the shape needs: strict mode rejects arguments
/// that are an object where the protocol has a text.
fn call_bodies(name: &str, arguments: &str) -> Vec<(&'static str, &'static str, String)> {
    let quoted = Value::from(arguments).to_string();
    let chat = format!(
        r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"{name}","arguments":{quoted}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    let object = chat.replace(&quoted, arguments);
    let streamed = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c\",\"function\":{{\"name\":\"{name}\",\
         \"arguments\":{quoted}}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let responses = format!(
        r#"{{"status":"completed","output":[{{"type":"function_call","call_id":"c","name":"{name}","arguments":{quoted}}}]}}"#
    );
    let anthropic = format!(
        r#"{{"content":[{{"type":"tool_use","id":"c","name":"{name}","input":{arguments}}}],"stop_reason":"tool_use"}}"#
    );
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"{name}","args":{arguments}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    let ollama = format!(
        r#"{{"message":{{"content":"","tool_calls":[{{"function":{{"name":"{name}","arguments":{arguments}}}}}]}},"done":true,"done_reason":"stop"}}"#
    );
    let strict = "strict_mode=true";
    vec![
        ("openai-chat", strict, chat.clone()),
        ("openai-chat", "strict_mode=false", object),
        ("openai-chat", strict, streamed),
        ("openrouter-chat", strict, chat),
        ("openai-responses", strict, responses),
        ("anthropic-messages", strict, anthropic),
        ("gemini", strict, gemini),
        ("ollama-chat", strict, ollama),
    ]
}

#[tokio::test]
async fn arguments_reach_a_tool_server_as_the_model_wrote_them() {
    let Some(tools) = tool_server("") else {
        return;
    };
    for (proto, mode, body) in call_bodies("s__args", ODD) {
        let folder = tempfile::tempdir().unwrap();
        let stream = body.starts_with("data:");
        let asked = json!({"proto": proto, "stream": stream, "response": body});
        std::fs::write(folder.path().join("script.jsonl"), asked.to_string()).unwrap();
        let sets = [tools.as_str(), mode, "max_attempts_per_turn=1"];
        let finished = run(folder.path(), "type: scripted, file: script.jsonl", &sets).await;
        let talk = finished.run.conversation();
        assert_eq!(talk[1].tool_calls[0].arguments.as_str(), ODD, "{proto}");
        // The server echoes the line that it was sent.
        let line = &talk[2].content;
        assert!(
            line.contains(&format!("\"arguments\":{ODD}")),
            "{proto}: {line}"
        );
        let report = replay(folder.path(), &finished);
        assert!(report.same, "{proto}: {:#?}", report.first_difference);
    }
}

#[tokio::test]
async fn a_built_in_tool_is_given_what_the_model_wrote() {
    let text = r#"{"text":"x86 \u0000 \u0041\/ 1e400 \ud83d\ude00"}"#;
    for (proto, mode, body) in call_bodies("echo", text) {
        let folder = tempfile::tempdir().unwrap();
        let stream = body.starts_with("data:");
        let asked = json!({"proto": proto, "stream": stream, "response": body});
        std::fs::write(folder.path().join("script.jsonl"), asked.to_string()).unwrap();
        let sets = ["tools.builtin=[echo]", mode, "max_attempts_per_turn=1"];
        let finished = run(folder.path(), "type: scripted, file: script.jsonl", &sets).await;
        let talk = finished.run.conversation();
        assert_eq!(talk[1].tool_calls[0].arguments.as_str(), text, "{proto}");
        assert_eq!(talk[2].content, "x86 \u{0} A/ 1e400 😀", "{proto}");
    }
}

/// The path of one protocol names the model and whether the answer streams; the base URL's own query stays.
#[tokio::test]
async fn a_query_of_the_protocol_joins_that_of_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let server = MockServer::start().await;
    let chunk =
        json!({"candidates": [{"content": {"parts": [{"text": "MIT"}]}, "finishReason": "STOP"}]});
    Mock::given(method("POST"))
        .and(path("/v/models/some:streamGenerateContent"))
        .respond_with(ResponseTemplate::new(200).set_body_string(format!("data: {chunk}\n\n")))
        .expect(1)
        .mount(&server)
        .await;
    let provider = format!("type: google, base_url: \"{}/v?tenant=1\"", server.uri());
    let sets = ["tool_policy=optional", "sampling.stream=true"];
    let finished = run(folder.path(), &provider, &sets).await;
    assert_eq!(end(&finished), "COMPLETED_CHAT_ONLY (final_message)");
    let requests = server.received_requests().await.unwrap();
    let posted = requests.iter().find(|request| request.method == "POST");
    assert_eq!(posted.unwrap().url.query(), Some("tenant=1&alt=sse"));
}
