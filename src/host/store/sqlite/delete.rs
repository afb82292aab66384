//! Deletion of whole runs: what only they use goes, the leaf in the log and a signed note stay.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::lock::{RunFileLock, lock_run, lock_store};
use super::open_reader::BUSY;
use super::open_writer::{Durability, open_writer};
use super::schema::BLOB_INDEX;
use super::store_file::StoreFile;
use super::{answer_files, parents, schema};
use crate::store::StoreError;
use crate::store::erasure::{Removal, RemoveError, Removed};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{DeletedLeaf, DeletedParent, Deletion};

/// Number of runs locked at a time and deleted in one transaction: a lock holds two descriptors, and a process has few.
const BATCH: usize = 32;

/// Takes away a blob that no run uses any more.
pub(super) const DELETE_UNUSED: &str =
    "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM run_blobs WHERE hash = ?1)";

/// A row of `runs`, as far as a deletion states it.
struct Doomed {
    key: i64,
    head: Digest,
    entries: u64,
    run_id: RunId,
    parent: Option<DeletedParent>,
}

/// Deletes runs with everything that only they use.
pub(super) fn remove(path: &Path, asked: &Removal<'_>) -> Result<Removed, RemoveError> {
    let file = StoreFile::of(path)?;
    let path = file.path();
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(&file, Durability::Full, BUSY)?;
    conn.execute_batch("PRAGMA secure_delete = ON")
        .map_err(sql)?;
    // A store that was made without it would be read as a whole for each blob.
    conn.execute_batch(BLOB_INDEX).map_err(sql)?;
    let mut known = BTreeSet::new();
    let names = asked.runs.iter().filter(|run_id| known.insert(*run_id));
    let names: Vec<RunId> = names.cloned().collect();
    for run_id in &names {
        if let Err(fault) = find(&conn, path, run_id, asked.force) {
            // Another process must not resume a run that a process drives.
            if matches!(fault, RemoveError::Open { .. }) {
                drop(lock_run(path, run_id)?);
            }
            return Err(fault);
        }
    }
    let (mut runs, mut stopped) = (Vec::new(), None);
    for batch in names.chunks(BATCH) {
        match remove_batch(&mut conn, path, batch, asked) {
            Ok(()) => runs.extend_from_slice(batch),
            Err(fault) if runs.is_empty() => return Err(fault),
            Err(fault) => {
                stopped = Some(fault);
                break;
            }
        }
    }
    // Only where no run is driven; what was freed is overwritten already.
    let alone = lock_store(path);
    let cleared = alone.is_ok() && super::erase::clear(&conn).is_ok();
    Ok(Removed {
        runs,
        cleared,
        stopped,
    })
}

/// Deletes these runs in one transaction, under the locks of all of them.
fn remove_batch(
    conn: &mut Connection,
    path: &Path,
    batch: &[RunId],
    asked: &Removal<'_>,
) -> Result<(), RemoveError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut locks: Vec<RunFileLock> = Vec::new();
    for run_id in batch {
        locks.push(lock_run(path, run_id)?);
    }
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    // The name is part of what is signed: no other text may get there.
    let log = schema::name(&tx).map_err(sql)?;
    let log = log.map_err(|flaw| StoreError::Corrupt {
        path: path.to_owned(),
        reason: format!("table log_name: {flaw}"),
    })?;
    for run_id in batch {
        let doomed = find(&tx, path, run_id, asked.force)?;
        take_out(&tx, &log, &doomed, asked).map_err(sql)?;
    }
    tx.commit().map_err(sql)?;
    for (run_id, lock) in batch.iter().zip(locks) {
        drop(std::fs::remove_file(answer_files::path_of(path, run_id)));
        lock.give_up();
    }
    Ok(())
}

