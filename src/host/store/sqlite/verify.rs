//! A stored run handed to the verifier, record by record. What is wrong with one is for `transcript`.

use std::borrow::Cow;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, Rows};

use super::entry_text::{NoText, text_of};
use super::parents::find_parent;
use super::reader::SqliteReader;
use super::run_rows::KINDS;
use super::schema::missing_table;
use super::{run_log, schema};
use crate::store::StoreError;
use crate::store::run::IMPORTED;
use monolith_core::message::{Digest, RunId, amount};
use monolith_core::transcript::{
    BlobRecord, CheckpointRecord, EntryRecord, Flaw, FlawKind, HeaderRecord, IndexClaims, Location,
    LogEvidence, MachineEntryRecord, Pin, Record, TombstoneRecord, TranscriptKind, Trust, Verifier,
    VerifyOptions, VerifyReport, WithheldBlobs,
};

const RUNS: Location = Location::Table("runs");
const ENTRIES: Location = Location::Table("entries");
const BLOBS: Location = Location::Table("blobs");
const RUN_BLOBS: Location = Location::Table("run_blobs");
const TOMBSTONES: Location = Location::Table("tombstones");
const CHECKPOINTS: Location = Location::Table("checkpoints");
pub(super) const LOG_LEAVES: Location = Location::Table("log_leaves");

impl SqliteReader {
    /// Verifies a run on one snapshot of all that is read.
    pub(super) fn verify_run(
        &self,
        run_id: &RunId,
        open: bool,
        trust: &Arc<Trust>,
    ) -> Result<Option<VerifyReport>, StoreError> {
        // Nothing is written, so dropping the transaction is enough.
        let judge = || judge(&*self.conn.unchecked_transaction()?, run_id, open, trust);
        judge().map_err(|fault| StoreError::from_sql(&self.path, &fault))
    }
}

/// Verifies a run on what the connection sees; `None` if there is none of that name.
pub(super) fn judge(
    conn: &Connection,
    run_id: &RunId,
    open: bool,
    trust: &Arc<Trust>,
) -> rusqlite::Result<Option<VerifyReport>> {
    let imported = conn
        .prepare_cached("SELECT 1 FROM runs WHERE run_id = ?1 AND owner = ?2")?
        .exists([run_id.as_str(), IMPORTED])?;
    // A file may have left out what the token gate held back; what is driven here never does.
    let withheld = if imported {
        WithheldBlobs::MayLack
    } else {
        WithheldBlobs::Needed
    };
    let mut verifier = Verifier::new(VerifyOptions { open, withheld }).trusting(Arc::clone(trust));
    verifier.note_not_checked(
        "columns outside the hash: runs.created_unix_ms, runs.epoch, runs.owner, and the table invocations",
    );
    verifier.note_not_checked(
        "other runs: whether a whole run was removed from the store; monolith log verify",
    );
    let missing = missing_table(conn)?;
    // Of a run without a contract nothing else can be shown.
    let shown = if missing == Some("contracts") {
        key_of(conn, run_id)?
    } else {
        show_run(conn, run_id, &mut verifier)?
    };
    let Some(key) = shown else {
        return Ok(None);
    };
    if let Some(table) = missing {
        verifier.take_flaw("schema", Location::Table(table), run_log::missing(table));
        return Ok(Some(verifier.finish()));
    }
    if show_entries(conn, key, &mut verifier)?
        && show_parent(conn, &mut verifier)?
        && show_blobs(conn, key, &mut verifier)?
        && show_tombstones(conn, key, &mut verifier)?
        && show_checkpoints(conn, key, &mut verifier)?
    {
        show_log(conn, key, trust, &mut verifier)?;
    }
    Ok(Some(verifier.finish()))
}

fn key_of(conn: &Connection, run_id: &RunId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT id FROM runs WHERE run_id = ?1")?
        .query_row([run_id.as_str()], |row| row.get(0))
        .optional()
}

/// Presents the row of the run; returns its key.
fn show_run(
    conn: &Connection,
    run_id: &RunId,
    verifier: &mut Verifier,
) -> rusqlite::Result<Option<i64>> {
    let mut select = conn.prepare_cached(
        "SELECT id, document, contract_hash, head_seq, head_hash, class, code, kind FROM runs LEFT JOIN contracts ON run = id \
         WHERE run_id = ?1",
    )?;
    select
        .query_row([run_id.as_str()], |row| {
            verifier.take(RUNS, header(row, run_id));
            row.get(0)
        })
        .optional()
}

