//! The transcripts of work items: sealed with a receipt, which the log counts.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join;
use rusqlite::{Connection, params};

use super::{folder, open, signer, terms};
use crate::store::{Change, RunFilter, Store, StoreError, StoreReader, WorkRecord, import, wait};
use monolith_core::message::RunId;
use monolith_core::transcript::{LogLeaf, TranscriptKind, Trust, WithheldBlobs};
use monolith_core::work::{Receipt, WorkEvent, WorkEventKind, WorkState};
use monolith_testkit::work::SampleWork;

fn id(text: &str) -> RunId {
    RunId::try_from(text.to_owned()).unwrap()
}

/// Appends all entries of an item but its seal.
fn begin<'s>(store: &'s Store, sample: &SampleWork) -> WorkRecord<'s> {
    let mut record = WorkRecord::begin(store, sample.work.started(), None);
    let (_, entries) = sample.drafts.split_last().unwrap();
    for draft in entries {
        wait(record.append(draft)).unwrap();
    }
    record
}

fn seal(record: &mut WorkRecord<'_>, sample: &SampleWork) -> Result<Receipt, StoreError> {
    let last = sample.drafts.last().unwrap();
    wait(record.seal(last, &sample.work, &sample.facts))
}

/// Writes an item to its end.
fn write(store: &Store, name: &str) -> Receipt {
    let sample = SampleWork::new(name);
    seal(&mut begin(store, &sample), &sample).unwrap()
}

fn exported(path: &Path, run_id: &RunId) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader = StoreReader::open(path).unwrap();
    let run = reader.read_run(run_id).unwrap();
    run.export(&mut out, WithheldBlobs::Needed).unwrap();
    out
}

#[test]
fn an_item_is_sealed_with_its_receipt_and_its_leaf_names_it() {
    let (_folder, path) = folder();
    let store = open(&path).signed_by(signer());
    let receipt = write(&store, "work-1");
    assert_eq!((receipt.count, receipt.previous), (1, None));
    let mut reader = store.reader().unwrap();
    let (index, leaf) = reader.log_leaf(&id("work-1")).unwrap().unwrap();
    let leaf = LogLeaf::decode(&leaf).unwrap();
    assert_eq!((index, leaf.receipt), (0, Some(receipt.hash())));
    assert_eq!(leaf.head, receipt.work_head);
    assert_eq!(
        reader.receipt(&id("work-1")).unwrap(),
        Some(receipt.clone())
    );
    assert_eq!(reader.receipts().unwrap(), [receipt]);
    let trust = Arc::new(Trust {
        keys: vec![signer().public()],
        signature_required: true,
        ..Trust::default()
    });
    let report = reader.verify_run_trusting(&id("work-1"), false, &trust);
    let report = report.unwrap();
    assert_eq!(report.first_bad, None, "{report:#?}");
    assert_eq!(report.level, "L1");
    let log = reader.verify_log(&trust).unwrap();
    assert_eq!((log.size, log.first_bad), (1, None));
}

#[test]
fn each_receipt_names_the_one_before_and_their_number() {
    let (_folder, path) = folder();
    let store = open(&path);
    let first = write(&store, "work-1");
    let second = write(&store, "work-2");
    assert_eq!((second.count, second.previous), (2, Some(first.hash())));
    // Both read the last receipt before either is written.
    let (third, fourth) = (SampleWork::new("work-3"), SampleWork::new("work-4"));
    let (mut one, mut other) = (begin(&store, &third), begin(&store, &fourth));
    let lock = Connection::open(&path).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let both = join(
        one.seal(third.drafts.last().unwrap(), &third.work, &third.facts),
        other.seal(fourth.drafts.last().unwrap(), &fourth.work, &fourth.facts),
    );
    let unlock = async { lock.execute_batch("COMMIT").unwrap() };
    let ((third, fourth), ()) = wait(join(both, unlock));
    let (third, fourth) = (third.unwrap(), fourth.unwrap());
    assert_eq!((third.count, third.previous), (3, Some(second.hash())));
    assert_eq!((fourth.count, fourth.previous), (4, Some(third.hash())));
    let receipts = store.reader().unwrap().receipts().unwrap();
    let counts: Vec<u64> = receipts.iter().map(|receipt| receipt.count).collect();
    assert_eq!(counts, [4, 3, 2, 1]);
}

