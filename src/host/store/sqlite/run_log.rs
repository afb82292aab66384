//! The rows of the log of runs.

use rusqlite::{Connection, params};

use super::formats::STORE_FORMAT;
use super::reader::SqliteReader;
use super::schema::{name, refusal};
use crate::store::{RunLog, StoreError};
use monolith_core::message::RunId;
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

/// Adds a leaf at the end.
pub(super) fn append_leaf(conn: &Connection, run: i64, leaf: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO log_leaves(idx, run, leaf) SELECT coalesce(max(idx) + 1, 0), ?1, ?2 FROM log_leaves",
    )?
    .execute(params![run, leaf])?;
    Ok(())
}