fn show_entries(conn: &Connection, key: i64, verifier: &mut Verifier) -> rusqlite::Result<bool> {
    let mut select = conn.prepare_cached(
        "SELECT seq, state, event, action, hash FROM entries WHERE run = ?1 ORDER BY seq",
    )?;
    let mut rows = select.query([key])?;
    while let Some(row) = rows.next()? {
        let texts = entry_text(row, 2, "event")
            .and_then(|event| Ok((event, entry_text(row, 3, "action")?)));
        let kind = verifier.kind();
        let record = match &texts {
            Ok((event, action)) if kind == TranscriptKind::Run => entry(row, event, action),
            Ok((event, action)) => machine_entry(row, event, action),
            Err(flaw) => Err(flaw.clone()),
        };
        if !verifier.take(ENTRIES, record) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Presents what the store has of the run that this one was forked from.
fn show_parent(conn: &Connection, verifier: &mut Verifier) -> rusqlite::Result<bool> {
    let Some(parent) = verifier.parent().cloned() else {
        return Ok(true);
    };
    let found = find_parent(conn, &parent)?;
    Ok(verifier.take_parent(ENTRIES, found))
}

fn show_blobs(conn: &Connection, key: i64, verifier: &mut Verifier) -> rusqlite::Result<bool> {
    // The link decides which blobs belong to the run; a link without its blob is shown as such.
    let mut select = conn.prepare_cached(
        "SELECT l.hash, b.bytes, b.hash IS NULL FROM run_blobs l LEFT JOIN blobs b ON b.hash = l.hash \
         WHERE l.run = ?1 ORDER BY l.hash",
    )?;
    let mut rows = select.query([key])?;
    while let Some(row) = rows.next()? {
        let place = if row.get(2)? { RUN_BLOBS } else { BLOBS };
        if !verifier.take(place, blob(row)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn show_tombstones(conn: &Connection, key: i64, verifier: &mut Verifier) -> rusqlite::Result<bool> {
    let mut select =
        conn.prepare_cached("SELECT hash, note FROM tombstones WHERE run = ?1 ORDER BY hash")?;
    show(&mut select.query([key])?, TOMBSTONES, verifier, tombstone)
}

fn show_checkpoints(
    conn: &Connection,
    key: i64,
    verifier: &mut Verifier,
) -> rusqlite::Result<bool> {
    let mut select = conn
        .prepare_cached("SELECT entries, note FROM checkpoints WHERE run = ?1 ORDER BY entries")?;
    show(&mut select.query([key])?, CHECKPOINTS, verifier, checkpoint)
}

/// Presents what the log of runs says of the run.
fn show_log(
    conn: &Connection,
    key: i64,
    trust: &Trust,
    verifier: &mut Verifier,
) -> rusqlite::Result<()> {
    let name = match schema::name(conn)? {
        Ok(name) => name,
        Err(flaw) => {
            verifier.take_flaw("log", Location::Table("log_name"), flaw);
            return Ok(());
        }
    };
    let leaf: Option<(i64, Vec<u8>)> = conn
        .prepare_cached(
            "SELECT idx, CAST(coalesce(leaf, '') AS BLOB) FROM log_leaves WHERE run = ?1",
        )?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let leaf = leaf.map(|(index, leaf)| {
        let index = u64::try_from(index).unwrap_or(u64::MAX);
        (index, String::from_utf8_lossy(&leaf).into_owned())
    });
    let asked = trust.pins.iter().any(|pin| matches!(pin, Pin::Log { .. }));
    let leaves = if asked {
        run_log::leaf_hashes(conn)?
    } else {
        Vec::new()
    };
    let evidence = LogEvidence {
        log: Some(&name),
        leaf: leaf.as_ref().map(|(index, leaf)| (*index, leaf.as_str())),
        leaves: &leaves,
    };
    verifier.take_log(LOG_LEAVES, &evidence);
    Ok(())
}

fn show(
    rows: &mut Rows<'_>,
    place: Location,
    verifier: &mut Verifier,
    read: impl for<'a> Fn(&'a Row<'_>) -> Result<Record<'a>, Flaw>,
) -> rusqlite::Result<bool> {
    while let Some(row) = rows.next()? {
        if !verifier.take(place, read(row)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn header<'a>(row: &'a Row<'_>, run_id: &RunId) -> Result<Record<'a>, Flaw> {
    let outcome = match (
        text_or_null(row, 5, "class")?,
        text_or_null(row, 6, "code")?,
    ) {
        (Some(class), Some(code)) => Some((class.to_owned(), code.to_owned())),
        (None, None) => None,
        (Some(_), None) => return Err(Flaw::tampered("code", "a code beside the class", "null")),
        (None, Some(_)) => return Err(Flaw::tampered("class", "a class beside the code", "null")),
    };
    let head_seq = integer(row, 3, "head_seq")?;
    let length = u64::try_from(head_seq.saturating_add(1))
        .map_err(|_| Flaw::tampered("head_seq", "-1 or more", head_seq))?;
    Ok(Record::Header(Box::new(HeaderRecord {
        contract: text(row, 1, "contract")?,
        claims: Some(IndexClaims {
            contract_hash: digest(row, 2, "contract_hash")?,
            kind: kind(row)?,
            outcome,
            head_hash: digest(row, 4, "head_hash")?,
            length,
        }),
        run_id: run_id.clone(),
    })))
}

/// The machine that a row says it is of.
fn kind(row: &Row<'_>) -> Result<TranscriptKind, Flaw> {
    let stored = text(row, 7, "kind")?;
    TranscriptKind::parse(stored).ok_or_else(|| Flaw::tampered("kind", KINDS, stored))
}

fn entry<'a>(row: &'a Row<'_>, event: &'a str, action: &'a str) -> Result<Record<'a>, Flaw> {
    let seq = integer(row, 0, "seq")?;
    let seq = u64::try_from(seq).map_err(|_| Flaw::tampered("seq", "0 or more", seq))?;
    let entry = EntryRecord::decode(
        seq,
        Some(text(row, 1, "state")?),
        event,
        action,
        digest(row, 4, "hash")?,
    )?;
    Ok(Record::Entry(Box::new(entry)))
}

fn machine_entry<'a>(
    row: &'a Row<'_>,
    event: &'a str,
    action: &'a str,
) -> Result<Record<'a>, Flaw> {
    let seq = integer(row, 0, "seq")?;
    let seq = u64::try_from(seq).map_err(|_| Flaw::tampered("seq", "0 or more", seq))?;
    let state = Some(text(row, 1, "state")?);
    let entry = MachineEntryRecord::decode(seq, state, event, action, digest(row, 4, "hash")?)?;
    Ok(Record::MachineEntry(Box::new(entry)))
}

fn blob<'a>(row: &'a Row<'_>) -> Result<Record<'a>, Flaw> {
    let hash = digest(row, 0, "hash")?;
    match value(row, 1, "bytes")? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => {
            Ok(Record::Blob(BlobRecord { hash, bytes }))
        }
        _ => Err(Flaw::new(
            FlawKind::MissingBlob,
            "hash",
            "a blob under that hash",
            hash,
        )),
    }
}

fn tombstone<'a>(row: &'a Row<'_>) -> Result<Record<'a>, Flaw> {
    Ok(Record::Tombstone(TombstoneRecord {
        hash: Some(digest(row, 0, "hash")?),
        note: text(row, 1, "tombstone")?.to_owned(),
    }))
}

fn checkpoint<'a>(row: &'a Row<'_>) -> Result<Record<'a>, Flaw> {
    let entries = integer(row, 0, "entries")?;
    let entries =
        u64::try_from(entries).map_err(|_| Flaw::tampered("entries", "0 or more", entries))?;
    Ok(Record::Checkpoint(CheckpointRecord {
        entries: Some(entries),
        note: text(row, 1, "checkpoint")?.to_owned(),
    }))
}

/// A column as it is stored: conversions that could fail or repair are left to the caller.
fn value<'a>(row: &'a Row<'_>, column: usize, name: &str) -> Result<ValueRef<'a>, Flaw> {
    row.get_ref(column)
        .map_err(|fault| Flaw::tampered(name, "a column", fault))
}

fn text_or_null<'a>(row: &'a Row<'_>, column: usize, name: &str) -> Result<Option<&'a str>, Flaw> {
    let bytes = match value(row, column, name)? {
        ValueRef::Null => return Ok(None),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        other => return Err(Flaw::tampered(name, "a text", other.data_type())),
    };
    std::str::from_utf8(bytes)
        .map(Some)
        .map_err(|fault| Flaw::tampered(name, "UTF-8 throughout", fault))
}

fn text<'a>(row: &'a Row<'_>, column: usize, name: &str) -> Result<&'a str, Flaw> {
    text_or_null(row, column, name)?.ok_or_else(|| Flaw::tampered(name, "a text", "null"))
}

/// The text of an entry, packed or not.
fn entry_text<'a>(row: &'a Row<'_>, column: usize, name: &str) -> Result<Cow<'a, str>, Flaw> {
    text_of(value(row, column, name)?)
        .map_err(|NoText { expected, got }| Flaw::tampered(name, expected, got))
}

fn integer(row: &Row<'_>, column: usize, name: &str) -> Result<i64, Flaw> {
    match value(row, column, name)? {
        ValueRef::Integer(number) => Ok(number),
        other => Err(Flaw::tampered(name, "an integer", other.data_type())),
    }
}

fn digest(row: &Row<'_>, column: usize, name: &str) -> Result<Digest, Flaw> {
    let bytes = match value(row, column, name)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes,
        other => return Err(Flaw::tampered(name, "32 bytes", other.data_type())),
    };
    <[u8; 32]>::try_from(bytes)
        .map(Digest::from_bytes)
        .map_err(|_| Flaw::tampered(name, "32 bytes", amount(bytes.len(), "byte")))
}
