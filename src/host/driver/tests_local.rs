//! The driver over a fake of the embedded model that plays what it is given: no engine is needed.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tests::{Watcher, end};
use super::{Environment, Finished, RunRequest, drive, prepare};
use crate::inference::{Backend, ScriptedBackend};
use crate::store::{Durability, Store, StoreReader};
use monolith_core::adapter::Script;
use monolith_core::contract::ContractSpec;
use monolith_core::message::RunId;
use monolith_core::session::RedactionKey;

const CONTRACT: &str = r"
task: Which licence?
tool_policy: required
targets: [{provider: m, model: smollm2-135m}]
providers: {m: {type: local, file: m.gguf}}
tools: {builtin: [read_file], workspace: .}
";

/// A run whose model writes these texts, one an inference, whatever the mask allows.
async fn run(folder: &Path, texts: &[&str]) -> Finished {
    run_under(folder, texts, &[]).await
}

/// The same with other terms.
async fn run_under(folder: &Path, texts: &[&str], sets: &[&str]) -> Finished {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let line = |text: &&str| {
        let text = json!({"text": text});
        let stop = json!({"stop": "end", "usage": {"input": 9, "output": 4}});
        json!({"proto": "local-hermes", "response": format!("{text}\n{stop}\n")}).to_string()
    };
    let script: Vec<String> = texts.iter().map(line).collect();
    let script: Script = script.join("\n").parse().expect("a script");
    std::fs::write(folder.join("LICENSE"), "MIT").expect("written");
    let request = RunRequest {
        spec: ContractSpec::parse("c.yaml", CONTRACT, &sets).expect("a contract"),
        contract_dir: folder.to_path_buf(),
        environment: Environment::new(|_| None),
        invocation: None,
        redaction_key: RedactionKey::new([7; 32]),
        run_id: Some(RunId::try_from("r1".to_owned()).expect("an id")),
    };
    let store = Store::open(&folder.join("runs.db"), Durability::Normal).expect("a store");
    let prepared = Box::pin(prepare(request, &CancellationToken::new())).await;
    let mut prepared = prepared.expect("prepared");
    prepared.backends = vec![Arc::new(Backend::Scripted(ScriptedBackend::new(script, 0)))];
    let (_keep, control) = mpsc::channel(1);
    let mut watcher = Watcher::default();
    let driven = Box::pin(drive(prepared, &store, control, &mut watcher)).await;
    driven.expect("driven")
}

const CALL: &str =
    "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"LICENSE\"}}\n</tool_call>";

#[tokio::test]
async fn an_embedded_model_calls_a_tool_and_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let finished = run(folder.path(), &[CALL, "MIT."]).await;
    assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
    let said: Vec<&str> = finished
        .run
        .conversation()
        .iter()
        .map(|m| m.content.as_str())
        .collect();
    assert_eq!(said, ["Which licence?", "", "MIT", "MIT."]);
}

#[tokio::test]
async fn prose_through_a_closed_mask_is_the_backends_violation_and_in_no_entry() {
    for prose in ["I have surely read it.", "<tool_cal>surely", " "] {
        let folder = tempfile::tempdir().expect("a folder");
        let finished = run(folder.path(), &[prose, CALL]).await;
        assert_eq!(
            end(&finished),
            "FAILED_CONTRACT_VIOLATION (token_gate)",
            "{prose:?}"
        );
        let mut reader = StoreReader::open(&folder.path().join("runs.db")).expect("a reader");
        for entry in reader.read_run(&finished.run_id).expect("the run") {
            let entry = entry.expect("an entry");
            assert!(!entry.event.contains("surely") && !entry.action.contains("surely"));
        }
    }
}

/// A call of a session tool or another, as the model writes it.
fn call(name: &str, arguments: &serde_json::Value) -> String {
    format!("<tool_call>\n{{\"name\":\"{name}\",\"arguments\":{arguments}}}\n</tool_call>")
}

#[tokio::test]
async fn a_final_report_ends_a_run_behind_the_gate_only_after_a_call() {
    let report = call(
        "agent__final_report",
        &json!({"format": "markdown", "report_content": "It is MIT."}),
    );
    let progress = call("agent__progress_report", &json!({"progress": "Half."}));
    let batched = json!({"calls": [{"tool": "read_file", "arguments": {"path": "LICENSE"}}]});
    let batch = call("agent__batch", &batched);
    let read = json!({"path": "LICENSE"});
    let sets = [
        "completion=final_report",
        "progress_report=true",
        "batch=true",
        "max_attempts_per_turn=1",
        "max_turns=3",
    ];
    let check = async |texts: &[&str], expect: &str, executed: u64| {
        let folder = tempfile::tempdir().expect("a folder");
        let finished = run_under(folder.path(), texts, &sets).await;
        let counters = finished.run.counters();
        assert_eq!(
            (end(&finished).as_str(), counters.executed),
            (expect, executed),
            "{texts:?}"
        );
    };
    let good = "COMPLETED_WITH_TOOLS (final_report)";
    check(&[CALL, &report], good, 1).await;
    check(&[CALL, &progress, &report], good, 1).await;
    check(&[CALL, &batch, &report], good, 2).await;
    let read_and_told = format!("{}\n{progress}", call("read_file", &read));
    check(&[&read_and_told, &report], good, 1).await;
    // In the closing turn the report is all that is offered, and words will do.
    check(&[CALL, "Let me think.", &report], good, 1).await;
    let words = "COMPLETED_WITH_TOOLS (text_fallback)";
    check(&[CALL, "Let me think.", "It is MIT."], words, 1).await;
    // The mask lets none of these through, so whatever wrote them broke it.
    let broken = "FAILED_CONTRACT_VIOLATION (token_gate)";
    check(&[&report, CALL], broken, 0).await;
    check(&[&progress, CALL], broken, 0).await;
    check(&["It is MIT.", CALL], broken, 0).await;
}
