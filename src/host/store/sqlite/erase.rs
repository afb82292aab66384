//! Erasing bytes for good, with a signed tombstone in their place. Deleting a whole run is `delete.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::connection::BUSY;
use super::lock::lock_store;
use super::open_writer::open_writer;
use super::store_file::StoreFile;
use super::{Durability, StoreError, StoreReader};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Flaw, SecretKey, Tombstone, blob_references};

/// What is to be erased, and who says so.
#[derive(Clone, Debug)]
pub struct Erasure<'k> {
    /// The run that names the blob.
    pub run_id: RunId,
    /// The hash of the blob, or the beginning of it.
    pub blob: String,
    /// The reason; may be empty. At most [`MAX_REASON_BYTES`](monolith_core::transcript::MAX_REASON_BYTES).
    pub reason: String,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: u64,
    /// Whether the blob is erased from every run that uses it.
    pub all_runs: bool,
    /// Who signs the tombstones.
    pub key: &'k SecretKey,
}

/// What was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The hash of the bytes that are gone.
    pub hash: Digest,
    /// How many there were; `None` if they had been erased before.
    pub bytes: Option<u64>,
    /// The runs that have a tombstone in their place.
    pub runs: Vec<RunId>,
}

/// Why nothing was erased, or not for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EraseError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: no entry of the run names such a blob.
    #[error("erase {asked:?} of run {run_id}: no entry of the run names such a blob")]
    NotNamed {
        /// The run.
        run_id: RunId,
        /// What was asked for.
        asked: String,
    },
    /// The caller: the prefix is that of more than one blob of the run.
    #[error("erase {asked:?} of run {run_id}: it could be {}", list(candidates))]
    Ambiguous {
        /// The run.
        run_id: RunId,
        /// What was asked for.
        asked: String,
        /// The blobs that it could be.
        candidates: Vec<Digest>,
    },
    /// The caller: the run names the blob, and its bytes were never here.
    #[error("erase {hash} of run {run_id}: its bytes are not in this store")]
    NotHere {
        /// The run.
        run_id: RunId,
        /// The blob.
        hash: Digest,
    },
    /// The caller: other runs use the same bytes.
    #[error(
        "erase {hash} of run {run_id}: runs that use the same bytes: {}",
        list(others)
    )]
    Shared {
        /// The run.
        run_id: RunId,
        /// The blob.
        hash: Digest,
        /// The other runs.
        others: Vec<RunId>,
    },
    /// A change of the store: an entry cannot be read.
    #[error("read entry {seq} of run {run_id}: {flaw}")]
    Entry {
        /// The run.
        run_id: RunId,
        /// The entry.
        seq: u64,
        /// What is wrong with it.
        flaw: Box<Flaw>,
    },
    /// The operator: the tombstone stands, and old copies of the bytes may be left in the files of the store.
    #[error("clear {hash} out of the files of the store: {reason}")]
    Unfinished {
        /// The blob.
        hash: Digest,
        /// What prevents it.
        reason: String,
    },
}

/// Erases a blob of a run for good, and leaves a signed tombstone in its place.
///
/// The tombstone is durable before the files are rewritten without the bytes. Where that is cut off, doing it again finishes it.
///
/// # Errors
/// [`EraseError`]; nothing is changed but under [`EraseError::Unfinished`].
pub fn erase(path: &Path, asked: &Erasure<'_>) -> Result<Erased, EraseError> {
    let file = StoreFile::of(path)?;
    let path = file.path();
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(&file, Durability::Full, BUSY)?;
    let _lock = lock_store(path)?;
    let hash = named_blob(path, &asked.run_id, &asked.blob)?;
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    let erased = replace(&tx, path, asked, hash)?;
    tx.commit().map_err(sql)?;
    clear(&conn).map_err(|reason| EraseError::Unfinished { hash, reason })?;
    Ok(erased)
}

