//! The rows of the log of runs.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::formats::STORE_FORMAT;
use super::reader::SqliteReader;
use super::schema::{name, refusal};
use crate::store::{RunLog, StoreError};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Flaw, FlawKind, TreeHash, leaf_hash};

impl SqliteReader {
    /// The log of runs.
    pub(super) fn run_log(&self) -> Result<RunLog, StoreError> {
        let read = || {
            // One snapshot for both.
            let tx = self.conn.unchecked_transaction()?;
            Ok((name(&tx)?, leaf_hashes(&tx)?))
        };
        let (name, leaves) = read().map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        // The name is part of what is signed: no other text may get there.
        match name {
            Ok(name) => Ok(RunLog { name, leaves }),
            Err(flaw) => Err(StoreError::Corrupt {
                path: self.path.clone(),
                reason: format!("table log_name: {flaw}"),
            }),
        }
    }

    /// The hash of the last receipt in the log, and the number of receipts so far; none before the first.
    pub(super) fn last_receipt(&self) -> Result<Option<(Digest, u64)>, StoreError> {
        let found = last_receipt(&self.conn);
        let found = found.map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        let Some((hash, count)) = found else {
            return Ok(None);
        };
        let hash: Digest = hash.parse().map_err(|fault| StoreError::Corrupt {
            path: self.path.clone(),
            reason: format!("log_leaves, leaf: receipt: {fault}"),
        })?;
        Ok(Some((hash, u64::try_from(count).unwrap_or(0))))
    }

    /// The number and the text of the leaf of that run; none before its seal.
    pub(super) fn log_leaf(&self, run_id: &RunId) -> Result<Option<(u64, String)>, StoreError> {
        self.row_of(run_id, "log_leaves", "idx, leaf", |columns| {
            Ok((columns.count(0, "idx")?, columns.text(1, "leaf")?))
        })
    }
}

/// Returns the error of a store that lost a table.
pub(super) fn missing(table: &str) -> Flaw {
    let expected = format!("the table {table}, which every store of format {STORE_FORMAT} has");
    Flaw::new(FlawKind::Truncated, "table", expected, "no such table")
}

/// The hashes of the leaves, in their order.
pub(super) fn leaf_hashes(conn: &Connection) -> rusqlite::Result<Vec<TreeHash>> {
    conn.prepare_cached("SELECT CAST(coalesce(leaf, '') AS BLOB) FROM log_leaves ORDER BY idx")?
        .query_map([], |row| Ok(leaf_hash(&row.get::<_, Vec<u8>>(0)?)))?
        .collect()
}

/// The hash of the last receipt as its leaf states it, and the number of leaves that state one. Leaves of deleted items count.
pub(super) fn last_receipt(conn: &Connection) -> rusqlite::Result<Option<(String, i64)>> {
    conn.prepare_cached(
        "WITH receipts AS (SELECT idx, leaf, instr(leaf, ',\"receipt\":\"') AS at FROM log_leaves WHERE at > 0) \
         SELECT substr(leaf, at + 12, 64), (SELECT count(*) FROM receipts) FROM receipts ORDER BY idx DESC LIMIT 1",
    )?
    .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
    .optional()
}

/// Adds a leaf at the end.
pub(super) fn append_leaf(conn: &Connection, run: i64, leaf: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO log_leaves(idx, run, leaf) SELECT coalesce(max(idx) + 1, 0), ?1, ?2 FROM log_leaves",
    )?
    .execute(params![run, leaf])?;
    Ok(())
}