/// Reads what the note of a run will say.
fn find(
    conn: &Connection,
    path: &Path,
    run_id: &RunId,
    force: bool,
) -> Result<Doomed, RemoveError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let row = conn
        .prepare_cached("SELECT id, head_seq, head_hash, class IS NULL FROM runs WHERE run_id = ?1")
        .map_err(sql)?
        .query_row([run_id.as_str()], |row| {
            let (key, seq, open) = (row.get(0)?, row.get::<_, i64>(1)?, row.get(3)?);
            Ok((key, seq, row.get::<_, [u8; 32]>(2)?, open))
        })
        .optional()
        .map_err(sql)?;
    let Some((key, seq, head, open)) = row else {
        let asked = run_id.to_string();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let run_id = run_id.clone();
    if open && !force {
        return Err(RemoveError::Open { run_id });
    }
    let parent = parents::parent_of(conn, &run_id).map_err(sql)?;
    Ok(Doomed {
        key,
        head: Digest::from_bytes(head),
        entries: u64::try_from(seq.saturating_add(1)).unwrap_or(0),
        run_id,
        parent: parent.map(|parent| DeletedParent {
            run_id: parent.run_id,
            head: parent.head,
        }),
    })
}

/// Takes one run out of every table, inside the open transaction.
fn take_out(
    conn: &Connection,
    log: &str,
    run: &Doomed,
    asked: &Removal<'_>,
) -> rusqlite::Result<()> {
    let leaf: Option<(i64, String)> = conn
        .prepare_cached("UPDATE log_leaves SET run = NULL WHERE run = ?1 RETURNING idx, leaf")?
        .query_row([run.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let note = Deletion {
        log: log.to_owned(),
        leaf: leaf
            .as_ref()
            .map(|(index, text)| DeletedLeaf::of(u64::try_from(*index).unwrap_or(u64::MAX), text)),
        run_id: run.run_id.clone(),
        entries: run.entries,
        head: run.head,
        parent: run.parent.clone(),
        reason: asked.reason.clone(),
        at_unix_ms: asked.at_unix_ms,
    };
    let leaf = leaf.map(|(index, _)| index);
    conn.prepare_cached("INSERT INTO deletions(run_id, leaf, note) VALUES(?1, ?2, ?3)")?
        .execute(params![
            run.run_id.as_str(),
            leaf,
            note.sign(asked.key).to_string()
        ])?;
    let links: Vec<Vec<u8>> = conn
        .prepare_cached("DELETE FROM run_blobs WHERE run = ?1 RETURNING hash")?
        .query_map([run.key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut blob = conn.prepare_cached(DELETE_UNUSED)?;
    for hash in links {
        blob.execute([hash])?;
    }
    for table in [
        "contracts",
        "entries",
        "checkpoints",
        "tombstones",
        "invocations",
    ] {
        conn.prepare_cached(&format!("DELETE FROM {table} WHERE run = ?1"))?
            .execute([run.key])?;
    }
    conn.prepare_cached("DELETE FROM runs WHERE id = ?1")?
        .execute([run.key])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// A deletion costs what the deleted run has, not what the store has. An index finds each row that goes, and every row that
    /// would still refer to it.
    #[test]
    fn no_table_is_read_as_a_whole_for_what_is_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        drop(Store::open(&path, Durability::Normal).unwrap());
        let file = StoreFile::of(&path).unwrap();
        let conn = open_writer(&file, Durability::Normal, BUSY).unwrap();
        let plan = |sql: &str| -> Vec<String> {
            let mut select = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let rows = select.query_map([[0_u8; 32]], |row| row.get(3)).unwrap();
            rows.map(Result::unwrap).collect()
        };
        let steps = plan(DELETE_UNUSED);
        assert!(
            steps.iter().all(|step| !step.starts_with("SCAN run")),
            "{steps:?}"
        );
        // What the foreign key of `run_blobs` looks for.
        let steps = plan("SELECT run FROM run_blobs WHERE hash = ?1");
        assert!(steps.iter().all(|step| step.contains("INDEX")), "{steps:?}");
        assert_eq!(steps.len(), 1, "{steps:?}");
    }
}