/// The one blob that the run names so.
///
/// # Errors
/// [`EraseError`] where there is none, or more than one.
pub fn named_blob(path: &Path, run_id: &RunId, blob: &str) -> Result<Digest, EraseError> {
    let mut named = BTreeSet::new();
    for entry in StoreReader::open(path)?.read_run(run_id)? {
        let entry = entry?;
        let seq = entry.seq;
        let event = entry.decode_event().map_err(|flaw| EraseError::Entry {
            run_id: run_id.clone(),
            seq,
            flaw: Box::new(flaw),
        })?;
        let references = event.iter().flat_map(blob_references);
        named.extend(references.map(|named| named.hash));
    }
    let fits = |hash: &Digest| !blob.is_empty() && hash.to_string().starts_with(blob);
    let found: Vec<Digest> = named.into_iter().filter(fits).collect();
    let run_id = run_id.clone();
    let given = blob.chars().take(80).collect();
    match found.as_slice() {
        [hash] => Ok(*hash),
        [] => Err(EraseError::NotNamed {
            run_id,
            asked: given,
        }),
        _ => Err(EraseError::Ambiguous {
            run_id,
            asked: given,
            candidates: found,
        }),
    }
}

/// Puts tombstones in the place of the blob, inside the open transaction.
fn replace(
    conn: &Connection,
    path: &Path,
    asked: &Erasure<'_>,
    hash: Digest,
) -> Result<Erased, EraseError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let run_id = &asked.run_id;
    let users = runs_with(conn, "run_blobs", hash).map_err(sql)?;
    if !users.contains_key(run_id.as_str()) {
        let done = runs_with(conn, "tombstones", hash).map_err(sql)?;
        if !done.contains_key(run_id.as_str()) {
            let run_id = run_id.clone();
            return Err(EraseError::NotHere { run_id, hash });
        }
        if !asked.all_runs || users.is_empty() {
            let runs = vec![run_id.clone()];
            return Ok(Erased {
                hash,
                bytes: None,
                runs,
            });
        }
    }
    let named = users.contains_key(run_id.as_str());
    let mut runs: Vec<RunId> = named.then(|| run_id.clone()).into_iter().collect();
    for other in users.keys().filter(|name| *name != run_id.as_str()) {
        let other = RunId::try_from(other.clone()).map_err(|fault| StoreError::Corrupt {
            path: path.to_path_buf(),
            reason: format!("runs.run_id: {fault}"),
        })?;
        runs.push(other);
    }
    if let (Some((_, others)), false) = (runs.split_first(), asked.all_runs)
        && !others.is_empty()
    {
        return Err(EraseError::Shared {
            run_id: run_id.clone(),
            hash,
            others: others.to_vec(),
        });
    }
    let swap = || -> rusqlite::Result<Option<i64>> {
        for run in &runs {
            let key = users.get(run.as_str());
            let stone = Tombstone {
                run_id: run.clone(),
                blob: hash,
                reason: asked.reason.clone(),
                at_unix_ms: asked.at_unix_ms,
            };
            let note = stone.sign(asked.key).to_string();
            conn.execute(
                "DELETE FROM run_blobs WHERE run = ?1 AND hash = ?2",
                params![key, hash.as_bytes()],
            )?;
            conn.execute(
                "INSERT INTO tombstones(run, hash, note) VALUES(?1, ?2, ?3)",
                params![key, hash.as_bytes(), note],
            )?;
        }
        conn.query_row(
            "DELETE FROM blobs WHERE hash = ?1 RETURNING length(bytes)",
            [hash.as_bytes()],
            |row| row.get(0),
        )
        .optional()
    };
    let bytes = swap().map_err(sql)?;
    Ok(Erased {
        hash,
        bytes: Some(bytes.map_or(0, |bytes| u64::try_from(bytes).unwrap_or(0))),
        runs,
    })
}

/// The names and keys of the runs that have a row about that blob.
fn runs_with(
    conn: &Connection,
    table: &str,
    hash: Digest,
) -> rusqlite::Result<BTreeMap<String, i64>> {
    conn.prepare(&format!(
        "SELECT r.run_id, r.id FROM {table} t JOIN runs r ON r.id = t.run WHERE t.hash = ?1"
    ))?
    .query_map([hash.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?
    .collect()
}

/// Writes the whole file anew, because a page can hold an old copy of what was moved off it, and empties the log of writes.
pub(super) fn clear(conn: &Connection) -> Result<(), String> {
    let rewrite = || -> rusqlite::Result<i64> {
        conn.execute_batch("VACUUM")?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
    };
    match rewrite() {
        Ok(0) => Ok(()),
        Ok(_) => Err("another process reads the store".to_owned()),
        Err(fault) => Err(fault.to_string()),
    }
}

fn list(names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().take(10).map(ToString::to_string).collect();
    names.join(", ")
}
