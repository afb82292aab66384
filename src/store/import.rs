use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::blob::insert_blob;
use super::run::stored;
use super::writer::BUSY;
use super::{Durability, StoreError, run_log, schema};
use crate::kernel::{EventKind, Outcome};
use crate::message::{Digest, RunId};
use crate::transcript::{
    LineReader, LogLeaf, MAX_LINE_BYTES, Place, Record, Tombstone, Verifier, VerifyOptions,
    VerifyReport,
};

/// The owner of a run that was not driven here.
pub(super) const IMPORTED: &str = "imported";

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The run.
    pub run_id: RunId,
    /// How many entries it has.
    pub entries: u64,
    /// Whether it was here already, with the same entries; then nothing was written.
    pub already: bool,
}

/// Why a file was not imported. Nothing of it is in the store then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: the file cannot be read.
    #[error("read the transcript {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Whoever changed the file: it does not verify.
    #[error("import {}: it does not verify", path.display())]
    NotVerified {
        /// The file.
        path: PathBuf,
        /// What was found.
        report: Box<VerifyReport>,
    },
    /// The caller: a run of that name is here, and it is another.
    #[error(
        "import run {run_id}: there is one of that name with another history: {here_entries} entries with head {here}, not {entries} with {head}"
    )]
    OtherHistory {
        /// The run.
        run_id: RunId,
        /// The entries of the file.
        entries: u64,
        /// The head of the file.
        head: Digest,
        /// The entries of the run that is here.
        here_entries: u64,
        /// The head of the run that is here.
        here: Digest,
    },
}

/// What the lines of a file add up to, for the row of the run.
#[derive(Default)]
struct Sum {
    contract: String,
    contract_hash: Option<Digest>,
    key: i64,
    outcome: Option<Outcome>,
    run_id: Option<RunId>,
    started_unix_ms: u64,
}

/// Takes a transcript file into the store at `path`, which is made where there is none.
///
/// The file is verified before anything is written and once more while it is, so that what enters is what was verified; `open`
/// accepts a run in progress. It need not fit into memory.
///
/// # Errors
/// [`ImportError`].
pub fn import(
    path: &Path,
    file: &Path,
    open: bool,
    now_unix_ms: u64,
) -> Result<Imported, ImportError> {
    read(file, open, |_, _| Ok(()))?;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = schema::open_writer(path, Durability::Full, BUSY)?;
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    let mut already = None;
    let (sum, report) = read(file, open, |sum, record| {
        if already.is_none() && sum.key == 0 {
            already = here(&tx, sum).map_err(sql)?;
            if already.is_none() {
                sum.key = insert_run(&tx, sum).map_err(sql)?;
            }
        }
        if already.is_none() {
            insert(&tx, sum, record).map_err(sql)?;
        }
        Ok(())
    })?;
    let (Some(run_id), Some(head), Some(contract_hash)) =
        (sum.run_id, report.head, sum.contract_hash)
    else {
        return Err(not_verified(file, report));
    };
    let entries = report.entries;
    if let Some((here_entries, here)) = already {
        return if (here_entries, here) == (entries, head) {
            Ok(Imported {
                run_id,
                entries,
                already: true,
            })
        } else {
            Err(ImportError::OtherHistory {
                run_id,
                entries,
                head,
                here_entries,
                here,
            })
        };
    }
    tx.execute(
        "UPDATE runs SET head_seq = ?2, head_hash = ?3, class = ?4, code = ?5, created_unix_ms = ?6 WHERE id = ?1",
        params![
            sum.key,
            stored(entries).saturating_sub(1),
            head.as_bytes(),
            sum.outcome.map(|outcome| outcome.class.as_str()),
            sum.outcome.map(|outcome| outcome.code.as_str()),
            // What a run says of its own beginning must not put it before runs that are yet to come.
            stored(sum.started_unix_ms.min(now_unix_ms)),
        ],
    )
    .map_err(sql)?;
    if let Some(outcome) = sum.outcome {
        let leaf = LogLeaf {
            contract_hash,
            entries,
            head,
            outcome,
            run_id: run_id.clone(),
        };
        run_log::append_leaf(&tx, sum.key, &leaf.text()).map_err(sql)?;
    }
    tx.commit().map_err(sql)?;
    Ok(Imported {
        run_id,
        entries,
        already: false,
    })
}

