use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::connection::BUSY;
use super::lock::{RunLock, lock_run, lock_store};
use super::open_writer::open_writer;
use super::{Durability, StoreError, StoreReader};
use crate::message::{Digest, RunId};
use crate::transcript::{Deletion, Note, SecretKey};

/// What is to be deleted, and who says so.
#[derive(Clone, Debug)]
pub(crate) struct Removal<'k> {
    /// The runs.
    pub(crate) runs: Vec<RunId>,
    /// Why; may be empty.
    pub(crate) reason: String,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub(crate) at_unix_ms: u64,
    /// Whether a run without a seal is deleted too.
    pub(crate) force: bool,
    /// Who signs what stays of them.
    pub(crate) key: &'k SecretKey,
}

/// What was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    /// The runs, those that they delegated to among them.
    pub(crate) runs: Vec<RunId>,
    /// Whether the files of the store were written anew without them; else that is left to be done.
    pub(crate) cleared: bool,
}

/// Why nothing was deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RemoveError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: the run has no seal, so a process may go on with it.
    #[error("delete run {run_id}: it has not ended")]
    Open {
        /// The run.
        run_id: RunId,
    },
}

/// A row of `runs`, as far as a deletion states it.
struct Doomed {
    key: i64,
    head: Digest,
    entries: u64,
    run_id: RunId,
    lock: RunLock,
}

/// Deletes runs with everything that only they use. A signed note stays of each, and its leaf in the
/// log. Forks and continuations stay, and so do blobs that another run uses.
///
/// # Errors
/// [`RemoveError`]; nothing is changed then. A run that a process drives is [`StoreError::RunLocked`].
pub(crate) fn remove(path: &Path, asked: &Removal<'_>) -> Result<Removed, RemoveError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(path, Durability::Full, BUSY)?;
    conn.execute_batch("PRAGMA secure_delete = ON")
        .map_err(sql)?;
    let names: BTreeSet<RunId> = asked.runs.iter().cloned().collect();
    let mut doomed = Vec::new();
    for run_id in names {
        doomed.push(lock(&conn, path, run_id, asked.force)?);
    }
    let tx = conn
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(sql)?;
    for run in &doomed {
        take_out(&tx, run, asked).map_err(sql)?;
    }
    tx.commit().map_err(sql)?;
    let runs = doomed.into_iter().map(|run| {
        drop(std::fs::remove_file(super::answer::path_of(
            path,
            &run.run_id,
        )));
        run.lock.discard();
        run.run_id
    });
    let runs = runs.collect();
    // Only where no run is driven; what was freed is overwritten already.
    let alone = lock_store(path);
    let cleared = alone.is_ok() && super::erase::clear(&conn).is_ok();
    Ok(Removed { runs, cleared })
}

/// Locks a run, so that nobody drives it, and reads what its note will say.
fn lock(conn: &Connection, path: &Path, run_id: RunId, force: bool) -> Result<Doomed, RemoveError> {
    let lock = lock_run(path, &run_id)?;
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let row = conn
        .query_row(
            "SELECT id, head_seq, head_hash, class IS NULL FROM runs WHERE run_id = ?1",
            [run_id.as_str()],
            |row| {
                let (key, seq, open) = (row.get(0)?, row.get::<_, i64>(1)?, row.get(3)?);
                Ok((key, seq, row.get::<_, [u8; 32]>(2)?, open))
            },
        )
        .optional()
        .map_err(sql)?;
    let Some((key, seq, head, open)) = row else {
        lock.discard();
        let asked = run_id.to_string();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    if open && !force {
        return Err(RemoveError::Open { run_id });
    }
    Ok(Doomed {
        key,
        head: Digest::from_bytes(head),
        entries: u64::try_from(seq.saturating_add(1)).unwrap_or(0),
        run_id,
        lock,
    })
}

/// Takes one run out of every table, inside the open transaction.
fn take_out(conn: &Connection, run: &Doomed, asked: &Removal<'_>) -> rusqlite::Result<()> {
    let note = Deletion {
        run_id: run.run_id.clone(),
        entries: run.entries,
        head: run.head,
        reason: asked.reason.clone(),
        at_unix_ms: asked.at_unix_ms,
    };
    let leaf: Option<i64> = conn
        .query_row(
            "UPDATE log_leaves SET run = NULL WHERE run = ?1 RETURNING idx",
            [run.key],
            |row| row.get(0),
        )
        .optional()?;
    conn.execute(
        "INSERT INTO deletions(run_id, leaf, note) VALUES(?1, ?2, ?3)",
        params![run.run_id.as_str(), leaf, note.sign(asked.key).to_string()],
    )?;
    let links: Vec<Vec<u8>> = conn
        .prepare("DELETE FROM run_blobs WHERE run = ?1 RETURNING hash")?
        .query_map([run.key], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut blob = conn.prepare_cached(
        "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM run_blobs WHERE hash = ?1)",
    )?;
    for hash in links {
        blob.execute([hash])?;
    }
    for table in ["entries", "checkpoints", "tombstones", "invocations"] {
        conn.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [run.key])?;
    }
    conn.execute("DELETE FROM runs WHERE id = ?1", [run.key])?;
    Ok(())
}

impl StoreReader {
    /// What stays of a run that was deleted, the last of that name; none where there was none.
    pub(crate) fn deletion(&self, name: &str) -> Result<Option<Note>, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        let note: Option<String> = self
            .conn
            .prepare_cached(
                "SELECT note FROM deletions WHERE run_id = ?1 ORDER BY rowid DESC LIMIT 1",
            )
            .and_then(|mut select| select.query_row([name], |row| row.get(0)).optional())
            .map_err(sql)?;
        Ok(note.and_then(|note| note.parse().ok()))
    }

    /// The number of the leaf that stays of a deleted run, and its text.
    pub(crate) fn deleted_leaf(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        let found: Option<(i64, String)> = self
            .conn
            .prepare_cached(
                "SELECT l.idx, l.leaf FROM deletions d JOIN log_leaves l ON l.idx = d.leaf \
                 WHERE d.run_id = ?1 ORDER BY d.rowid DESC LIMIT 1",
            )
            .and_then(|mut select| {
                select
                    .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(sql)?;
        Ok(found.map(|(index, leaf)| (u64::try_from(index).unwrap_or(u64::MAX), leaf)))
    }
}
