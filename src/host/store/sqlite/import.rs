//! A transcript file into the store: verified, and then written in one transaction. How lines join a run is `merge.rs`.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};

use super::deletions;
use super::given_checkpoints::vouched;
use super::intake::Intake;
use super::merge::{Change, Ended, Given, Merge};
use super::open_reader::BUSY;
use super::open_writer::{Durability, open_writer};
use super::store_file::StoreFile;
use crate::store::StoreError;
use crate::store::import_error::ImportError;
use monolith_core::kernel::EventKind;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    LineReader, Location, LogLeaf, MAX_LINE_BYTES, Note, Record, SealedOutcome, Tombstone,
    TranscriptKind, Trust, Verifier, VerifyOptions, VerifyReport,
};

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The run.
    pub run_id: RunId,
    /// Number of entries in the file.
    pub entries: u64,
    /// The addition to the store.
    pub change: Change,
}

/// The terms of an import, and its time.
#[derive(Clone, Copy, Debug)]
pub struct ImportTerms {
    /// True if a run that was deleted here may come back; the note of its deletion stays.
    pub deleted: bool,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub now_unix_ms: u64,
    /// True if a run in progress is accepted.
    pub open: bool,
}

/// The sum of a file's lines, for the row of the run.
#[derive(Default)]
struct Sum {
    contract: String,
    contract_hash: Option<Digest>,
    kind: TranscriptKind,
    /// The blobs that the entries of a work item name.
    named: BTreeSet<Digest>,
    outcome: Option<SealedOutcome>,
    receipt: Option<Digest>,
    run_id: Option<RunId>,
    started_unix_ms: u64,
}

/// Takes a transcript file into the store at `path`, which is made where there is none.
///
/// The file is verified before anything is written and once more while it is, so that what enters is what was verified. It need not fit into memory, and may be a pipe. Tombstones are taken only where one of the keys of `trust` has signed them.
/// The beginning of a run that was imported before is extended, and bytes that it lacks are added; a run of the store's own is never changed.
///
/// # Errors
/// [`ImportError`].
pub fn import(
    path: &Path,
    file: &Path,
    terms: ImportTerms,
    trust: &Arc<Trust>,
) -> Result<Imported, ImportError> {
    let ImportTerms {
        deleted,
        now_unix_ms,
        open,
    } = terms;
    let store = StoreFile::of(path)?;
    let path = store.path();
    store.judge()?;
    let mut intake = Intake::open(file, path)?;
    read(&mut intake, open, trust, |sum, record| {
        judge_tombstone(sum, record, trust)
    })?;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(&store, Durability::Full, BUSY)?;
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    let mut merge = None;
    let (sum, report) = read(&mut intake, open, trust, |sum, record| {
        judge_tombstone(sum, record, trust)?;
        match (&mut merge, record, &sum.run_id, sum.contract_hash) {
            (None, Record::Header(_), Some(run_id), Some(contract_hash)) => {
                let given = Given {
                    contract: &sum.contract,
                    contract_hash,
                    kind: sum.kind,
                    run_id,
                };
                let merged = Merge::begin(&tx, path, given)?;
                if merged.is_new() && !deleted {
                    judge_deleted(&tx, path, run_id, trust)?;
                }
                merge = Some(merged);
                Ok(())
            }
            (Some(merge), record, _, _) => merge.take(&tx, path, &trust.keys, record),
            // The verifier refuses a file that does not begin with its header.
            _ => Ok(()),
        }
    })?;
    let (Some(merge), Some(head), Some(contract_hash), Some(run_id)) =
        (merge, report.head, sum.contract_hash, sum.run_id)
    else {
        return Err(not_verified(file, report));
    };
    let entries = report.entries;
    merge
        .settle_checkpoints(&tx, &trust.keys, entries, sum.outcome.is_some())
        .map_err(sql)?;
    if merge.is_extended(entries) {
        let ended = Ended {
            // A run's stated beginning must not put it before runs that are yet to come.
            created_unix_ms: sum.started_unix_ms.min(now_unix_ms),
            leaf: sum.outcome.map(|outcome| LogLeaf {
                contract_hash,
                entries,
                head,
                outcome,
                receipt: sum.receipt,
                run_id: run_id.clone(),
            }),
            entries,
            head,
        };
        merge.finish(&tx, &ended).map_err(sql)?;
    }
    tx.commit().map_err(sql)?;
    Ok(Imported {
        run_id,
        entries,
        change: merge.change(entries),
    })
}