/// Verifies a file line by line, and hands on each line that holds so far.
fn read(
    path: &Path,
    open: bool,
    mut take: impl FnMut(&mut Sum, &Record<'_>) -> Result<(), StoreError>,
) -> Result<(Sum, VerifyReport), ImportError> {
    let unreadable = |fault: io::Error| ImportError::Unreadable {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let most = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
    let mut reader = LineReader::new();
    let mut verifier = Verifier::new(VerifyOptions {
        open,
        ..VerifyOptions::default()
    });
    let mut sum = Sum::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = file.by_ref().take(most.saturating_add(1));
        let length = bounded.read_until(b'\n', &mut line).map_err(unreadable)?;
        if length == 0 {
            break;
        }
        let place = Place::Line(reader.line().saturating_add(1));
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
        Err(not_verified(path, report))
    }
}

impl Sum {
    fn add(&mut self, record: &Record<'_>) {
        match record {
            Record::Header(header) => {
                header.contract.clone_into(&mut self.contract);
                // The verifier has computed the hash and found it in the document.
                let document = serde_json::from_str::<serde_json::Value>(header.contract).ok();
                let hash = document
                    .as_ref()
                    .and_then(|document| document.get("contract_hash"));
                self.contract_hash = hash.and_then(|hash| hash.as_str()?.parse().ok());
                self.run_id = Some(header.run_id.clone());
            }
            Record::Entry(entry) => {
                let event = entry.decoded_event.as_ref().map(|event| &event.event);
                if let Some(EventKind::RunStarted(started)) = event {
                    self.started_unix_ms = started.started_unix_ms;
                }
                let action = &entry.decoded_action;
                self.outcome = action.outcome.filter(|_| action.length.is_some());
            }
            Record::Blob(_) | Record::Tombstone(_) | Record::Checkpoint(_) => {}
        }
    }
}

/// Length and head of the run of that name, where there is one.
fn here(conn: &Connection, sum: &Sum) -> rusqlite::Result<Option<(u64, Digest)>> {
    conn.query_row(
        "SELECT head_seq, head_hash FROM runs WHERE run_id = ?1",
        [sum.run_id.as_ref().map(RunId::as_str)],
        |row| {
            let length = row.get::<_, i64>(0)?.saturating_add(1);
            let head = Digest::from_bytes(row.get(1)?);
            Ok((u64::try_from(length).unwrap_or(0), head))
        },
    )
    .optional()
}

/// Writes the row of a run whose end is not known yet.
fn insert_run(conn: &Connection, sum: &Sum) -> rusqlite::Result<i64> {
    conn.execute(
        "INSERT INTO runs(run_id, contract, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash) \
         VALUES(?1, ?2, ?3, 0, 0, ?4, -1, ?3)",
        params![
            sum.run_id.as_ref().map(RunId::as_str),
            sum.contract,
            sum.contract_hash.as_ref().map(Digest::as_bytes),
            IMPORTED
        ],
    )?;
    Ok(conn.last_insert_rowid())
}

fn insert(conn: &Connection, sum: &Sum, record: &Record<'_>) -> rusqlite::Result<()> {
    let key = sum.key;
    match record {
        Record::Header(_) => {}
        Record::Entry(entry) => {
            conn.prepare_cached(
                "INSERT INTO entries(run, seq, state, event, action, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                key,
                stored(entry.seq),
                entry.decoded_action.to.as_str(),
                entry.event,
                entry.action,
                entry.hash.as_bytes(),
            ])?;
        }
        Record::Blob(blob) => {
            insert_blob(conn, blob.hash, blob.bytes)?;
            conn.prepare_cached("INSERT INTO run_blobs(run, hash) VALUES(?1, ?2)")?
                .execute(params![key, blob.hash.as_bytes()])?;
        }
        Record::Tombstone(stone) => {
            let blob = stone.note.parse().ok();
            let blob = blob.and_then(|note| Tombstone::read(&note));
            conn.prepare_cached("INSERT INTO tombstones(run, hash, note) VALUES(?1, ?2, ?3)")?
                .execute(params![
                    key,
                    blob.as_ref().map(|stone| stone.blob.as_bytes()),
                    stone.note
                ])?;
        }
        Record::Checkpoint(checkpoint) => {
            conn.prepare_cached("INSERT INTO checkpoints(run, entries, note) VALUES(?1, ?2, ?3)")?
                .execute(params![
                    key,
                    checkpoint.stated_entries().map(stored),
                    checkpoint.note
                ])?;
        }
    }
    Ok(())
}

fn not_verified(path: &Path, report: VerifyReport) -> ImportError {
    ImportError::NotVerified {
        path: path.to_owned(),
        report: Box::new(report),
    }
}
