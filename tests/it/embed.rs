//! A program that embeds monolith: the example runs, and its transcript verifies, replays and is what the observer saw. Also
//! the refusals and the panics of closures.

#[allow(dead_code, reason = "its `main` is not called here")]
#[path = "../../examples/embed.rs"]
mod example;

use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex};

use monolith::contract::ContractSpec;
use monolith::host::{
    Durability, Environment, HostTool, NoObserver, RunRequest, Store, StoreReader, drive, prepare,
    prepare_resume, reopen,
};
use monolith::session::{Control, RedactionKey, RunId};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn the_example_runs_and_its_lines_are_those_of_the_export() {
    let fixture = Fixture::new();
    let folder = fixture.path("embedded");
    std::fs::create_dir(&folder).unwrap();
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let taken = Arc::clone(&lines);
    let take = move |_: &RunId, line: &str| taken.lock().unwrap().push(line.to_owned());
    let outcome = Box::pin(example::run(&folder, take)).await.unwrap();
    assert_eq!(outcome, "COMPLETED_WITH_TOOLS (final_message)");
    let store = folder.join("runs.db");
    let store = store.to_str().unwrap();
    let file = fixture.ok(&["export", "last", "--store", store]);
    let lines = lines.lock().unwrap();
    let entries = file.lines().skip(1).take(lines.len());
    let entries: Vec<String> = entries.map(|line| format!("{line}\n")).collect();
    assert_eq!(*lines, entries);
    assert!(file.contains(" 12:00"), "{file}");
    fixture.write("run.jsonl", &file);
    for command in ["verify", "replay"] {
        fixture.ok(&[command, "run.jsonl"]);
    }
}

const CONTRACT: &str = "
task: How late is it?
tool_policy: required
targets: [{provider: demo, model: canned, context_window: 8192}]
providers: {demo: {type: scripted, file: script.jsonl}}
tools: {host: [time]}
";

fn request(folder: &Path, environment: Environment) -> RunRequest {
    let spec = ContractSpec::parse("c.yaml", CONTRACT, &[]).unwrap();
    RunRequest::new(spec, folder, environment, RedactionKey::new([7; 32]))
}

/// A model that calls the tool and answers.
fn write_script(folder: &Path) {
    let call = json!({"id": "a", "type": "function", "function": {"name": "host__time", "arguments": "{}"}});
    let called = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let said = json!({"role": "assistant", "content": "It is noon."});
    let line = |message: &Value, stop: &str| {
        json!({"response": {"choices": [{"message": message, "finish_reason": stop}]}}).to_string()
    };
    let script = [line(&called, "tool_calls"), line(&said, "stop")];
    std::fs::write(folder.join("script.jsonl"), script.join("\n")).unwrap();
}

fn time(call: impl Fn() -> Result<String, String> + Send + Sync + 'static) -> HostTool {
    let schema = json!({"type": "object", "properties": {}});
    HostTool::new("time", "Tells the time.", schema, move |_| {
        let told = call();
        async move { told }
    })
}

/// Runs the contract to its end; the outcome, and the exported transcript.
async fn run(folder: &Path, tool: HostTool) -> Result<(String, String), Box<dyn Error>> {
    write_script(folder);
    let environment = Environment::new(|_| None).with_tool(tool);
    let prepared = prepare(request(folder, environment), &CancellationToken::new()).await?;
    let store = Store::open(&folder.join("runs.db"), Durability::Normal)?;
    let (_none, controls) = mpsc::channel(1);
    let ended = drive(prepared, &store, controls, &mut NoObserver).await?;
    let mut file = Vec::new();
    let mut reader = store.reader()?;
    let stored = reader.read_run(&ended.run_id)?;
    stored.export(&mut file, monolith::evidence::WithheldBlobs::Needed)?;
    let outcome = ended.run.outcome().map(|end| end.to_string());
    Ok((outcome.unwrap_or_default(), String::from_utf8(file)?))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_and_a_panic_of_a_closure_are_failed_calls() {
    let folder = tempfile::tempdir().unwrap();
    let failing = time(|| Err("the clock is broken".to_owned()));
    let (_, file) = Box::pin(run(folder.path(), failing)).await.unwrap();
    assert!(file.contains("the clock is broken"), "{file}");
    let folder = tempfile::tempdir().unwrap();
    let panicking = time(|| panic!("out of order"));
    let (_, file) = Box::pin(run(folder.path(), panicking)).await.unwrap();
    assert!(file.contains("TOOL_PANICKED"), "{file}");
    assert!(!file.contains("out of order"), "{file}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_the_program_does_not_have_is_refused_before_anything_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    write_script(folder.path());
    let none = request(folder.path(), Environment::new(|_| None));
    let refused = prepare(none.clone(), &CancellationToken::new()).await;
    let refused = refused.err().unwrap().to_string();
    let expect = "tools.host: the tool server `host` does not offer `time`";
    assert_eq!(refused, expect);

    // A run that was left is refused in the same way, and stays as it is.
    let (leave, controls) = mpsc::channel(1);
    let tool = time(move || {
        leave.try_send(Control::Suspend).unwrap();
        Ok("12:00".to_owned())
    });
    let environment = Environment::new(|_| None).with_tool(tool);
    let asked = request(folder.path(), environment.clone());
    let prepared = prepare(asked, &CancellationToken::new()).await.unwrap();
    let path = folder.path().join("runs.db");
    let store = Store::open(&path, Durability::Normal).unwrap();
    let left = drive(prepared, &store, controls, &mut NoObserver).await;
    let left = left.unwrap();
    let length = |store: &Store| {
        let mut reader: StoreReader = store.reader().unwrap();
        reader.read_run(&left.run_id).unwrap().row().length
    };
    let before = length(&store);
    let reopened = reopen(&store, &left.run_id, &environment).unwrap();
    let refused = prepare_resume(reopened, none, &CancellationToken::new()).await;
    assert_eq!(refused.err().unwrap().to_string(), expect);
    assert_eq!(length(&store), before);

    // Another definition under that name is another contract's tool: its calls are refused, and the run says so.
    let schema = json!({"type": "object", "properties": {"zone": {"type": "string"}}});
    let other = HostTool::new("time", "Tells the time.", schema, |_| async {
        Ok::<_, String>("13:00".to_owned())
    });
    let environment = Environment::new(|_| None).with_tool(other);
    let reopened = reopen(&store, &left.run_id, &environment).unwrap();
    let asked = request(folder.path(), environment);
    let prepared = prepare_resume(reopened, asked, &CancellationToken::new()).await;
    let (_none, controls) = mpsc::channel(1);
    drive(prepared.unwrap(), &store, controls, &mut NoObserver)
        .await
        .unwrap();
    let mut file = Vec::new();
    let mut reader = store.reader().unwrap();
    let stored = reader.read_run(&left.run_id).unwrap();
    stored
        .export(&mut file, monolith::evidence::WithheldBlobs::Needed)
        .unwrap();
    let file = String::from_utf8(file).unwrap();
    assert!(file.contains("tools_changed"), "{file}");
}
