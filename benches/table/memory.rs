//! A run without any store: a host of one's own on `Session`, which keeps the sealed entries in memory and asks as the bare loop does.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use monolith_core::adapter::ResponseMeta;
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ServerCapability, ServerKind,
    TargetCapability, ToolCapability,
};
use monolith_core::kernel::{Probed, ProbedTarget, RunStarted};
use monolith_core::message::{
    BytesPerToken, ContentBlock, EnvelopeFields, EnvelopeStatus, FileChanges, NoSecrets, RunId,
    ToolEnvelope, ToolOutcome,
};
use monolith_core::session::{Call, Input, Output, Request, Session};
use monolith_core::transcript::SealedEntry;

use crate::whole::contract;

/// Plays the run against the server at `base_url`, in `folder`.
pub fn run(base_url: &str, folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let entries = runtime.block_on(drive(base_url, folder));
    assert!(!entries.is_empty(), "a run has entries");
}

/// Returns the result of bring-up: the tool that reads a file.
pub fn with_read_file() -> CapabilityManifest {
    let tool = ToolCapability {
        annotations: serde_json::Value::Null,
        description: "Reads a file.".to_owned(),
        input_schema: serde_json::json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        name: "read_file".to_owned(),
        schema_tokens: 30,
    };
    let builtin = ServerCapability {
        available: true,
        kind: ServerKind::Builtin,
        tools: vec![tool],
    };
    CapabilityManifest {
        servers: [("builtin".to_owned(), builtin)].into(),
        targets: vec![TargetCapability::default()],
    }
}

fn session(base_url: &str) -> (Session, RunStarted) {
    let text = contract(base_url);
    let spec = ContractSpec::parse("agent.yaml", &text, &[]).expect("a contract file");
    let manifest = with_read_file();
    let made = ContractFactory.make(&spec, &manifest, None);
    let contract = Arc::new(made.expect("a contract"));
    let run_id = RunId::try_from("memory".to_owned()).expect("an id");
    let opening = RunStarted::opening(&contract.system, "Read the file again and again.");
    let started = RunStarted::new(&contract, run_id, opening, 0);
    let session = Session::new(contract, BytesPerToken::counter(), Arc::new(NoSecrets));
    (session.expect("an adapter"), started)
}

async fn drive(base_url: &str, folder: &Path) -> Vec<SealedEntry> {
    let (mut session, started) = session(base_url);
    let client = reqwest::Client::new();
    let began = Instant::now();
    let mut entries = Vec::new();
    let mut next = VecDeque::from([Input::Start(Box::new(started))]);
    while let Some(input) = next.pop_front() {
        let at_ms = u64::try_from(began.elapsed().as_millis()).expect("a short run");
        session.handle(at_ms, input).expect("what a host may do");
        while let Some(output) = session.poll() {
            match output {
                Output::Append(append) => {
                    entries.extend(append.entries);
                    let last = entries.last().map_or(0, |entry: &SealedEntry| entry.seq);
                    session
                        .handle(at_ms, Input::Durable(last))
                        .expect("entries");
                }
                Output::Probe { .. } => {
                    let target = ProbedTarget {
                        detail: "HTTP 200".to_owned(),
                        responsive: true,
                        ..ProbedTarget::default()
                    };
                    next.push_back(Input::Probed(Probed {
                        targets: vec![target],
                    }));
                }
                Output::Send(request) => next.push_back(sent(&client, base_url, request).await),
                Output::Call(call) => next.push_back(called(&call, folder)),
                Output::Done(outcome) => {
                    assert!(outcome.class.is_success(), "{outcome:?}");
                    return entries;
                }
                _ => {}
            }
        }
    }
    panic!("a run ends");
}

async fn sent(client: &reqwest::Client, base_url: &str, request: Request) -> Input {
    let response = client
        .post(format!("{base_url}/{}", request.path))
        .header("content-type", "application/json")
        .body(request.body)
        .send()
        .await
        .expect("a response");
    let meta = ResponseMeta {
        status: response.status().as_u16(),
        ..ResponseMeta::default()
    };
    Input::Response {
        inference: request.inference.inference,
        meta,
        bytes: response.bytes().await.expect("all of it").to_vec(),
    }
}

fn called(call: &Call, folder: &Path) -> Input {
    let arguments = call.order.invocation.arguments.as_str();
    let value: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
    let path = folder.join(value["path"].as_str().expect("a path"));
    let text = fs::read_to_string(path).expect("the file");
    let envelope = ToolEnvelope::new(EnvelopeFields {
        bytes_in: arguments.len() as u64,
        bytes_out: text.len() as u64,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text(text)],
        duration_ms: 1,
        error: None,
        full: None,
        started_at_ms: 1,
        status: EnvelopeStatus::Ok,
        tokens: 0,
        tool: call.order.invocation.name.clone(),
        tool_call_id: call.order.invocation.id.clone(),
    });
    Input::ToolResult {
        call: call.order.call,
        exchanges: Vec::new(),
        outcome: ToolOutcome::Returned(envelope),
    }
}
