//! The real driver over a scripted model, real built-in tools and a real store; then replayed from the store.

use std::path::Path;

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Environment, Finished, NoObserver, Observer, RunRequest, drive, prepare};
use crate::store::{Durability, Store, StoreReader};
use monolith_core::contract::ContractSpec;
use monolith_core::kernel::{EntryDraft, EntryKind, Run, State};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{BlobSource, ReplayReport, Replayer};
use monolith_core::session::{Control, RedactionKey};
use monolith_core::transcript::{SealedEntry, WithheldBlobs};

/// The setting that names the fixture's tool server `s`, with more terms; none, with a printed line, if this machine cannot start it.
pub(super) fn tool_server(more: &str) -> Option<String> {
    let python = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if !python.is_ok_and(|output| output.status.success()) {
        println!("skipped 1 case: no python3 to run the tool server with");
        return None;
    }
    let server = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/mcp_server.py"
    );
    Some(format!(
        "tools.mcp.s={{command: python3, args: ['{server}']{more}}}"
    ))
}

/// Counts entries and reacts to the first that enters a state.
#[derive(Default)]
pub(super) struct Watcher {
    entries: u64,
    on: Option<(State, mpsc::Sender<Control>, &'static [Control])>,
}

impl Watcher {
    /// Asks all of that as soon as the run is in that state.
    pub(super) fn asking(state: State, asked: &'static [Control]) -> Self {
        Self {
            entries: 0,
            on: Some((state, mpsc::channel(1).0, asked)),
        }
    }
}

impl Observer for Watcher {
    fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(NoObserver)
    }

    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, _: &Run) {
        assert_eq!(draft.action.seq, sealed.seq);
        assert_eq!(draft.action.seq, self.entries);
        self.entries += 1;
        let kind = draft.action.kind;
        let entered = matches!(kind, EntryKind::Start | EntryKind::Transition);
        let Some((_, sender, asked)) = self
            .on
            .take_if(|(state, _, _)| entered && *state == draft.action.to)
        else {
            return;
        };
        for control in asked {
            sender.try_send(control.clone()).expect("the loop listens");
        }
    }
}

pub(super) fn chat(message: &serde_json::Value, finish: &str) -> String {
    let body = json!({
        "id": "x", "object": "chat.completion", "model": "script",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    });
    json!({"proto": "openai-chat", "stream": false, "status": 200, "response": body.to_string()})
        .to_string()
}

pub(super) fn call(name: &str, arguments: &str) -> String {
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": name, "arguments": arguments}});
    chat(
        &json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        "tool_calls",
    )
}

pub(super) fn say(text: &str) -> String {
    chat(&json!({"role": "assistant", "content": text}), "stop")
}

pub(super) const CONTRACT: &str = r"
task: Which licence?
tool_policy: required
targets: [{provider: demo, model: script}]
providers: {demo: {type: scripted, file: script.jsonl}}
tools: {builtin: [read_file], workspace: .}
";

pub(super) async fn run(
    folder: &Path,
    script: &[String],
    sets: &[&str],
    watcher: Watcher,
) -> Finished {
    let store = Store::open(&folder.join("runs.db"), Durability::Normal).expect("a store");
    run_into(&store, folder, script, sets, watcher).await
}

pub(super) async fn run_into(
    store: &Store,
    folder: &Path,
    script: &[String],
    sets: &[&str],
    mut watcher: Watcher,
) -> Finished {
    std::fs::write(folder.join("script.jsonl"), script.join("\n")).expect("written");
    std::fs::write(folder.join("LICENSE"), "MIT OR Apache-2.0").expect("written");
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let request = RunRequest {
        spec: ContractSpec::parse("c.yaml", CONTRACT, &sets).expect("a contract"),
        contract_dir: folder.to_path_buf(),
        environment: Environment::new(|_| None),
        redaction_key: RedactionKey::new([7; 32]),
        invocation: None,
        run_id: Some(RunId::try_from("r1".to_owned()).expect("an id")),
    };
    let prepared = prepare(request, &CancellationToken::new())
        .await
        .expect("prepared");
    let (keep, control) = match &watcher.on {
        Some(_) => mpsc::channel(4),
        None => mpsc::channel(1),
    };
    if let Some((_, sender, _)) = &mut watcher.on {
        *sender = keep;
    }
    let finished = drive(prepared, store, control, &mut watcher)
        .await
        .expect("driven");
    assert_eq!(finished.entries, watcher.entries);
    finished
}

pub(super) struct Blobs(pub(super) StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).ok().flatten()
    }
}

pub(super) fn replay(folder: &Path, finished: &Finished) -> ReplayReport {
    let path = folder.join("runs.db");
    let blobs = Blobs(StoreReader::open(&path).expect("a reader"));
    let mut reader = StoreReader::open(&path).expect("a reader");
    let stored = reader.read_run(&finished.run_id).expect("the run");
    let mut replayer = Replayer::new(stored.contract().expect("a contract"), &finished.run_id);
    for entry in stored {
        replayer.take(&entry.expect("an entry"), &blobs);
    }
    replayer.finish(false)
}

