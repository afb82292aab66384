//! Checkpoints of an imported file, held until it is known which of them the run keeps.

use monolith_core::transcript::{CheckpointRecord, Note, PublicKey, Signed};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::column::stored;

/// Holds a checkpoint of a verified file until all of them have been seen: the last one says which ones belong to it.
pub(super) fn hold(conn: &Connection, record: &CheckpointRecord) -> rusqlite::Result<()> {
    conn.execute_batch(
        "CREATE TEMP TABLE IF NOT EXISTS given_checkpoints(entries INTEGER PRIMARY KEY, note TEXT NOT NULL)",
    )?;
    conn.prepare_cached("INSERT INTO given_checkpoints(entries, note) VALUES(?1, ?2)")?
        .execute(params![record.stated_entries().map(stored), record.note])?;
    Ok(())
}

/// Takes what is held into a run whose seal comes after so many entries; `seal` is `None` if it has none yet.
///
/// The checkpoint of the seal counts those before it, so they are kept or taken together with it. It is taken if there is none,
/// and it replaces one that no known key has signed if one has signed it. Before that, a checkpoint is taken wherever there is
/// none. Of two with one text, the one that a known key has signed is kept.
pub(super) fn settle(
    conn: &Connection,
    keys: &[PublicKey],
    run: i64,
    seal: Option<u64>,
) -> rusqlite::Result<()> {
    let held = conn
        .prepare("SELECT 1 FROM temp.sqlite_master WHERE name = 'given_checkpoints'")?
        .exists([])?;
    if !held {
        return Ok(());
    }
    let seal = seal.map(stored);
    let here: Option<String> = conn
        .query_row(
            "SELECT note FROM checkpoints WHERE run = ?1 AND entries = ?2",
            params![run, seal],
            |row| row.get(0),
        )
        .optional()?;
    let given: Option<String> = conn
        .query_row(
            "SELECT note FROM given_checkpoints WHERE entries = ?1",
            [seal],
            |row| row.get(0),
        )
        .optional()?;
    let takes_seal = match (&given, &here) {
        (None, _) => false,
        (Some(given), Some(here)) => is_vouched(keys, given) && !is_vouched(keys, here),
        (Some(given), None) => is_vouched(keys, given) || !loses_vouched(conn, keys, run)?,
    };
    if takes_seal {
        conn.execute(
            "DELETE FROM checkpoints WHERE run = ?1 AND entries NOT IN (SELECT entries FROM given_checkpoints)",
            [run],
        )?;
    }
    let takes_new = takes_seal || here.is_none();
    let mut select = conn.prepare(
        "SELECT g.entries, g.note, c.note FROM given_checkpoints g \
         LEFT JOIN checkpoints c ON c.run = ?1 AND c.entries = g.entries",
    )?;
    let mut rows = select.query([run])?;
    let mut replace =
        conn.prepare("INSERT OR REPLACE INTO checkpoints(run, entries, note) VALUES(?1, ?2, ?3)")?;
    while let Some(row) = rows.next()? {
        let entries: i64 = row.get(0)?;
        let (note, known): (String, Option<String>) = (row.get(1)?, row.get(2)?);
        let takes = match known {
            _ if Some(entries) == seal => takes_seal,
            None => takes_new,
            Some(known) => !is_vouched(keys, &known) && is_vouched(keys, &note),
        };
        if takes {
            replace.execute(params![run, entries, note])?;
        }
    }
    Ok(())
}

/// Returns true if a known key has signed a checkpoint that the file does not have: no stranger's seal takes it away.
fn loses_vouched(conn: &Connection, keys: &[PublicKey], run: i64) -> rusqlite::Result<bool> {
    let mut select = conn.prepare(
        "SELECT note FROM checkpoints WHERE run = ?1 AND entries NOT IN (SELECT entries FROM given_checkpoints)",
    )?;
    let mut rows = select.query([run])?;
    while let Some(row) = rows.next()? {
        if is_vouched(keys, &row.get::<_, String>(0)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if one of these keys has signed the note.
pub(super) fn vouched(keys: &[PublicKey], note: &Note) -> bool {
    keys.iter()
        .any(|key| matches!(note.signed_by(key), Signed::Valid))
}

pub(super) fn is_vouched(keys: &[PublicKey], note: &str) -> bool {
    note.parse().is_ok_and(|note| vouched(keys, &note))
}
