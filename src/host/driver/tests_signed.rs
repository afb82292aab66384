//! A run that several processes drove, each of which signed or did not: it verifies, and its seal counts what was signed.

use std::path::Path;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::tests::{Watcher, call, run, say};
use super::tests_resume::{Silent, batches, cut, request, run_id, stored};
use super::{Environment, drive, prepare_resume, reopen};
use crate::store::{Durability, NewBlob, NewCheckpoint, Store, StoreReader};
use monolith_core::transcript::{
    Chain, Checkpoint, FlawKind, Note, SealedEntry, SecretKey, VerifyOptions, WithheldBlobs,
    verify_lines,
};

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
            let (texts, lines) = resumed(&db, folder, then.map(key)).await;
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