pub(super) fn end(finished: &Finished) -> String {
    finished
        .run
        .outcome()
        .map_or_else(String::new, |outcome| outcome.to_string())
}

#[tokio::test]
async fn a_run_reads_a_real_file_and_replays_byte_for_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    let finished = run(folder.path(), &script, &[], Watcher::default()).await;
    assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
    let observed = &finished.run.conversation()[2].content;
    assert_eq!(observed, "MIT OR Apache-2.0");
    let report = replay(folder.path(), &finished);
    assert!(report.same, "{:#?}", report.first_difference);
    assert_eq!(report.entries, finished.entries);
}

#[tokio::test]
async fn narration_is_withheld_from_every_entry_and_still_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [say("I have surely read it.")];
    let finished = run(folder.path(), &script, &[], Watcher::default()).await;
    assert_eq!(
        end(&finished),
        "FAILED_PROTOCOL_NO_TOOLS (no_call_response)"
    );
    let mut reader = StoreReader::open(&folder.path().join("runs.db")).expect("a reader");
    for entry in reader.read_run(&finished.run_id).expect("the run") {
        let entry = entry.expect("an entry");
        assert!(!entry.event.contains("surely") && !entry.action.contains("surely"));
    }
    let report = replay(folder.path(), &finished);
    assert!(report.same, "{:#?}", report.first_difference);
}

#[tokio::test]
async fn a_script_that_runs_dry_exhausts_the_attempts() {
    let folder = tempfile::tempdir().expect("a folder");
    let finished = run(folder.path(), &[], &[], Watcher::default()).await;
    assert_eq!(
        end(&finished),
        "FAILED_BUDGET_EXHAUSTED (attempts_exhausted)"
    );
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn an_abort_ends_a_hanging_inference_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        [r#"{"proto":"openai-chat","status":200,"response":"","fault":"hang"}"#.to_owned()];
    let watcher = Watcher::asking(State::Infer, &[Control::Abort]);
    let finished = run(folder.path(), &script, &[], watcher).await;
    assert_eq!(end(&finished), "INTERRUPTED (abort)");
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn a_hanging_inference_ends_at_the_step_timeout() {
    let folder = tempfile::tempdir().expect("a folder");
    let script =
        [r#"{"proto":"openai-chat","status":200,"response":"","fault":"hang"}"#.to_owned()];
    let sets = ["step_timeout_ms=30"];
    let finished = run(folder.path(), &script, &sets, Watcher::default()).await;
    assert_eq!(end(&finished), "FAILED_TIMEOUT (step_timeout)");
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn the_text_of_a_rejected_answer_before_the_gate_opened_is_in_no_export() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "read_file", "arguments": "{\"path\":"}});
    let message = json!({"role": "assistant", "content": "Surely done.", "tool_calls": [call]});
    let script = [chat(&message, "length")];
    let sets = ["max_format_retries=0"];
    let finished = run(folder.path(), &script, &sets, Watcher::default()).await;
    assert_eq!(
        end(&finished),
        "FAILED_PROTOCOL_MALFORMED (format_retries_exhausted)"
    );
    let mut reader = StoreReader::open(&folder.path().join("runs.db")).expect("a reader");
    let export = |reader: &mut StoreReader, withheld| {
        let mut out = Vec::new();
        let stored = reader.read_run(&finished.run_id).expect("the run");
        stored.export(&mut out, withheld).expect("an export");
        String::from_utf8(out)
            .expect("text")
            .matches("\"blob\"")
            .count()
    };
    assert_eq!(export(&mut reader, WithheldBlobs::MayLack), 0);
    assert_eq!(export(&mut reader, WithheldBlobs::Needed), 1);
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn a_call_whose_task_panics_is_lost_and_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        call("read_file", r#"{"path":"panic in the call"}"#),
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    let finished = run(folder.path(), &script, &[], Watcher::default()).await;
    assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
    let observed = &finished.run.conversation()[2].content;
    assert_eq!(observed, "(tool failed: interrupted, effect unknown)");
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn a_repeatable_call_whose_task_always_panics_is_not_made_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = [
        call("read_file", r#"{"path":"panic in the call"}"#),
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    let sets = ["idempotent=[read_file]"];
    let finished = run(folder.path(), &script, &sets, Watcher::default()).await;
    assert_eq!(end(&finished), "COMPLETED_WITH_TOOLS (final_message)");
    let observed = &finished.run.conversation()[2].content;
    assert_eq!(observed, "(tool failed: connection lost)");
    assert!(replay(folder.path(), &finished).same);
}

#[tokio::test]
async fn a_request_whose_task_always_panics_uses_up_the_requests() {
    let folder = tempfile::tempdir().expect("a folder");
    let sets = ["system=panic in the request", "max_inferences=4"];
    let finished = run(folder.path(), &[], &sets, Watcher::default()).await;
    assert_eq!(end(&finished), "FAILED_BUDGET_EXHAUSTED (max_inferences)");
    assert_eq!(finished.run.counters().inferences, 4);
    assert!(replay(folder.path(), &finished).same);
}
