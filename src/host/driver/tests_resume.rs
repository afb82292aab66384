//! A run cut at every boundary of its entries, and resumed: the end and the conversation are those of the run that was
//! never cut, apart from what was lost.

use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tests::{Blobs, CONTRACT, Watcher, call, chat, end, run, say};
use super::{
    DriverError, Environment, Finished, NoObserver, Observer, RunRequest, drive, prepare_resume,
    reopen,
};
use crate::store::{Durability, NewBlob, Store, StoreError, StoreReader};
use monolith_core::contract::ContractSpec;
use monolith_core::kernel::{EntryDraft, EventKind, LostEffect, Run, steps};
use monolith_core::message::{Role, RunId};
use monolith_core::replay::Replayer;
use monolith_core::session::{Control, RedactionKey};
use monolith_core::transcript::SealedEntry;

const UNKNOWN: &str = "(tool failed: interrupted, effect unknown)";

pub(super) struct Silent;

impl Observer for Silent {
    fn entry(&mut self, _: &EntryDraft, _: &SealedEntry, _: &Run) {}

    fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(NoObserver)
    }
}

pub(super) fn run_id() -> RunId {
    RunId::try_from("r1".to_owned()).expect("an id")
}

pub(super) fn stored(path: &Path) -> Vec<SealedEntry> {
    let mut reader = StoreReader::open(path).expect("a reader");
    let run = reader.read_run(&run_id()).expect("the run");
    run.map(|entry| entry.expect("an entry")).collect()
}

/// The entries batch by batch: the first entry of each carries the event.
pub(super) fn batches(entries: &[SealedEntry]) -> Vec<&[SealedEntry]> {
    entries
        .chunk_by(|_, next| next.event == "null")
        .collect::<Vec<_>>()
}

/// A store that holds what was durable when a process died after its batch `kept`.
pub(super) async fn cut(from: &Path, to: &Path, kept: usize) -> Vec<SealedEntry> {
    let entries = stored(from);
    let mut reader = StoreReader::open(from).expect("a reader");
    let run = reader.read_run(&run_id()).expect("the run");
    let contract = run.contract().expect("a contract");
    let kept: Vec<SealedEntry> = batches(&entries)[..kept].concat();
    let hashes = run.blob_hashes().expect("hashes").into_iter();
    let named = hashes.filter(|hash| kept.iter().any(|e| e.event.contains(&hash.to_string())));
    let blobs = named.map(|hash| run.blob(hash).expect("readable").expect("there"));
    let blobs = blobs.map(NewBlob::Bytes).collect();
    let store = Store::open(to, Durability::Normal).expect("a store");
    let made = store.create_run(&run_id(), &contract, 0).await;
    let mut handle = made.expect("a run");
    let appended = store.append(&mut handle, kept.clone(), blobs).await;
    appended.expect("appended");
    kept
}

pub(super) fn request(folder: &Path, sets: &[&str]) -> RunRequest {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    RunRequest {
        spec: ContractSpec::parse("c.yaml", CONTRACT, &sets).expect("a contract"),
        contract_dir: folder.to_path_buf(),
        environment: Environment::new(|_| None),
        redaction_key: RedactionKey::new([7; 32]),
        invocation: None,
        run_id: None,
    }
}

pub(super) async fn resume(db: &Path, request: RunRequest) -> Result<Finished, DriverError> {
    let store = Store::open(db, Durability::Normal).expect("a store");
    let reopened = reopen(&store, &run_id(), &Environment::new(|_| None))?;
    let prepared = Box::pin(prepare_resume(reopened, request, &CancellationToken::new())).await?;
    let (_keep, control) = mpsc::channel(1);
    Box::pin(drive(prepared, &store, control, &mut Silent)).await
}

pub(super) fn replays(db: &Path) -> bool {
    let blobs = Blobs(StoreReader::open(db).expect("a reader"));
    let mut reader = StoreReader::open(db).expect("a reader");
    let contract = reader.read_run(&run_id()).expect("the run").contract();
    let mut replayer = Replayer::new(contract.expect("a contract"), &run_id());
    let mut at_ms = 0;
    for entry in &stored(db) {
        replayer.take(entry, &blobs);
        if let Some(event) = entry.decode_event().expect("an event") {
            assert!(event.at_ms >= at_ms, "time never goes back");
            at_ms = event.at_ms;
        }
    }
    let report = replayer.finish(false);
    assert!(report.same, "{:#?}", report.first_difference);
    reader = StoreReader::open(db).expect("a reader");
    let verified = reader.verify_run(&run_id(), false).expect("verified");
    assert_eq!(verified.first_bad, None);
    true
}

