//! Erasing bytes for good, with a signed tombstone in their place. Deleting a whole run is `delete.rs`.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::lock::lock_store;
use super::open_reader::BUSY;
use super::open_writer::{Durability, open_writer};
use super::store_file::StoreFile;
use crate::store::StoreError;
use crate::store::erasure::{EraseError, Erased, Erasure};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::Tombstone;

/// Erases a blob of a run for good, and leaves a signed tombstone in its place.
pub(super) fn erase(path: &Path, hash: Digest, asked: &Erasure<'_>) -> Result<Erased, EraseError> {
    let file = StoreFile::of(path)?;
    let path = file.path();
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(&file, Durability::Full, BUSY)?;
    let _lock = lock_store(path)?;
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    let erased = replace(&tx, path, asked, hash)?;
    tx.commit().map_err(sql)?;
    clear(&conn).map_err(|reason| EraseError::Unfinished { hash, reason })?;
    Ok(erased)
}

/// Replaces the blob with tombstones, inside the open transaction.
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

/// Rewrites the whole file, because a page can hold an old copy of data that was moved off it, and empties the log of writes.
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
