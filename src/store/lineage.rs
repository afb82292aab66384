//! The parent of a run, and whether this store has it.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{StoreError, StoreReader};
use crate::kernel::{Event, EventKind, ParentRun};
use crate::message::RunId;
use crate::transcript::ParentFound;

/// Where a run comes from, and whether that is in the same store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// What entry 0 says.
    pub parent: ParentRun,
    /// What this store has of it.
    pub found: ParentFound,
}

impl StoreReader {
    /// The run that this one was forked from; none where it was not.
    pub fn lineage(&self, run_id: &RunId) -> Result<Option<Lineage>, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(&self.path, &fault);
        let event: Option<Vec<u8>> = self
            .conn
            .prepare_cached(
                "SELECT CAST(event AS BLOB) FROM entries WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .and_then(|mut select| {
                select
                    .query_row([run_id.as_str()], |row| row.get(0))
                    .optional()
            })
            .map_err(sql)?;
        // What does not read back is for the verification.
        let event = event.and_then(|text| serde_json::from_slice::<Event>(&text).ok());
        let parent = event.and_then(|event| match event.event {
            EventKind::RunStarted(started) => started.parent,
            _ => None,
        });
        let Some(parent) = parent else {
            return Ok(None);
        };
        let found = find_parent(&self.conn, &parent).map_err(sql)?;
        Ok(Some(Lineage { parent, found }))
    }
}

/// Looks for the entry of the parent that is named as its head.
pub(super) fn find_parent(conn: &Connection, parent: &ParentRun) -> rusqlite::Result<ParentFound> {
    let run: Option<i64> = conn
        .prepare_cached("SELECT id FROM runs WHERE run_id = ?1")?
        .query_row([parent.run_id.as_str()], |row| row.get(0))
        .optional()?;
    let Some(run) = run else {
        return Ok(ParentFound::NotHere);
    };
    let seq: Option<i64> = conn
        .prepare_cached("SELECT seq FROM entries WHERE run = ?1 AND hash = ?2")?
        .query_row(params![run, parent.head.as_bytes()], |row| row.get(0))
        .optional()?;
    let seq = seq.and_then(|seq| u64::try_from(seq).ok());
    Ok(seq.map_or(ParentFound::NoSuchEntry, ParentFound::Entry))
}
