//! The rows of a run and of the run that it comes from.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::entry_text::text_of;
use super::reader::SqliteReader;
use super::schema::refusal;
use crate::store::StoreError;
use crate::store::database::Standing;
use monolith_core::kernel::{Event, EventKind, ParentRun};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{ParentFound, TranscriptKind};

impl SqliteReader {
    /// The progress of a run.
    pub(super) fn standing(&self, run_id: &RunId) -> Result<Option<Standing>, StoreError> {
        self.conn
            .prepare_cached("SELECT class IS NULL, kind, head_seq FROM runs WHERE run_id = ?1")
            .and_then(|mut select| {
                let standing = select.query_row([run_id.as_str()], |row| {
                    Ok(Standing {
                        is_open: row.get(0)?,
                        // A row of an unknown kind is refused where it is read.
                        kind: row
                            .get_ref(1)?
                            .as_str()
                            .ok()
                            .and_then(TranscriptKind::parse)
                            .unwrap_or_default(),
                        last: u64::try_from(row.get::<_, i64>(2)?).ok(),
                    })
                });
                standing.optional()
            })
            .map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }

    /// The hash of a run's first entry, which distinguishes it from another run of its name.
    pub(super) fn first_entry(&self, run_id: &RunId) -> Result<Option<Digest>, StoreError> {
        let found = self
            .conn
            .prepare_cached(
                "SELECT hash FROM entries WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)",
            )
            .and_then(|mut select| {
                select
                    .query_row([run_id.as_str()], |row| row.get(0))
                    .optional()
            });
        let found = found.map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        Ok(found.map(Digest::from_bytes))
    }

    /// The parent that entry 0 of a run names.
    pub(super) fn parent(&self, run_id: &RunId) -> Result<Option<ParentRun>, StoreError> {
        parent_of(&self.conn, run_id).map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }

    /// Looks for the entry of a run that has this hash.
    pub(super) fn find_entry(
        &self,
        run_id: &RunId,
        hash: Digest,
    ) -> Result<ParentFound, StoreError> {
        find_entry(&self.conn, run_id, &hash)
            .map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }
}

/// The parent that entry 0 of a run names; none if it names none, or does not read back.
pub(super) fn parent_of(conn: &Connection, run_id: &RunId) -> rusqlite::Result<Option<ParentRun>> {
    let event: Option<Option<Event>> = conn
        .prepare_cached(
            "SELECT event FROM entries WHERE seq = 0 AND run = (SELECT id FROM runs WHERE run_id = ?1)",
        )?
        .query_row([run_id.as_str()], |row| Ok(event_of(row.get_ref(0)?)))
        .optional()?;
    Ok(event.flatten().and_then(|event| match event.event {
        EventKind::RunStarted(started) => started.parent,
        _ => None,
    }))
}

/// The event of an entry. What does not read back is for the verification.
fn event_of(value: ValueRef<'_>) -> Option<Event> {
    serde_json::from_str(&text_of(value).ok()?).ok()
}

/// Looks for the entry of the parent that is named as its head.
pub(super) fn find_parent(conn: &Connection, parent: &ParentRun) -> rusqlite::Result<ParentFound> {
    find_entry(conn, &parent.run_id, &parent.head)
}

/// Looks for the entry of a run that has this hash.
pub(super) fn find_entry(
    conn: &Connection,
    run_id: &RunId,
    hash: &Digest,
) -> rusqlite::Result<ParentFound> {
    let run: Option<i64> = conn
        .prepare_cached("SELECT id FROM runs WHERE run_id = ?1")?
        .query_row([run_id.as_str()], |row| row.get(0))
        .optional()?;
    let Some(run) = run else {
        return Ok(ParentFound::NotHere);
    };
    let seq: Option<i64> = conn
        .prepare_cached("SELECT seq FROM entries WHERE run = ?1 AND hash = ?2")?
        .query_row(params![run, hash.as_bytes()], |row| row.get(0))
        .optional()?;
    let seq = seq.and_then(|seq| u64::try_from(seq).ok());
    Ok(seq.map_or(ParentFound::NoSuchEntry, ParentFound::Entry))
}