#[test]
fn items_are_listed_among_runs_and_alone() {
    let (_folder, path) = folder();
    let store = open(&path);
    write(&store, "work-1");
    let reader = store.reader().unwrap();
    let names = |filter| {
        let rows = reader.list_runs(9, filter).unwrap().into_iter();
        rows.map(|row| row.run_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(RunFilter::Kind(TranscriptKind::Work)), ["work-1"]);
    assert_eq!(names(RunFilter::Sealed), ["work-1"]);
    assert!(names(RunFilter::Kind(TranscriptKind::Run)).is_empty());
    let row = reader.list_runs(1, RunFilter::All).unwrap().remove(0);
    assert!(!row.is_workflow());
    let outcome = ("success".to_owned(), "publishing".to_owned());
    assert_eq!(
        (row.kind, row.outcome),
        (TranscriptKind::Work, Some(outcome))
    );
}

#[test]
fn an_item_of_a_killed_process_is_read_back_and_goes_on() {
    let (_folder, path) = folder();
    let store = open(&path);
    let sample = SampleWork::new("work-1");
    drop(begin(&store, &sample));
    assert_eq!(
        store.reader().unwrap().receipt(&id("work-1")).unwrap(),
        None
    );
    let (mut record, mut work) = wait(WorkRecord::resume(&store, &id("work-1"))).unwrap();
    assert_eq!(work.state(), WorkState::Publishing);
    let at_ms = work.elapsed_ms();
    let resumed = work.step(WorkEvent {
        at_ms,
        event: WorkEventKind::Resumed,
    });
    wait(record.append(&resumed.unwrap())).unwrap();
    let after = sample.work.published().unwrap();
    let last = work.step(WorkEvent {
        at_ms,
        event: WorkEventKind::Published { after },
    });
    let receipt = wait(record.seal(&last.unwrap(), &work, &sample.facts)).unwrap();
    assert_eq!(store.reader().unwrap().work(&id("work-1")).unwrap(), work);
    assert!(receipt.is_of(&work));
    let report = store.reader().unwrap().verify_run(&id("work-1"), false);
    assert_eq!(report.unwrap().first_bad, None);
}

#[test]
fn a_seal_needs_a_receipt_and_a_name_is_given_once() {
    let (_folder, path) = folder();
    let store = open(&path);
    let sample = SampleWork::new("work-1");
    let mut record = begin(&store, &sample);
    let refused = wait(record.append(sample.drafts.last().unwrap()));
    assert!(
        matches!(refused, Err(StoreError::NoReceipt { .. })),
        "{refused:?}"
    );
    let mut again = WorkRecord::begin(&store, sample.work.started(), None);
    let refused = wait(again.append(&sample.drafts[0]));
    assert!(
        matches!(refused, Err(StoreError::RunExists { .. })),
        "{refused:?}"
    );
    let open = store.reader().unwrap().is_open(&id("work-1")).unwrap();
    assert!(open, "neither changed the item");
}

#[test]
fn a_run_is_no_item_and_an_item_is_no_run() {
    let (_folder, path) = folder();
    let store = open(&path);
    write(&store, "work-1");
    let mut reader = store.reader().unwrap();
    let run = reader.read_run(&id("work-1")).unwrap();
    let said = run.contract().unwrap_err().to_string();
    assert_eq!(said, "read work-1 as a run: it is a work item");
    let said = run.definition().unwrap_err().to_string();
    assert_eq!(said, "read work-1 as a workflow: it is a work item");
    drop(run);
    super::write(
        &store,
        &monolith_testkit::sample::SampleRun::short("r-1"),
        1,
    );
    let said = store.reader().unwrap().work(&id("r-1")).unwrap_err();
    assert_eq!(said.to_string(), "read r-1 as a work item: it is a run");
}

#[test]
fn an_exported_item_is_imported_with_its_receipt_and_its_leaf() {
    let (folder, path) = folder();
    let from = folder.path().join("from.db");
    let receipt = write(&open(&from), "work-1");
    let file = exported(&from, &id("work-1"));
    let given = folder.path().join("item.jsonl");
    std::fs::write(&given, &file).unwrap();
    let imported = import(&path, &given, terms(false), &Arc::default()).unwrap();
    assert_eq!(imported.change, Change::New);
    assert_eq!(exported(&path, &id("work-1")), file);
    let mut reader = StoreReader::open(&path).unwrap();
    assert_eq!(
        reader.receipt(&id("work-1")).unwrap(),
        Some(receipt.clone())
    );
    let leaf = reader.log_leaf(&id("work-1")).unwrap().unwrap().1;
    assert_eq!(
        LogLeaf::decode(&leaf).unwrap().receipt,
        Some(receipt.hash())
    );
    let report = reader.verify_run(&id("work-1"), false).unwrap();
    assert_eq!(report.first_bad, None, "{report:#?}");
    let log = reader.verify_log(&Trust::default()).unwrap();
    assert_eq!(log.first_bad, None);
}

/// Each change of a stored item, and the check that finds it.
#[test]
fn a_changed_item_is_found_by_its_verification_or_the_logs() {
    let check = |sql: &str, run: Option<&str>, log: bool| {
        let (_folder, path) = folder();
        drop(write(&open(&path), "work-1"));
        let mut store = super::Attacked::at(path);
        store.conn.execute_batch(sql).unwrap();
        let report = store.verify_run(&id("work-1"), false).unwrap();
        let failed = report.checks.iter().find(|check| !check.ok);
        assert_eq!(failed.map(|check| check.name), run, "{sql}");
        let found = store.verify_log(&Trust::default()).unwrap();
        assert_eq!(found.first_bad.is_some(), log, "{sql}");
    };
    check("UPDATE runs SET kind = 'workflow'", Some("contract"), true);
    check("UPDATE runs SET class = 'failure'", Some("index"), true);
    check("DELETE FROM run_blobs", Some("blobs"), true);
    let other = "UPDATE log_leaves SET leaf = replace(leaf, '\"receipt\":\"', '\"receipt\":\"0')";
    check(other, Some("log"), true);
    check(
        "UPDATE entries SET state = 'queued'",
        Some("entries"),
        false,
    );
    check("SELECT 1", None, false);
}

/// Somebody who can write the store replaced a receipt, its blob and its leaf.
#[test]
fn a_receipt_that_does_not_follow_the_one_before_is_found_by_the_log() {
    let (_folder, path) = folder();
    write(&open(&path), "work-1");
    let receipt = write(&open(&path), "work-2");
    let forged = Receipt {
        count: 3,
        ..receipt.clone()
    };
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let (old, new) = (receipt.hash(), forged.hash());
    let bytes = forged.to_bytes();
    for sql in [
        "UPDATE blobs SET hash = ?2, bytes = ?3 WHERE hash = ?1",
        "UPDATE run_blobs SET hash = ?2 WHERE hash = ?1 AND ?3 IS NOT NULL",
    ] {
        let changed = conn.execute(sql, params![old.as_bytes(), new.as_bytes(), bytes]);
        assert_eq!(changed, Ok(1), "{sql}");
    }
    let sql = "UPDATE log_leaves SET leaf = replace(leaf, ?1, ?2)";
    conn.execute(sql, params![old.to_string(), new.to_string()])
        .unwrap();
    let mut reader = StoreReader::open(&path).unwrap();
    let report = reader.verify_run(&id("work-2"), false).unwrap();
    assert_eq!(report.first_bad, None, "it holds by itself");
    let found = reader.verify_log(&Trust::default()).unwrap();
    let failed = found.checks.iter().find(|check| !check.ok).unwrap();
    assert_eq!(failed.name, "receipts");
}
