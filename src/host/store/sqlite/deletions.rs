//! The remains of deleted runs: the rows of `deletions`, each a signed note. A row proves nothing by itself; it is judged by
//! the note, the leaf that it names, and its signers.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::parents::find_entry;
use super::reader::SqliteReader;
use super::schema::{name, refusal};
use crate::store::StoreError;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    Flaw, FlawKind, LogDeletion, LogDeletions, ParentFound, PublicKey, SignedDeletion, Trust,
};

impl SqliteReader {
    /// Who deleted the run of that name, and why; `None` if none of that name was deleted.
    pub(super) fn deleted(
        &self,
        name: &str,
        keys: &[PublicKey],
    ) -> Result<Option<(String, String)>, StoreError> {
        let judged = last(&self.conn, name, keys);
        let judged = judged.map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        Ok(judged.map(by_whom))
    }

    /// Returns the reason for the deletion of a run that its parent had begun, which may be empty; none if none was deleted.
    /// The note names the entry of the parent run, so that an earlier run of that name explains nothing, and no clock decides.
    /// The signer of the note is not judged.
    pub(super) fn deleted_below(
        &self,
        run_id: &RunId,
        above: &RunId,
    ) -> Result<Option<String>, StoreError> {
        let look = || {
            let flawed = || "its note does not hold".to_owned();
            let Ok(log) = name(&self.conn)? else {
                return Ok(Some(flawed()));
            };
            let mut select = self
                .conn
                .prepare_cached(&format!("{ROW} WHERE d.run_id = ?1 ORDER BY d.rowid DESC"))?;
            let mut rows = select.query([run_id.as_str()])?;
            while let Some(row) = rows.next()? {
                let Ok(read) = judge_row(row, &log, &[])? else {
                    return Ok(Some(flawed()));
                };
                let stated = read.stated;
                let parent = stated.parent.filter(|parent| parent.run_id == *above);
                let Some(parent) = parent else { continue };
                let found = find_entry(&self.conn, above, &parent.head)?;
                if matches!(found, ParentFound::Entry(_)) {
                    return Ok(Some(stated.reason));
                }
            }
            Ok(None)
        };
        look().map_err(|fault| refusal(&self.conn, &self.path, &fault))
    }

    /// The number of the leaf that stays of a deleted run, and its text.
    pub(super) fn deleted_leaf(&self, name: &str) -> Result<Option<(u64, String)>, StoreError> {
        let found: rusqlite::Result<Option<(i64, String)>> = self
            .conn
            .prepare_cached(
                "SELECT l.idx, l.leaf FROM deletions d JOIN log_leaves l ON l.idx = d.leaf \
                 WHERE d.run_id = ?1 ORDER BY d.rowid DESC LIMIT 1",
            )
            .and_then(|mut select| {
                select
                    .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            });
        let found = found.map_err(|fault| refusal(&self.conn, &self.path, &fault))?;
        Ok(found.map(|(index, leaf)| (u64::try_from(index).unwrap_or(u64::MAX), leaf)))
    }

    /// The deleted runs among the first `size` leaves of the log; the note of leaf `first` comes before the others.
    pub(super) fn log_deletions(
        &self,
        size: u64,
        first: Option<u64>,
    ) -> Result<LogDeletions, StoreError> {
        let number = |leaf: u64| i64::try_from(leaf).unwrap_or(i64::MAX);
        let read = || {
            // One snapshot for both.
            let tx = self.conn.unchecked_transaction()?;
            let count: i64 = tx.query_row(
                "SELECT count(*) FROM deletions WHERE leaf < ?1",
                [number(size)],
                |row| row.get(0),
            )?;
            let most = i64::try_from(LogDeletions::MOST).unwrap_or(i64::MAX);
            let mut select = tx.prepare(
                "SELECT leaf, note FROM deletions WHERE leaf < ?1 ORDER BY leaf = ?2 DESC, leaf LIMIT ?3",
            )?;
            let first = first.map_or(-1, number);
            let notes = select.query_map([number(size), first, most], |row| {
                let leaf: i64 = row.get(0)?;
                Ok(LogDeletion {
                    leaf: u64::try_from(leaf).unwrap_or(u64::MAX),
                    note: row.get(1)?,
                })
            })?;
            Ok(LogDeletions {
                count: u64::try_from(count).unwrap_or(0),
                notes: notes.collect::<rusqlite::Result<_>>()?,
            })
        };
        read().map_err(|fault| refusal(&self.conn, &self.path, &fault))
    }
}

/// A row of `deletions`, with the leaf that it names as it is kept.
const ROW: &str = "SELECT CAST(d.note AS BLOB), CAST(d.run_id AS BLOB), d.leaf, l.idx IS NOT NULL, l.run IS NOT NULL, \
    CAST(coalesce(l.leaf, '') AS BLOB) FROM deletions d LEFT JOIN log_leaves l ON l.idx = d.leaf";