/// The text of each message of a conversation.
fn messages_of(finished: &Finished) -> Vec<(Role, String)> {
    let conversation = finished.run.conversation().iter();
    conversation
        .map(|message| (message.role, message.content.clone()))
        .collect()
}

/// Returns the effects reported lost on resume.
pub(super) fn lost(entries: &[SealedEntry]) -> Vec<LostEffect> {
    let events = entries.iter().filter_map(|entry| {
        let event = entry.decode_event().expect("an event");
        event.map(|event| event.event)
    });
    events
        .filter_map(|event| match event {
            EventKind::EffectLost(lost) => Some(lost),
            _ => None,
        })
        .collect()
}

/// Returns the decisions of a run, entry by entry, without what a loss may change: times, and the number of restarts. Leaves
/// out steps that only state a loss; `unknown` also leaves out the consequences of an unknown result.
fn decisions(entries: &[SealedEntry], unknown: bool) -> Vec<Value> {
    let mut decisions = Vec::new();
    for batch in batches(entries) {
        let event: Value = serde_json::from_str(&batch[0].event).expect("JSON");
        let kind = event["event"]["kind"].as_str().expect("a kind");
        // If it is unknown how a call ended, the entry of its loss takes the place of its end.
        let ends_a_call = unknown && event["event"]["value"]["kind"] == "call";
        let says_only = kind == "resumed" || (kind == "effect_lost" && !ends_a_call);
        if says_only {
            continue;
        }
        for entry in batch {
            let event: Value = serde_json::from_str(&entry.event).expect("JSON");
            let action: Value = serde_json::from_str(&entry.action).expect("JSON");
            let mut decided = json!({"action": action, "event": event});
            forget(&mut decided, unknown);
            if unknown && matches!(kind, "effect_lost" | "tool_returned") {
                decided["event"] = json!("a call has ended, or nobody knows");
            }
            decisions.push(decided);
        }
    }
    decisions
}

/// Takes out what a loss may change.
fn forget(value: &mut Value, unknown: bool) {
    const ALWAYS: [&str; 9] = [
        "at_ms",
        "started_at_ms",
        "started_unix_ms",
        "duration_ms",
        "until_ms",
        "inference",
        "inferences",
        "resumes",
        "state_digest",
    ];
    const UNKNOWN: [&str; 8] = [
        "conversation_digest",
        "context",
        "executed",
        "executed_ok",
        "request_hash",
        "tokens_in",
        "tokens_out",
        "usage",
    ];
    match value {
        Value::Object(members) => {
            members.retain(|key, _| {
                let counted = key == "seq" || key == "length";
                let gone = ALWAYS.contains(&key.as_str());
                !(counted || gone || unknown && UNKNOWN.contains(&key.as_str()))
            });
            members
                .values_mut()
                .for_each(|inner| forget(inner, unknown));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| forget(inner, unknown)),
        _ => {}
    }
}

/// Runs a script to its end, then cuts it after every batch but the last and resumes each; returns what was lost by cut.
async fn check(script: &[String], sets: &[&str], expect: &str) -> Vec<Vec<LostEffect>> {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let whole = run(folder, script, sets, Watcher::default()).await;
    assert_eq!(end(&whole), expect);
    let from = folder.join("runs.db");
    let entries = stored(&from);
    let cuts = 1..batches(&entries).len();
    let resumed = cuts.map(|kept| {
        let to: PathBuf = folder.join(format!("cut-{kept}.db"));
        let from = &from;
        async move {
            let before = cut(from, &to, kept).await;
            let resumed = resume(&to, request(folder, sets)).await;
            (kept, to, before, resumed.expect("resumed"))
        }
    });
    let mut losses = Vec::new();
    for (kept, to, before, resumed) in join_all(resumed).await {
        assert_eq!(end(&resumed), expect, "cut after batch {kept}");
        let after = stored(&to);
        assert_eq!(after[..before.len()], before, "nothing durable is lost");
        assert!(replays(&to));
        let lost = lost(&after);
        let unknown = lost.iter().any(|l| matches!(l, LostEffect::Call(_)))
            && !sets.iter().any(|set| set.starts_with("idempotent"));
        for (got, want) in messages_of(&resumed).into_iter().zip(messages_of(&whole)) {
            let lost_here = unknown && got == (Role::Tool, UNKNOWN.to_owned());
            assert!(lost_here || got == want, "cut after batch {kept}: {got:?}");
        }
        assert_eq!(messages_of(&resumed).len(), messages_of(&whole).len());
        if sets.contains(&"parallel_tool_calls=true") {
            // Which of two calls ends first is no decision.
            losses.push(lost);
            continue;
        }
        let (got, want) = (decisions(&after, unknown), decisions(&entries, unknown));
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got, want, "cut after batch {kept}");
        }
        assert_eq!(got.len(), want.len(), "cut after batch {kept}");
        losses.push(lost);
    }
    losses
}

