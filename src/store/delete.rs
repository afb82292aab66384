use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::connection::BUSY;
use super::lock::{RunLock, lock_run, lock_store};
use super::open_writer::open_writer;
use super::{Durability, StoreError, StoreReader};
use crate::contract::ExecutionContract;
use crate::kernel::{Event, EventKind};
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

/// Deletes runs with everything that only they use, and the runs that they delegated to. A signed note stays of each, and its leaf in the
/// log. Forks and continuations stay, and so do blobs that another run uses.
///
/// # Errors
/// [`RemoveError`]; nothing is changed then. A run that a process drives is [`StoreError::RunLocked`].
pub(crate) fn remove(path: &Path, asked: &Removal<'_>) -> Result<Removed, RemoveError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut conn = open_writer(path, Durability::Full, BUSY)?;
    conn.execute_batch("PRAGMA secure_delete = ON")
        .map_err(sql)?;
    let mut names: BTreeSet<RunId> = asked.runs.iter().cloned().collect();
    let mut next: Vec<RunId> = asked.runs.clone();
    while let Some(parent) = next.pop() {
        for child in delegated_by(&conn, &parent).map_err(sql)? {
            if names.insert(child.clone()) {
                next.push(child);
            }
        }
    }
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

/// The runs that a run delegated to: their beginning names it, and their contract the contract that delegated. A fork's contract names
/// none.
fn delegated_by(conn: &Connection, parent: &RunId) -> rusqlite::Result<Vec<RunId>> {
    let mut select = conn.prepare_cached(
        "SELECT r.run_id, CAST(r.contract AS BLOB), CAST(e.event AS BLOB) FROM runs r \
         JOIN entries e ON e.run = r.id AND e.seq = 0 WHERE instr(e.event, ?1) > 0",
    )?;
    let mut rows = select.query([format!("\"run_id\":\"{parent}\"")])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (name, contract, event): (String, Vec<u8>, Vec<u8>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let started = serde_json::from_slice::<Event>(&event).ok();
        let from = started.and_then(|event| match event.event {
            EventKind::RunStarted(started) => started.parent,
            _ => None,
        });
        let contract = std::str::from_utf8(&contract).ok();
        let contract = contract.and_then(|text| ExecutionContract::decode(text).ok());
        let delegated = contract.is_some_and(|contract| contract.parent_contract_hash.is_some());
        if delegated
            && from.is_some_and(|from| from.run_id == *parent)
            && let Ok(name) = RunId::try_from(name)
        {
            found.push(name);
        }
    }
    Ok(found)
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
