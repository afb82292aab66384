//! A call that starts before its message is complete runs while the rest of the response arrives: shown by a
//! server that waits for it, and measured as a ratio to the same run without.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::tests::{end, replay};
use super::{Environment, Finished, NoObserver, RunRequest, drive, prepare};
use crate::store::{Durability, Store};
use crate::tools::HostTool;
use monolith_core::contract::ContractSpec;
use monolith_core::session::RedactionKey;

/// The time of the tool, and of the rest of the response after its call.
const SLOW: Duration = Duration::from_millis(400);
/// The longest wait of the server for a call.
const PATIENCE: Duration = Duration::from_secs(20);

/// The wait of the server between the call and the end of its message.
#[derive(Clone)]
enum Pause {
    /// The start of the tool.
    Started(Arc<Semaphore>),
    Time(Duration),
}

fn event(delta: &Value, finish: &Value) -> String {
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {chunk}\n\n")
}

/// Reads one request; returns its path and its body.
async fn request(socket: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = socket.read(&mut piece).await.ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse().ok()).flatten()
        });
        if body.len() >= length.unwrap_or(0_usize) {
            let path = head.split(' ').nth(1)?.to_owned();
            return Some((path, body.to_owned()));
        }
    }
}

/// Answers a request: first with a call, then, once there is a result, with text.
async fn answer(mut socket: TcpStream, pause: Pause) -> Option<()> {
    let (path, body) = request(&mut socket).await?;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await.ok()?;
    if !path.ends_with("chat/completions") {
        return socket.write_all(b"{}").await.ok();
    }
    let last = "data: [DONE]\n\n";
    if body.contains(r#""role":"tool""#) {
        let said = event(&json!({"content": "Noon."}), &json!("stop"));
        return socket.write_all((said + last).as_bytes()).await.ok();
    }
    let function = json!({"name": "host__slow", "arguments": "{}"});
    let call = json!({"index": 0, "id": "c1", "type": "function", "function": function});
    let call = event(&json!({"tool_calls": [call]}), &Value::Null);
    socket.write_all(call.as_bytes()).await.ok()?;
    socket.flush().await.ok()?;
    match pause {
        // Without the call the answer stays incomplete.
        Pause::Started(started) => {
            let waited = tokio::time::timeout(PATIENCE, started.acquire()).await;
            waited.ok()?.ok()?.forget();
        }
        Pause::Time(time) => tokio::time::sleep(time).await,
    }
    let end = event(&json!({}), &json!("tool_calls"));
    socket.write_all((end + last).as_bytes()).await.ok()
}

/// A run whose model asks for the tool `slow`, which takes that time and says when it starts.
async fn run(speculative: bool, pause: Pause, takes: Duration) -> Finished {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let started = match &pause {
        Pause::Started(started) => Arc::clone(started),
        Pause::Time(_) => Arc::new(Semaphore::new(0)),
    };
    let server = tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, pause.clone()));
        }
    });
    let schema = json!({"type": "object"});
    let slow = HostTool::new("slow", "Tells the time.", schema, move |_| {
        started.add_permits(1);
        async move {
            tokio::time::sleep(takes).await;
            Ok::<_, String>("noon".to_owned())
        }
    });
    let text = format!(
        "
task: How late is it?
tool_policy: optional
targets: [{{provider: web, model: m, context_window: 8192}}]
providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}
sampling: {{stream: true}}
tools: {{host: [slow]}}
idempotent: [host__slow]
speculative_exec: {speculative}
"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let request = RunRequest {
        spec: ContractSpec::parse("c.yaml", &text, &[]).expect("a contract"),
        contract_dir: folder.path().to_path_buf(),
        environment: Environment::new(|_| None).with_tool(slow.read_only()),
        redaction_key: RedactionKey::new([7; 32]),
        invocation: None,
        run_id: None,
    };
    let store = Store::open(&folder.path().join("runs.db"), Durability::Normal).expect("a store");
    let prepared = prepare(request, &CancellationToken::new())
        .await
        .expect("prepared");
    let (_control, controls) = mpsc::channel(1);
    let finished = drive(prepared, &store, controls, &mut NoObserver)
        .await
        .expect("driven");
    server.abort();
    assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
    let counters = finished.run.counters();
    assert_eq!((counters.calls, counters.executed_ok), (1, 1));
    let report = replay(folder.path(), &finished);
    assert!(report.same, "{:#?}", report.first_difference);
    finished
}

/// The server ends its message only once the tool has started: without an early start, the message would never
/// be complete.
#[tokio::test]
async fn a_call_that_only_reads_runs_while_its_message_still_arrives() {
    let pause = Pause::Started(Arc::new(Semaphore::new(0)));
    run(true, pause, Duration::ZERO).await;
}

#[tokio::test]
async fn a_slow_tool_and_the_rest_of_its_message_take_as_long_as_the_longer_of_both() {
    let with = run(true, Pause::Time(SLOW), SLOW).await.elapsed_ms;
    let without = run(false, Pause::Time(SLOW), SLOW).await.elapsed_ms;
    println!("early calls: {with} ms, {without} ms without them");
    // One wait of two; the rest is what a run takes anyway.
    assert!(with * 100 < without * 80, "{with} ms of {without} ms");
}
