//! monolith inside a program: a closure as a tool, an observer of the entries, and a run that is left and resumed. The model is a script.
//!
//! ```sh
//! cargo run --example embed > entries.jsonl
//! ```

#![allow(clippy::print_stdout, reason = "the entries go to standard output")]

use std::error::Error;
use std::path::Path;

use monolith::contract::ContractSpec;
use monolith::host::{
    Durability, EntryLines, Environment, HostTool, RunRequest, Store, drive, prepare,
    prepare_resume, reopen,
};
use monolith::session::{Control, RedactionKey, RunId};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const CONTRACT: &str = "
task: How late is it in Athens?
tool_policy: required
targets: [{provider: demo, model: canned, context_window: 8192}]
providers: {demo: {type: scripted, file: script.jsonl}}
tools: {host: [time]}
";

const SCRIPT: &str = r#"{"response": {"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "host__time", "arguments": "{\"city\": \"Athens\"}"}}]}, "finish_reason": "tool_calls"}]}}
{"response": {"choices": [{"message": {"role": "assistant", "content": "It is noon."}, "finish_reason": "stop"}]}}
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let run = run(folder.path(), |_, line| print!("{line}"));
    println!("{}", Box::pin(run).await?);
    Ok(())
}

/// Runs the agent in two parts, and gives its outcome.
pub async fn run(
    folder: &Path,
    take: impl FnMut(&RunId, &str) + Clone + Send + 'static,
) -> Result<String, Box<dyn Error>> {
    std::fs::write(folder.join("script.jsonl"), SCRIPT)?;
    let store = Store::open(&folder.join("runs.db"), Durability::Full)?;
    let (leave, controls) = mpsc::channel(1);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tell = move |arguments: Value| {
        // The first call asks for the run to be left once it has ended.
        let _ = leave.try_send(Control::Suspend);
        let city = arguments.get("city").and_then(Value::as_str);
        let told = city.map(|city| format!("{city}: 12:00"));
        async move { told.ok_or("no city") }
    };
    let time = HostTool::new("time", "Tells the time in a city.", schema, tell).read_only();
    let environment = Environment::new(|_| None).with_tool(time);
    let spec = ContractSpec::parse("embed.rs", CONTRACT, &[])?;
    let key = RedactionKey::new([7; 32]);
    let request = RunRequest::new(spec, folder, environment.clone(), key);

    let prepared = prepare(request.clone(), &CancellationToken::new()).await?;
    let run_id = prepared.run_id().clone();
    let mut lines = EntryLines::new(run_id.clone(), take);
    let left = drive(prepared, &store, controls, &mut lines).await?;
    if left.run.outcome().is_some() {
        return Err("the run ended before it was left".into());
    }

    let (_none, controls) = mpsc::channel(1);
    let reopened = reopen(&store, &run_id, &environment)?;
    let prepared = prepare_resume(reopened, request, &CancellationToken::new()).await?;
    let ended = drive(prepared, &store, controls, &mut lines).await?;
    let outcome = ended.run.outcome().map(|end| end.to_string());
    Ok(outcome.unwrap_or_default())
}