/// Refuses a run that was deleted here: what somebody took out on purpose does not come back by the way.
fn judge_deleted(
    conn: &Connection,
    path: &Path,
    run_id: &RunId,
    trust: &Trust,
) -> Result<(), ImportError> {
    let judged = deletions::last(conn, run_id.as_str(), &trust.keys);
    let Some(judged) = judged.map_err(|fault| StoreError::from_sql(path, &fault))? else {
        return Ok(());
    };
    let (by, reason) = deletions::by_whom(judged);
    Err(ImportError::Deleted {
        run_id: run_id.clone(),
        by,
        reason,
    })
}

/// Refuses a tombstone that no known key has signed: a writer of the file can leave bytes out and claim that they were erased.
fn judge_tombstone(sum: &Sum, record: &Record<'_>, trust: &Trust) -> Result<(), ImportError> {
    let (Record::Tombstone(stone), Some(run_id)) = (record, &sum.run_id) else {
        return Ok(());
    };
    // The verifier has read it already.
    let Ok(note) = stone.note.parse::<Note>() else {
        return Ok(());
    };
    let Some(stone) = Tombstone::read(&note) else {
        return Ok(());
    };
    if vouched(&trust.keys, &note) {
        return Ok(());
    }
    Err(ImportError::Tombstone {
        run_id: run_id.clone(),
        blob: stone.blob,
        signers: note
            .signatures()
            .iter()
            .map(|signature| format!("{}+{}", signature.name, signature.id))
            .collect(),
    })
}

/// Verifies a file line by line, and hands on each line that holds so far.
fn read(
    intake: &mut Intake,
    open: bool,
    trust: &Arc<Trust>,
    mut take: impl FnMut(&mut Sum, &Record<'_>) -> Result<(), ImportError>,
) -> Result<(Sum, VerifyReport), ImportError> {
    let path = intake.path().to_owned();
    let unreadable = |fault: io::Error| ImportError::Unreadable {
        path: path.clone(),
        reason: fault.to_string(),
    };
    let mut file = BufReader::new(intake.rewind()?);
    let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut reader = LineReader::new();
    let options = VerifyOptions {
        open,
        ..VerifyOptions::default()
    };
    let mut verifier = Verifier::new(options).trusting(Arc::clone(trust));
    let mut sum = Sum::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = file.by_ref().take(most.saturating_add(1));
        let length = bounded.read_until(b'\n', &mut line).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        let place = Location::Line(reader.line().saturating_add(1));
        let record = match reader.read(&line) {
            Ok(record) => record,
            Err(fault) => {
                verifier.take(place, Err(fault.flaw));
                break;
            }
        };
        if !verifier.take(place, Ok(record.clone())) {
            break;
        }
        sum.add(&record);
        take(&mut sum, &record)?;
    }
    let report = verifier.finish();
    if report.holds() {
        Ok((sum, report))
    } else {
        Err(not_verified(&path, report))
    }
}

impl Sum {
    fn add(&mut self, record: &Record<'_>) {
        match record {
            Record::Header(header) => {
                header.contract.clone_into(&mut self.contract);
                // The verifier has judged the document.
                self.contract_hash = header.check_document().ok().map(|(hash, _)| hash);
                self.run_id = Some(header.run_id.clone());
                self.kind = header.kind();
            }
            Record::Entry(entry) => {
                let event = entry.decoded_event.as_ref().map(|event| &event.event);
                if let Some(EventKind::RunStarted(started)) = event {
                    self.started_unix_ms = started.started_unix_ms;
                }
                let action = &entry.decoded_action;
                let outcome = action.outcome.filter(|_| action.length.is_some());
                self.outcome = outcome.map(SealedOutcome::from);
            }
            Record::MachineEntry(entry) => {
                if let Some(binding) = &entry.binding {
                    self.started_unix_ms = binding.started_unix_ms;
                }
                self.named.extend(entry.blob);
                let head = &entry.head;
                self.outcome = head.outcome().filter(|_| head.length.is_some());
            }
            // The verifier takes one blob of an item that no entry names.
            Record::Blob(blob)
                if self.kind == TranscriptKind::Work && !self.named.contains(&blob.hash) =>
            {
                self.receipt = Some(blob.hash);
            }
            Record::Blob(_) | Record::Tombstone(_) | Record::Checkpoint(_) => {}
        }
    }
}

fn not_verified(path: &Path, report: VerifyReport) -> ImportError {
    ImportError::NotVerified {
        path: path.to_owned(),
        report: Box::new(report),
    }
}