/// The last deletion of a run of that name, judged; `None` if none of that name was deleted.
pub(super) fn last(
    conn: &Connection,
    run_id: &str,
    keys: &[PublicKey],
) -> rusqlite::Result<Option<Result<SignedDeletion, Flaw>>> {
    let log = match name(conn)? {
        Ok(log) => log,
        Err(flaw) => return Ok(Some(Err(flaw))),
    };
    conn.prepare_cached(&format!(
        "{ROW} WHERE d.run_id = ?1 ORDER BY d.rowid DESC LIMIT 1"
    ))?
    .query_row([run_id], |row| judge_row(row, &log, keys))
    .optional()
}

/// Who deleted a run, and why, as its note says.
pub(super) fn by_whom(judged: Result<SignedDeletion, Flaw>) -> (String, String) {
    match judged {
        Ok(read) => (read.by(), read.stated.reason),
        Err(_) => ("a note that does not hold".to_owned(), String::new()),
    }
}

/// Judges every row of the log of that name: its note, its name column, and the leaf that stays of a sealed run. A note that no
/// known key has signed is a flaw only where one must have.
pub(super) fn judge(
    conn: &Connection,
    log: &str,
    trust: &Trust,
) -> rusqlite::Result<Result<Vec<SignedDeletion>, Flaw>> {
    let mut select = conn.prepare(&format!("{ROW} ORDER BY d.rowid"))?;
    let mut rows = select.query([])?;
    let (mut found, mut texts) = (Vec::new(), BTreeSet::new());
    while let Some(row) = rows.next()? {
        let read = match judge_row(row, log, &trust.keys)? {
            Ok(read) => read,
            Err(flaw) => return Ok(Err(flaw)),
        };
        if !texts.insert(read.stated.text()) {
            let expected = "one row of each note";
            return Ok(Err(Flaw::tampered("note", expected, read)));
        }
        if trust.signature_required && !read.is_known() {
            let expected = "a deletion that a given key has signed";
            return Ok(Err(Flaw::new(FlawKind::Unsigned, "note", expected, read)));
        }
        found.push(read);
    }
    Ok(Ok(found))
}

fn judge_row(
    row: &Row<'_>,
    log: &str,
    keys: &[PublicKey],
) -> rusqlite::Result<Result<SignedDeletion, Flaw>> {
    let text = |column| -> rusqlite::Result<String> {
        let bytes: Vec<u8> = row.get(column)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (note, run_id, kept_text) = (text(0)?, text(1)?, text(5)?);
    let leaf: Option<i64> = row.get(2)?;
    let (exists, kept): (bool, bool) = (row.get(3)?, row.get(4)?);
    let judge = || {
        let read = SignedDeletion::read(&note, keys)?;
        if read.stated.run_id.as_str() != run_id {
            return Err(Flaw::tampered("run_id", &read.stated.run_id, run_id));
        }
        let index = leaf.map(|leaf| u64::try_from(leaf).unwrap_or(u64::MAX));
        read.judge_place(log, index)?;
        if let Some(index) = index {
            if !exists || kept {
                let got = if kept {
                    format!("leaf {index}, whose run is kept")
                } else {
                    format!("leaf {index}, which is not there")
                };
                let expected = "the leaf of a run that is gone";
                return Err(Flaw::tampered("leaf", expected, got));
            }
            read.judge_leaf(index, &kept_text)?;
        }
        Ok(read)
    };
    Ok(judge())
}

/// Judges, in words, the claim that the noted run was deleted by design: a note that a known key has signed must state the
/// noted head. A name may have had several runs, and a note of more entries is not known to be of the noted one.
pub(super) fn judge_pinned(
    conn: &Connection,
    trust: &Trust,
    run_id: &RunId,
    (entries, head): (u64, Digest),
) -> rusqlite::Result<Result<String, Flaw>> {
    let log = match name(conn)? {
        Ok(log) => log,
        Err(flaw) => return Ok(Err(flaw)),
    };
    let mut select =
        conn.prepare_cached(&format!("{ROW} WHERE d.run_id = ?1 ORDER BY d.rowid DESC"))?;
    let mut rows = select.query([run_id.as_str()])?;
    let expected = format!("run {run_id} with {entries} entries, as was noted");
    let rollback = |got: &str| Flaw::new(FlawKind::Rollback, "pin", &expected, got);
    let (mut explained, mut flaw) = (None, None);
    while let Some(row) = rows.next()? {
        let read = match judge_row(row, &log, &trust.keys)? {
            Ok(read) => read,
            Err(flaw) => return Ok(Err(flaw)),
        };
        let stated = &read.stated;
        if (stated.entries, stated.head) == (entries, head) {
            if read.is_known() {
                explained.get_or_insert_with(|| format!("{read}, with {entries} entries"));
                continue;
            }
            // Who takes entries away can write such a note.
            let got = format!("no such run, and a deletion that no known key has signed: {read}");
            flaw = Some(rollback(&got));
        } else if stated.entries == entries {
            flaw.get_or_insert_with(|| Flaw::tampered("pin", head, stated.head));
        } else {
            flaw.get_or_insert_with(|| {
                let count = stated.entries;
                rollback(&format!(
                    "no such run, and one of that name that had {count} entries when it was deleted"
                ))
            });
        }
    }
    Ok(explained.ok_or_else(|| flaw.unwrap_or_else(|| rollback("no such run"))))
}