fn reads() -> [String; 3] {
    let read = || call("read_file", r#"{"path":"LICENSE"}"#);
    [read(), read(), say("MIT OR Apache-2.0")]
}

/// One message with two calls.
fn reads_twice() -> String {
    let call = |id: &str| {
        json!({"id": id, "type": "function",
            "function": {"name": "read_file", "arguments": "{\"path\":\"LICENSE\"}"}})
    };
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
    chat(&message, "tool_calls")
}

#[tokio::test]
async fn a_run_cut_anywhere_ends_as_the_run_that_was_not_cut() {
    let lost = Box::pin(check(&reads(), &[], "COMPLETED_WITH_TOOLS (final_message)")).await;
    let kinds: Vec<String> = lost.iter().map(|lost| format!("{lost:?}")).collect();
    assert_eq!(
        kinds,
        [
            "[Probe]",
            "[Inference(InferenceSeq(1))]",
            "[Call(CallSeq(1))]",
            "[Inference(InferenceSeq(2))]",
            "[Call(CallSeq(2))]",
            "[Inference(InferenceSeq(3))]",
        ]
    );
}

#[test]
fn a_resumed_run_is_folded_once() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    runtime.block_on(run(folder, &reads(), &[], Watcher::default()));
    let (from, to) = (folder.join("runs.db"), folder.join("cut.db"));
    let kept = batches(&stored(&from)).len() - 1;
    runtime.block_on(cut(&from, &to, kept));
    let store = Store::open(&to, Durability::Normal).expect("a store");
    let environment = Environment::new(|_| None);
    let mut reopened = None;
    let taken = steps(|| reopened = reopen(&store, &run_id(), &environment).ok());
    // The start of a run is no step.
    assert_eq!(taken, kept as u64 - 1);
    let reopened = reopened.expect("reopened");
    let mut prepared = None;
    let cancel = CancellationToken::new();
    let preparing = prepare_resume(reopened, request(folder, &[]), &cancel);
    let taken = steps(|| prepared = runtime.block_on(preparing).ok());
    assert_eq!(taken, 0);
    assert!(prepared.is_some());
}

#[tokio::test]
async fn a_lost_idempotent_call_runs_again_and_nothing_differs() {
    let sets = ["idempotent=[read_file]"];
    Box::pin(check(
        &reads(),
        &sets,
        "COMPLETED_WITH_TOOLS (final_message)",
    ))
    .await;
}

#[tokio::test]
async fn calls_that_run_beside_each_other_are_lost_in_their_order() {
    let script = [
        reads_twice(),
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("x"),
    ];
    for sets in [
        &["parallel_tool_calls=true", "parallel_safe=[read_file]"][..],
        &[
            "parallel_tool_calls=true",
            "parallel_safe=[read_file]",
            "idempotent=[read_file]",
        ],
    ] {
        let lost = Box::pin(check(&script, sets, "COMPLETED_WITH_TOOLS (final_message)")).await;
        let both = "[Call(CallSeq(1)), Call(CallSeq(2))]";
        assert!(lost.iter().any(|lost| format!("{lost:?}") == both));
    }
}

