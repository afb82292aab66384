//! A host of one's own: runs an agent without monolith's driver, store or tools. The model is a canned script, the tool is in this
//! file, and the transcript goes to a file that `monolith verify` and `monolith replay` take.
//!
//! ```sh
//! cargo run --example host > run.jsonl
//! cargo run -- verify run.jsonl && cargo run -- replay run.jsonl
//! ```
//!
//! What a host promises stands in docs/session-api.md. In short: it makes entries durable before it says so, does what it is asked in the order of
//! the outputs, hands in `Timer` when it is due, and says what became of everything that it began.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the transcript goes to standard output, what happens to standard error"
)]

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use monolith::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ServerCapability, ServerKind,
    TargetCapability, ToolCapability,
};
use monolith::evidence::{SealedEntry, blob_line, entry_line, header_line};
use monolith::session::{
    BytesPerToken, ContentBlock, Digest, EnvelopeFields, EnvelopeStatus, FileChanges, Input,
    NoSecrets, Output, Probed, ProbedTarget, ResponseMeta, RunId, RunStarted, Session,
    ToolEnvelope, ToolInvocation, ToolOutcome,
};
use serde_json::{Value, json};

const CONTRACT: &str = "
system: You tell the time.
task: How late is it?
tool_policy: required
tool_proof: succeeded
targets: [{provider: demo, model: canned, context_window: 8192}]
providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
tools: {mcp: {own: {command: none}}}
";

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", transcript()?);
    Ok(())
}

/// Runs the agent, and gives its transcript.
pub fn transcript() -> Result<String, Box<dyn Error>> {
    let spec = ContractSpec::parse("host.rs", CONTRACT, &[])?;
    let contract = Arc::new(ContractFactory.make(&spec, &tools(), None)?);
    let run_id = RunId::try_from("host-example".to_owned())?;
    let mut responses = VecDeque::from([calls("own__time", &json!({})), says("It is noon.")]);

    let mut session = Session::new(
        Arc::clone(&contract),
        BytesPerToken::counter(),
        Arc::new(NoSecrets),
    )?;
    let clock = Instant::now();
    let mut transcript = header_line(&contract.canonical_text(), &run_id);
    let mut blobs = BTreeMap::new();
    let mut next = VecDeque::from([Input::Start(Box::new(RunStarted::new(
        &contract,
        run_id,
        RunStarted::opening(&contract.system, "How late is it?"),
        unix_ms(),
    )))]);
    while let Some(input) = next.pop_front() {
        let at_ms = u64::try_from(clock.elapsed().as_millis())?;
        session.handle(at_ms, input)?;
        while let Some(output) = session.poll() {
            match output {
                Output::Append(append) => {
                    for entry in &append.entries {
                        transcript.push_str(&entry_line(entry));
                    }
                    for bytes in append.blobs {
                        blobs.insert(Digest::of(&bytes), bytes);
                    }
                    // A real host writes and syncs a file here, and only then says so.
                    let last = append
                        .entries
                        .last()
                        .map_or(0, |entry: &SealedEntry| entry.seq);
                    session.handle(at_ms, Input::Durable(last))?;
                }
                Output::Probe { .. } => next.push_back(Input::Probed(Probed {
                    targets: vec![ProbedTarget {
                        detail: "canned".to_owned(),
                        responsive: true,
                        ..ProbedTarget::default()
                    }],
                })),
                Output::Send(request) => {
                    let body = responses
                        .pop_front()
                        .ok_or("the script has no more responses")?;
                    next.push_back(Input::Response {
                        inference: request.inference.inference,
                        meta: ResponseMeta {
                            status: 200,
                            ..ResponseMeta::default()
                        },
                        bytes: body.to_string().into_bytes(),
                    });
                }
                Output::Call(call) => next.push_back(Input::ToolResult {
                    call: call.order.call,
                    exchanges: Vec::new(),
                    outcome: ToolOutcome::Returned(envelope(&call.order.invocation, at_ms)),
                }),
                // A host that runs agents begins a run of the name that is given, and hands in its end.
                Output::Delegate(delegation) => next.push_back(Input::ChildEnded {
                    call: delegation.order.call,
                    child: None,
                    outcome: ToolOutcome::ConnectionLost {
                        detail: "this host runs no agents".to_owned(),
                    },
                }),
                Output::Thinking { text, .. } => eprintln!("thinking: {text}"),
                Output::Delta { text, .. } => eprintln!("model: {text}"),
                Output::Done(outcome) => eprintln!("{outcome}"),
                // Nothing here takes long enough for a timer, or asks for an approval, a summary or a model on behalf of a tool.
                Output::Arm(_)
                | Output::Ask(_)
                | Output::Summarise { .. }
                | Output::Sample { .. }
                | Output::Close(_)
                | Output::Cancel => {}
            }
        }
    }
    for (hash, bytes) in &blobs {
        transcript.push_str(&blob_line(*hash, bytes));
    }
    Ok(transcript)
}

/// Returns the tools that this host offers.
fn tools() -> CapabilityManifest {
    let time = ToolCapability {
        annotations: json!({"readOnlyHint": true}),
        description: "Tells the time.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
        name: "time".to_owned(),
        schema_tokens: 24,
    };
    let own = ServerCapability {
        available: true,
        kind: ServerKind::Stdio,
        tools: vec![time],
    };
    CapabilityManifest {
        servers: BTreeMap::from([("own".to_owned(), own)]),
        targets: vec![TargetCapability::default()],
    }
}

/// The result of the tool. Its text is shorter than the contract's budget; the session counts its tokens.
fn envelope(call: &ToolInvocation, at_ms: u64) -> ToolEnvelope {
    let text = "12:00".to_owned();
    ToolEnvelope::new(EnvelopeFields {
        bytes_in: call.arguments.as_str().len() as u64,
        bytes_out: text.len() as u64,
        changes: FileChanges::default(),
        content: vec![ContentBlock::Text(text)],
        duration_ms: 0,
        error: None,
        full: None,
        started_at_ms: at_ms,
        status: EnvelopeStatus::Ok,
        tokens: 0,
        tool: call.name.clone(),
        tool_call_id: call.id.clone(),
    })
}

/// A response in which the model calls a tool.
fn calls(name: &str, arguments: &Value) -> Value {
    let function = json!({"name": name, "arguments": arguments.to_string()});
    let call = json!({"id": "c1", "type": "function", "function": function});
    response(&json!({"role": "assistant", "content": null, "tool_calls": [call]}))
}

/// A response in which the model answers.
fn says(text: &str) -> Value {
    response(&json!({"role": "assistant", "content": text}))
}

fn response(message: &Value) -> Value {
    let stop = if message["tool_calls"].is_null() {
        "stop"
    } else {
        "tool_calls"
    };
    json!({"choices": [{"index": 0, "message": message, "finish_reason": stop}]})
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().saturating_mul(1_000))
}
