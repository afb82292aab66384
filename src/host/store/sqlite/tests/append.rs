//! Appending: what is acknowledged is read back, runs share commits, blobs are kept once.

use std::cell::Cell;
use std::future::Future;
use std::task::{Context, Waker};

use monolith_core::kernel::AgentOutcome;
use monolith_core::message::Digest;
use monolith_core::transcript::{VerifyOptions, WithheldBlobs, verify_lines};
use monolith_testkit::sample::{SampleRun, run_id_of};

use super::{create, folder, held, open, write};
use crate::store::conformance::conforms;
use crate::store::sqlite::append::LARGE_BLOB_BYTES;
use crate::store::{NewBlob, RunFilter, StoreError, wait};

#[test]
fn what_was_appended_is_read_back_after_reopening() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    write(&open(&path), &run, 5);
    let store = open(&path);
    let mut reader = store.reader().unwrap();
    let stored = reader.read_run(&run.run_id).unwrap();
    assert_eq!(stored.contract().unwrap(), run.contract);
    let row = stored.row().clone();
    assert_eq!((row.length, row.created_unix_ms, row.epoch), (11, 5, 1));
    assert_eq!(row.head, run.entries.last().unwrap().hash);
    let outcome = (
        "COMPLETED_WITH_TOOLS".to_owned(),
        "final_message".to_owned(),
    );
    assert_eq!(row.outcome, Some(outcome));
    let mut hashes: Vec<_> = run.blobs.iter().map(|b| Digest::of(b)).collect();
    hashes.sort();
    assert_eq!(stored.blob_hashes().unwrap(), hashes);
    assert_eq!(
        stored.blob(Digest::of(&run.blobs[0])).unwrap().as_ref(),
        run.blobs.first()
    );
    assert_eq!(stored.blob(Digest::ZERO).unwrap(), None);
    let entries: Vec<_> = stored.map(Result::unwrap).collect();
    assert_eq!(entries, run.entries);
    let report = reader.verify_run(&run.run_id, false).unwrap();
    assert_eq!(report.first_bad, None, "{report:#?}");
    assert!(report.not_checked.iter().any(|n| n.contains("runs.owner")));
}

#[test]
fn an_export_is_the_file_that_the_run_makes() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    write(&store, &run, 5);
    let export = |withheld| {
        let mut out = Vec::new();
        let mut reader = store.reader().unwrap();
        let left = reader
            .read_run(&run.run_id)
            .unwrap()
            .export(&mut out, withheld)
            .unwrap();
        (left, out)
    };
    assert_eq!(export(WithheldBlobs::Needed), (0, run.lines().concat()));
    let (left_out, file) = export(WithheldBlobs::MayLack);
    assert_eq!(left_out, 2);
    let lines: Vec<_> = file.split_inclusive(|b| *b == b'\n').collect();
    assert_eq!(lines.len() + 2, run.lines().len());
    assert!(verify_lines(&lines, VerifyOptions::default()).holds());
    let needle = "Let me look.";
    assert!(!String::from_utf8(file).unwrap().contains(needle));
}

#[test]
fn concurrent_runs_share_commits_and_keep_their_chains() {
    let (_folder, path) = folder();
    let store = open(&path);
    let runs: Vec<_> = (0..16).map(|n| SampleRun::new(&format!("r-{n}"))).collect();
    std::thread::scope(|scope| {
        for run in &runs {
            scope.spawn(|| write(&store, run, 1));
        }
    });
    let mut reader = store.reader().unwrap();
    for run in &runs {
        let report = reader.verify_run(&run.run_id, false).unwrap();
        assert_eq!(report.first_bad, None, "{report:#?}");
        assert_eq!(report.head, run.entries.last().map(|e| e.hash));
    }
}

#[test]
fn requests_that_wait_together_are_committed_together_and_large_blobs_alone() {
    let (_folder, path) = folder();
    let (sender, commits) = std::sync::mpsc::channel();
    let (store, lock) = held(&path, sender);
    let runs: Vec<_> = (0..40).map(|n| SampleRun::new(&format!("r-{n}"))).collect();
    let mut answers: Vec<_> = runs
        .iter()
        .map(|run| Box::pin(store.create_run(&run.run_id, &run.contract, 1)))
        .collect();
    // One poll puts each request into the queue; none is answered, since the lock is held.
    let mut cx = Context::from_waker(Waker::noop());
    for answer in &mut answers {
        assert!(answer.as_mut().poll(&mut cx).is_pending());
    }
    let mut large = Box::pin(store.put_blob(vec![7; LARGE_BLOB_BYTES + 1]));
    assert!(large.as_mut().poll(&mut cx).is_pending());
    lock.execute_batch("ROLLBACK").unwrap();
    for answer in answers {
        wait(answer).unwrap();
    }
    wait(large).unwrap();
    assert_eq!(commits.try_iter().count(), 2);
}

#[test]
fn one_refused_request_leaves_the_others_of_its_commit_whole() {
    let (_folder, path) = folder();
    let (sender, _commits) = std::sync::mpsc::channel();
    let (store, lock) = held(&path, sender);
    let (one, two) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    let mut cx = Context::from_waker(Waker::noop());
    let mut first = Box::pin(store.create_run(&one.run_id, &one.contract, 1));
    let mut again = Box::pin(store.create_run(&one.run_id, &one.contract, 1));
    let mut other = Box::pin(store.create_run(&two.run_id, &two.contract, 1));
    for answer in [&mut first, &mut again, &mut other] {
        assert!(answer.as_mut().poll(&mut cx).is_pending());
    }
    lock.execute_batch("ROLLBACK").unwrap();
    assert!(wait(first).is_ok());
    assert!(matches!(wait(again), Err(StoreError::RunExists { .. })));
    assert!(wait(other).is_ok());
    assert_eq!(
        store
            .reader()
            .unwrap()
            .list_runs(9, RunFilter::All)
            .unwrap()
            .len(),
        2
    );
}