#[tokio::test]
async fn a_wait_goes_on_for_its_rest() {
    let limited = json!({"proto": "openai-chat", "status": 429, "response": "{}"}).to_string();
    let script = [
        limited,
        call("read_file", r#"{"path":"LICENSE"}"#),
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("x"),
    ];
    let lost = Box::pin(check(&script, &[], "COMPLETED_WITH_TOOLS (final_message)")).await;
    assert!(lost.contains(&vec![LostEffect::Wait]));
}

#[tokio::test]
async fn an_approval_is_still_waited_for_after_a_resume() {
    let script = [call("read_file", r#"{"path":"LICENSE"}"#), say("denied")];
    let sets = [
        "require_approval=[read_file]",
        "approval_timeout_ms=60",
        "tool_policy=optional",
    ];
    let lost = Box::pin(check(&script, &sets, "COMPLETED_CHAT_ONLY (final_message)")).await;
    assert!(lost.contains(&Vec::new()), "nothing was begun: {lost:?}");
}

#[tokio::test]
async fn a_run_that_keeps_losing_its_process_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sets = ["max_resumes=1"];
    run(folder, &reads(), &sets, Watcher::default()).await;
    let (first, second) = (folder.join("first.db"), folder.join("second.db"));
    cut(&folder.join("runs.db"), &first, 2).await;
    let resumed = resume(&first, request(folder, &sets)).await;
    assert_eq!(
        end(&resumed.expect("resumed")),
        "COMPLETED_WITH_TOOLS (final_message)"
    );
    // The process that resumed died directly after recording it.
    cut(&first, &second, 3).await;
    let resumed = resume(&second, request(folder, &sets)).await;
    assert_eq!(end(&resumed.expect("resumed")), "INTERRUPTED (shutdown)");
    assert!(replays(&second));
}

#[tokio::test]
async fn what_a_run_cannot_go_on_with_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    run(folder, &reads(), &[], Watcher::default()).await;
    let whole = folder.join("runs.db");
    let db = folder.join("cut.db");
    let kept = cut(&whole, &db, 3).await;
    let refused = async |db: &Path, request: RunRequest| match Box::pin(resume(db, request)).await {
        Ok(finished) => end(&finished),
        Err(fault) => fault.to_string(),
    };
    let ended = refused(&whole, request(folder, &[])).await;
    assert_eq!(
        ended,
        "resume run r1: it has already ended; monolith show says how"
    );
    let other = refused(&db, request(folder, &["system=Be brief."])).await;
    assert_eq!(
        other,
        "resume run r1: the file gives another contract: /system is \"Be brief.\", but the run started with \"\""
    );
    let elsewhere = folder.join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    let mut moved = request(folder, &[]);
    moved.spec.tools.workspace = Some("elsewhere".to_owned());
    let moved = refused(&db, moved).await;
    assert!(
        moved.starts_with("resume run r1: it started in a workspace other than "),
        "{moved}"
    );
    std::fs::write(folder.join("script.jsonl"), say("another script")).expect("written");
    let script = refused(&db, request(folder, &[])).await;
    assert!(
        script
            .ends_with("script.jsonl of provider `demo` is not the one that the run started with"),
        "{script}"
    );
    let driven = Store::open(&db, Durability::Normal).expect("a store");
    let lock = driven.lock_run(&run_id()).expect("locked");
    let locked = resume(&db, request(folder, &[])).await;
    let Err(DriverError::Store(StoreError::RunLocked { run_id: id, holder })) = locked else {
        panic!("one driver at a time");
    };
    assert_eq!((id, holder), (run_id(), Some(std::process::id())));
    drop(lock);
    // None of it has left a trace.
    assert_eq!(stored(&db), kept);
}

#[tokio::test]
async fn a_transcript_that_does_not_replay_is_not_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    run(folder, &reads(), &[], Watcher::default()).await;
    let db = folder.join("cut.db");
    cut(&folder.join("runs.db"), &db, 2).await;
    let store = Store::open(&db, Durability::Normal).expect("a store");
    let mut handle = store.claim_run(&run_id()).await.expect("claimed");
    let mut forged = stored(&db).pop().expect("an entry");
    forged.seq += 1;
    store
        .append(&mut handle, vec![forged], Vec::new())
        .await
        .expect("appended");
    let refused = resume(&db, request(folder, &[])).await.err();
    let Some(DriverError::DoesNotReplay { report, .. }) = refused else {
        panic!("refused: {refused:?}");
    };
    assert_eq!(report.first_difference.map(|d| d.seq), Some(2));
}
