//! A run that several processes drove, each of which signed or did not: it verifies, and its seal counts what was signed.

use std::path::Path;

use monolith_core::kernel::LostEffect;
use monolith_core::message::InferenceSeq;
use monolith_core::transcript::{
    Chain, Checkpoint, FlawKind, Note, SealedEntry, SecretKey, VerifyOptions, WithheldBlobs,
    verify_lines,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tests::{Watcher, call, end, replay, run, run_into, say};
use super::tests_resume::{Silent, batches, cut, lost, replays, request, resume, run_id, stored};
use super::{Environment, drive, prepare_resume, reopen};
use crate::store::{Durability, NewBlob, NewCheckpoint, Store, StoreReader};

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed("local", &[seed; 32]).expect("a key")
}

/// As [`cut`], with a checkpoint of every batch.
async fn cut_signed(from: &Path, to: &Path, kept: usize, key: &SecretKey) {
    let plain = to.with_extension("plain");
    let entries = cut(from, &plain, kept).await;
    let mut reader = StoreReader::open(&plain).expect("a reader");
    let run = reader.read_run(&run_id()).expect("the run");
    let contract = run.contract().expect("a contract");
    let store = Store::open(to, Durability::Normal).expect("a store");
    let made = store.create_run(&run_id(), &contract, 0).await;
    let mut handle = made.expect("a run");
    for batch in batches(&entries) {
        let last = batch.last().expect("an entry");
        let chain = Chain::resumed(contract.contract_hash(), last.hash, last.seq + 1);
        let checkpoint = NewCheckpoint {
            entries: last.seq + 1,
            note: Checkpoint::of(&chain, &run_id(), None)
                .sign(key)
                .to_string(),
        };
        let hashes = run.blob_hashes().expect("hashes").into_iter();
        let named = hashes.filter(|hash| names(batch, &hash.to_string()));
        let blobs = named.map(|hash| run.blob(hash).expect("readable").expect("there"));
        let blobs = blobs.map(NewBlob::Bytes).collect();
        let appended = store.append_signed(&mut handle, batch.to_vec(), blobs, Some(checkpoint));
        appended.await.expect("appended");
    }
}

fn names(batch: &[SealedEntry], hash: &str) -> bool {
    batch.iter().any(|entry| entry.event.contains(hash))
}

/// Resumes to the end; returns the texts of the checkpoints and the lines of the run.
async fn resumed(db: &Path, folder: &Path, key: Option<SecretKey>) -> (Vec<String>, Vec<String>) {
    let store = Store::open(db, Durability::Normal).expect("a store");
    let store = match key {
        Some(key) => store.signed_by(key),
        None => store,
    };
    let reopened = reopen(&store, &run_id(), &Environment::new(|_| None)).expect("reopened");
    let asked = request(folder, &[]);
    let prepared = prepare_resume(reopened, asked, &CancellationToken::new()).await;
    let (_keep, control) = mpsc::channel(1);
    let driven = drive(prepared.expect("prepared"), &store, control, &mut Silent).await;
    driven.expect("driven");
    let mut reader = StoreReader::open(db).expect("a reader");
    let verified = reader.verify_run(&run_id(), false).expect("verified");
    assert_eq!(verified.first_bad, None);
    let run = reader.read_run(&run_id()).expect("the run");
    let notes = run.checkpoints().expect("notes").into_iter();
    let texts = notes.map(|note| note.parse::<Note>().expect("a note").text().to_owned());
    let texts = texts.collect();
    let mut file = Vec::new();
    run.export(&mut file, WithheldBlobs::Needed)
        .expect("exported");
    let file = String::from_utf8(file).expect("text");
    (
        texts,
        file.split_inclusive('\n').map(str::to_owned).collect(),
    )
}