/// The request has no savepoint: its earlier writes are undone all the same.
#[test]
fn a_first_request_that_fails_halfway_leaves_nothing_and_the_next_one_whole() {
    let (_folder, path) = folder();
    let (one, two) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    let mut handle = create(&open(&path), &one, 1);
    let (sender, commits) = std::sync::mpsc::channel();
    let (store, lock) = held(&path, sender);
    let mut cx = Context::from_waker(Waker::noop());
    let entries = || one.entries[..1].to_vec();
    // The link to bytes that are not there is written after the entries.
    let nowhere = vec![NewBlob::Stored(Digest::ZERO)];
    let mut first = Box::pin(store.append(&mut handle, entries(), nowhere));
    let mut other = Box::pin(store.create_run(&two.run_id, &two.contract, 1));
    assert!(first.as_mut().poll(&mut cx).is_pending());
    assert!(other.as_mut().poll(&mut cx).is_pending());
    lock.execute_batch("ROLLBACK").unwrap();
    let refused = wait(first);
    assert!(
        matches!(refused, Err(StoreError::Statement { .. })),
        "{refused:?}"
    );
    assert!(wait(other).is_ok());
    assert_eq!(commits.try_iter().count(), 1);
    let rows = store
        .reader()
        .unwrap()
        .list_runs(9, RunFilter::All)
        .unwrap();
    assert!(
        rows.len() == 2 && rows.iter().all(|row| row.length == 0),
        "{rows:?}"
    );
    wait(store.append(&mut handle, entries(), Vec::new())).unwrap();
}

#[test]
fn large_blobs_are_put_first_and_bytes_are_kept_once() {
    let (_folder, path) = folder();
    let run = SampleRun::new("r-1");
    let store = open(&path);
    let mut handle = create(&store, &run, 1);
    let large = vec![1; LARGE_BLOB_BYTES + 1];
    let put = wait(store.put_blob(b"put".to_vec())).unwrap();
    assert_eq!(wait(store.put_blob(b"put".to_vec())), Ok(put));
    let blobs = vec![NewBlob::Bytes(large.clone()), NewBlob::Stored(put)];
    wait(store.append(&mut handle, run.entries[..1].to_vec(), blobs)).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.blob(Digest::of(&large)), Ok(Some(large)));
    assert_eq!(reader.blob(put), Ok(Some(b"put".to_vec())));
    // A name for bytes that are not there is a fault of the caller, and nothing is appended.
    let nowhere = vec![NewBlob::Stored(Digest::ZERO)];
    let refused = wait(store.append(&mut handle, run.entries[1..2].to_vec(), nowhere));
    assert!(
        matches!(refused, Err(StoreError::Statement { .. })),
        "{refused:?}"
    );
    let row = &reader.list_runs(1, RunFilter::All).unwrap()[0];
    assert_eq!((row.length, handle.chain().length()), (1, 1));
}

#[test]
fn runs_are_listed_newest_first_and_found_by_prefix() {
    let (_folder, path) = folder();
    let store = open(&path);
    let reader = store.reader().unwrap();
    let none = |asked: &str| {
        Err(StoreError::NoSuchRun {
            asked: asked.to_owned(),
        })
    };
    assert_eq!(reader.resolve("last"), none("last"));
    for (at, name) in [(3, "abc-1"), (1, "abd"), (2, "abc")] {
        let _handle = create(&store, &SampleRun::new(name), at);
    }
    write(&store, &SampleRun::new("x"), 0);
    let names = |filter, limit| -> Vec<String> {
        let rows = reader.list_runs(limit, filter).unwrap();
        rows.into_iter().map(|row| row.run_id.to_string()).collect()
    };
    assert_eq!(names(RunFilter::All, 9), ["abc-1", "abc", "abd", "x"]);
    assert_eq!(names(RunFilter::Open, 2), ["abc-1", "abc"]);
    assert_eq!(names(RunFilter::Sealed, 9), ["x"]);
    assert_eq!(
        names(RunFilter::Class(AgentOutcome::CompletedWithTools), 9),
        ["x"]
    );
    assert!(names(RunFilter::Class(AgentOutcome::Interrupted), 9).is_empty());
    assert_eq!(reader.resolve("last"), Ok(run_id_of("abc-1")));
    assert_eq!(reader.resolve("abd"), Ok(run_id_of("abd")));
    assert_eq!(reader.resolve("abc"), Ok(run_id_of("abc")));
    assert_eq!(reader.resolve("abc-"), Ok(run_id_of("abc-1")));
    let candidates = ["abc", "abc-1", "abd"].map(run_id_of).to_vec();
    let ambiguous = StoreError::Ambiguous {
        asked: "ab".to_owned(),
        candidates,
    };
    assert_eq!(
        ambiguous.to_string(),
        "find run \"ab\": the name is ambiguous; it could be abc, abc-1, abd"
    );
    assert_eq!(reader.resolve("ab"), Err(ambiguous));
    for asked in ["", "abe", "ab%", "a_", "ABC"] {
        assert_eq!(reader.resolve(asked), none(asked), "{asked}");
    }
}

#[test]
fn sqlite_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    conforms(&|| {
        number.set(number.get() + 1);
        open(&folder.path().join(format!("{}.db", number.get())))
    });
}