#[tokio::test]
async fn a_run_that_is_signed_in_part_verifies_and_its_seal_counts_what_was_signed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let script = [
        call("read_file", r#"{"path":"LICENSE"}"#),
        say("MIT OR Apache-2.0"),
    ];
    run(folder, &script, &[], Watcher::default()).await;
    let from = folder.join("runs.db");
    let all = batches(&stored(&from)).len();
    assert!(all > 4, "{all}");
    for kept in [1, all / 2, all - 1] {
        for (first, then) in [(None, Some(2)), (Some(1), None), (Some(1), Some(2))] {
            let db = folder.join(format!("{kept}-{first:?}-{then:?}.db"));
            match first {
                Some(seed) => cut_signed(&from, &db, kept, &key(seed)).await,
                None => drop(cut(&from, &db, kept).await),
            }
            let (texts, lines) = Box::pin(resumed(&db, folder, then.map(key))).await;
            let before = first.map_or(0, |_| kept);
            let (last, earlier) = texts.split_last().expect("a checkpoint");
            assert!(
                earlier
                    .iter()
                    .all(|text| text.ends_with("\noutcome open\n"))
            );
            let Some(_) = then else {
                assert_eq!(texts.len(), before);
                assert!(last.ends_with("\noutcome open\n"), "{last}");
                continue;
            };
            let stated = last.lines().last().expect("a line");
            let expect = format!("checkpoints {before} ");
            assert!(stated.starts_with(&expect), "{stated}: {expect}");
            assert_eq!(earlier.len(), before, "{kept}: {texts:?}");
            for gone in lines.len() - texts.len()..lines.len() - 1 {
                let mut left = lines.clone();
                left.remove(gone);
                let bad = verify_lines(left, VerifyOptions::default()).first_bad;
                assert_eq!(bad.map(|bad| bad.kind), Some(FlawKind::Truncated));
            }
        }
    }
}

/// The transactions of a run that answers in the end.
async fn commits(mut script: Vec<String>) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    script.push(say("MIT"));
    let path = folder.path().join("runs.db");
    let store = Store::open(&path, Durability::Normal).unwrap();
    let sets = ["strict_mode=false", "max_format_retries=3"];
    let finished = run_into(&store, folder.path(), &script, &sets, Watcher::default()).await;
    let outcome = finished.run.outcome().unwrap();
    assert!(outcome.class.is_success(), "{outcome:?}");
    store.commits()
}

fn reads(count: usize) -> Vec<String> {
    let read = |limit| {
        call(
            "read_file",
            &format!("{{\"path\":\"LICENSE\",\"limit\":{limit}}}"),
        )
    };
    (1..=count).map(read).collect()
}

#[tokio::test]
async fn a_turn_with_a_call_is_two_commits_and_one_without_is_one() {
    let one = commits(reads(1)).await;
    assert_eq!(commits(reads(5)).await, one + 4 * 2);
    let malformed = |count| {
        let calls = (0..count).map(|_| call("read_file", "no arguments"));
        calls.chain(reads(1)).collect()
    };
    assert_eq!(commits(malformed(1)).await, one + 1);
    assert_eq!(commits(malformed(2)).await, one + 2);
    // Begun, probed, called, observed, answered.
    assert_eq!(one, 5);
}

const SETS: [&str; 3] = [
    "idempotent=[read_file]",
    "tool_output_budget.max_bytes_per_call=100",
    "tool_output_budget.summarizer_model=demo/small",
];
const TOLD: &str = "[SUMMARY] Original size 5000 bytes; summarized to 12 bytes.\nIt says MIT.";

#[tokio::test]
async fn a_large_result_is_summarised_by_its_model_and_survives_every_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("big.txt"), "MIT, ".repeat(1_000)).expect("written");
    let script = [
        call("read_file", r#"{"path":"big.txt"}"#),
        say("It says MIT."),
        say("MIT"),
    ];
    let whole = run(folder, &script, &SETS, Watcher::default()).await;
    assert_eq!(end(&whole), "COMPLETED_WITH_TOOLS (final_message)");
    assert_eq!(whole.run.counters().inferences, 3);
    assert_eq!(whole.run.conversation()[2].content, TOLD);
    let report = replay(folder, &whole);
    assert!(report.same, "{:#?}", report.first_difference);

    let from = folder.join("runs.db");
    let mut summaries_lost = 0;
    for kept in 1..batches(&stored(&from)).len() {
        let to = folder.join(format!("cut-{kept}.db"));
        cut(&from, &to, kept).await;
        let resumed = resume(&to, request(folder, &SETS)).await.expect("resumed");
        let expect = "COMPLETED_WITH_TOOLS (final_message)";
        assert_eq!(end(&resumed), expect, "cut after batch {kept}");
        assert!(replays(&to));
        let observed = &resumed.run.conversation()[2].content;
        let lost = lost(&stored(&to));
        // The summary is not requested again: the cut is shown, and the script continues with its next record.
        if lost.contains(&LostEffect::Inference(InferenceSeq(2)))
            && observed.starts_with("[TRUNCATED]")
        {
            summaries_lost += 1;
        } else {
            assert_eq!(observed, TOLD, "cut after batch {kept}");
        }
    }
    assert_eq!(summaries_lost, 1);
}
