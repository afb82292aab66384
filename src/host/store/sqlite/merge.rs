//! Lines of a verified file into the rows of a run, inside a transaction. Opening files and verifying them is `import.rs`.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::append::insert_blob;
use super::column::Columns;
use super::column::stored;
use super::entry_text::Kept;
use super::given_checkpoints::is_vouched;
use super::intake::insert_contract;
use super::{given_checkpoints, run_log};
use crate::store::StoreError;
use crate::store::import_error::ImportError;
use crate::store::run::IMPORTED;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{
    EntryRecord, LogLeaf, MachineEntryRecord, PublicKey, Record, SealedOutcome, Tombstone,
    TombstoneRecord, TranscriptKind,
};

/// The lines of a verified file on their way into a run of the store, inside one open transaction.
///
/// Entries that are here already must be the same; what comes behind them is added where the run was imported. Nothing that is here is taken away but
/// tombstones that no known key vouches for, where the bytes come back.
pub(super) struct Merge {
    /// Number of entries that were here; `None` if the run was not.
    before: Option<u64>,
    key: i64,
    own: bool,
    restored: u64,
    run_id: RunId,
    sealed: bool,
}

/// The change made by an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A run that was not here.
    New,
    /// The rest of a run whose beginning had been imported.
    Extended {
        /// Number of entries that it had.
        from: u64,
    },
    /// Bytes that were missing of a run that had been imported.
    Restored {
        /// Number of blobs.
        blobs: u64,
    },
    /// No change: the store has all of it.
    Nothing,
}

/// The final row of a run.
pub(super) struct Ended {
    pub(super) created_unix_ms: u64,
    pub(super) entries: u64,
    pub(super) head: Digest,
    pub(super) leaf: Option<LogLeaf>,
}

/// The statements of a file's header.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    /// The document that the run is bound to.
    pub(super) contract: &'a str,
    pub(super) contract_hash: Digest,
    pub(super) run_id: &'a RunId,
    pub(super) kind: TranscriptKind,
}

/// An entry of a file, of any machine.
struct GivenEntry<'a> {
    action: &'a str,
    event: &'a str,
    hash: Digest,
    seq: u64,
    state: &'a str,
}

impl<'a> From<&'a EntryRecord<'_>> for GivenEntry<'a> {
    fn from(entry: &'a EntryRecord<'_>) -> Self {
        Self {
            action: entry.action,
            event: entry.event,
            hash: entry.hash,
            seq: entry.seq,
            state: entry.decoded_action.to.as_str(),
        }
    }
}

impl<'a> From<&'a MachineEntryRecord<'_>> for GivenEntry<'a> {
    fn from(entry: &'a MachineEntryRecord<'_>) -> Self {
        Self {
            action: entry.action,
            event: entry.event,
            hash: entry.hash,
            seq: entry.seq,
            state: &entry.head.to,
        }
    }
}

impl Merge {
    /// Finds the run of that name, or writes the row of one whose end is not known yet.
    pub(super) fn begin(
        conn: &Connection,
        path: &Path,
        given: Given<'_>,
    ) -> Result<Self, ImportError> {
        let Given {
            contract_hash,
            run_id,
            ..
        } = given;
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let mut select = conn
            .prepare_cached(
                "SELECT id, owner, contract_hash, head_seq, class FROM runs WHERE run_id = ?1",
            )
            .map_err(sql)?;
        let mut rows = select.query([run_id.as_str()]).map_err(sql)?;
        let run_id = run_id.clone();
        let Some(row) = rows.next().map_err(sql)? else {
            return Ok(Self {
                before: None,
                key: insert_run(conn, given).map_err(sql)?,
                own: false,
                restored: 0,
                run_id,
                sealed: false,
            });
        };
        let columns = Columns {
            path,
            row,
            table: "runs",
            of: &format!("run {run_id}"),
        };
        let here = columns.digest(2, "contract_hash")?;
        if here != contract_hash {
            return Err(ImportError::OtherContract {
                run_id,
                here,
                given: contract_hash,
            });
        }
        let head_seq = columns.integer(3, "head_seq")?;
        let before = u64::try_from(head_seq.saturating_add(1))
            .map_err(|_| columns.refuse("head_seq", "-1 or more", head_seq))?;
        Ok(Self {
            before: Some(before),
            key: columns.integer(0, "id")?,
            own: columns.text(1, "owner")? != IMPORTED,
            restored: 0,
            sealed: columns.text_or_null(4, "class")?.is_some(),
            run_id: run_id.clone(),
        })
    }

    /// Returns true if no run of that name was here.
    pub(super) const fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Takes the next line of the file.
    pub(super) fn take(
        &mut self,
        conn: &Connection,
        path: &Path,
        keys: &[PublicKey],
        record: &Record<'_>,
    ) -> Result<(), ImportError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        match record {
            Record::Entry(entry) => self.take_entry(conn, path, &GivenEntry::from(&**entry)),
            Record::MachineEntry(entry) => self.take_entry(conn, path, &GivenEntry::from(&**entry)),
            _ if self.own => Ok(()),
            Record::Header(_) => Ok(()),
            Record::Blob(blob) => Ok(self
                .add_blob(conn, keys, blob.hash, blob.bytes)
                .map_err(sql)?),
            Record::Tombstone(stone) => Ok(self.add_tombstone(conn, keys, stone).map_err(sql)?),
            Record::Checkpoint(checkpoint) => {
                Ok(given_checkpoints::hold(conn, checkpoint).map_err(sql)?)
            }
        }
    }

    /// Holds an entry against what is here, or adds it.
    fn take_entry(
        &self,
        conn: &Connection,
        path: &Path,
        entry: &GivenEntry<'_>,
    ) -> Result<(), ImportError> {
        if self.before.is_some_and(|before| entry.seq < before) {
            return self.compare(conn, path, entry);
        }
        if self.own {
            return Err(ImportError::OwnRun {
                run_id: self.run_id.clone(),
                here: self.before.unwrap_or(0),
                given: entry.seq.saturating_add(1),
            });
        }
        let added = self.add_entry(conn, entry);
        Ok(added.map_err(|fault| StoreError::from_sql(path, &fault))?)
    }

    /// Returns true if the file has entries that were not here.
    pub(super) fn is_extended(&self, entries: u64) -> bool {
        self.before.is_none_or(|before| before < entries)
    }

    pub(super) fn change(&self, entries: u64) -> Change {
        match self.before {
            None => Change::New,
            Some(from) if from < entries => Change::Extended { from },
            Some(_) if self.restored > 0 => Change::Restored {
                blobs: self.restored,
            },
            Some(_) => Change::Nothing,
        }
    }

    /// Takes the checkpoints of a file of so many entries, once the last of them has been seen.
    pub(super) fn settle_checkpoints(
        &self,
        conn: &Connection,
        keys: &[PublicKey],
        entries: u64,
        sealed: bool,
    ) -> rusqlite::Result<()> {
        let length = self.before.map_or(entries, |before| before.max(entries));
        let seal = (sealed || self.sealed).then_some(length);
        given_checkpoints::settle(conn, keys, self.key, seal)
    }

    /// Writes what is known once the whole file has been read.
    pub(super) fn finish(&self, conn: &Connection, ended: &Ended) -> rusqlite::Result<()> {
        let outcome = ended.leaf.as_ref().map(|leaf| leaf.outcome);
        conn.execute(
            "UPDATE runs SET head_seq = ?2, head_hash = ?3, class = ?4, code = ?5 WHERE id = ?1",
            params![
                self.key,
                stored(ended.entries).saturating_sub(1),
                ended.head.as_bytes(),
                outcome.map(SealedOutcome::class),
                outcome.map(SealedOutcome::code),
            ],
        )?;
        if self.before.is_none() {
            conn.execute(
                "UPDATE runs SET created_unix_ms = ?2 WHERE id = ?1",
                params![self.key, stored(ended.created_unix_ms)],
            )?;
        }
        match &ended.leaf {
            Some(leaf) if !self.sealed => run_log::append_leaf(conn, self.key, &leaf.text()),
            _ => Ok(()),
        }
    }

    /// Holds an entry against the one of that number that is here.
    fn compare(
        &self,
        conn: &Connection,
        path: &Path,
        entry: &GivenEntry<'_>,
    ) -> Result<(), ImportError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let mut select = conn
            .prepare_cached("SELECT hash, event, action FROM entries WHERE run = ?1 AND seq = ?2")
            .map_err(sql)?;
        let mut rows = select
            .query(params![self.key, stored(entry.seq)])
            .map_err(sql)?;
        let of = format!("run {}, entry {}", self.run_id, entry.seq);
        let corrupt = |what: &str| StoreError::Corrupt {
            path: path.to_owned(),
            reason: format!("entries, {of}: {what}"),
        };
        let row = rows.next().map_err(sql)?;
        let row = row.ok_or_else(|| corrupt("it is not there, and runs.head_seq counts it"))?;
        let columns = Columns {
            path,
            row,
            table: "entries",
            of: &of,
        };
        let here = columns.digest(0, "hash")?;
        if here != entry.hash {
            return Err(ImportError::OtherHistory {
                run_id: self.run_id.clone(),
                seq: entry.seq,
                here,
                given: entry.hash,
            });
        }
        if columns.entry_text(1, "event")? != entry.event
            || columns.entry_text(2, "action")? != entry.action
        {
            return Err(corrupt("event or action is not that of its hash").into());
        }
        Ok(())
    }

    fn add_entry(&self, conn: &Connection, entry: &GivenEntry<'_>) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO entries(run, seq, state, event, action, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            self.key,
            stored(entry.seq),
            entry.state,
            Kept::of(entry.event),
            Kept::of(entry.action),
            entry.hash.as_bytes(),
        ])?;
        Ok(())
    }

    /// Keeps bytes that the run has not; those that somebody who is known erased stay away.
    fn add_blob(
        &mut self,
        conn: &Connection,
        keys: &[PublicKey],
        hash: Digest,
        bytes: &[u8],
    ) -> rusqlite::Result<()> {
        if let Some(note) = self.tombstone_of(conn, hash)? {
            if is_vouched(keys, &note) {
                return Ok(());
            }
            conn.prepare_cached("DELETE FROM tombstones WHERE run = ?1 AND hash = ?2")?
                .execute(params![self.key, hash.as_bytes()])?;
        }
        insert_blob(conn, hash, bytes)?;
        let linked = conn
            .prepare_cached("INSERT OR IGNORE INTO run_blobs(run, hash) VALUES(?1, ?2)")?
            .execute(params![self.key, hash.as_bytes()])?;
        self.restored = self
            .restored
            .saturating_add(u64::try_from(linked).unwrap_or(0));
        Ok(())
    }

    /// Keeps a tombstone where the run has no bytes that it would speak of: an import takes nothing away.
    fn add_tombstone(
        &self,
        conn: &Connection,
        keys: &[PublicKey],
        record: &TombstoneRecord,
    ) -> rusqlite::Result<()> {
        let stone = record.note.parse().ok();
        let Some(stone) = stone.and_then(|note| Tombstone::read(&note)) else {
            return Ok(());
        };
        let hash = stone.blob.as_bytes();
        let here = conn
            .prepare_cached("SELECT 1 FROM run_blobs WHERE run = ?1 AND hash = ?2")?
            .exists(params![self.key, hash])?;
        let known = self.tombstone_of(conn, stone.blob)?;
        if here || known.is_some_and(|note| is_vouched(keys, &note)) {
            return Ok(());
        }
        conn.prepare_cached(
            "INSERT OR REPLACE INTO tombstones(run, hash, note) VALUES(?1, ?2, ?3)",
        )?
        .execute(params![self.key, hash, record.note])?;
        Ok(())
    }

    fn tombstone_of(&self, conn: &Connection, hash: Digest) -> rusqlite::Result<Option<String>> {
        conn.prepare_cached("SELECT note FROM tombstones WHERE run = ?1 AND hash = ?2")?
            .query_row(params![self.key, hash.as_bytes()], |row| row.get(0))
            .optional()
    }
}

/// Writes the row of a run whose end is not known yet.
fn insert_run(conn: &Connection, given: Given<'_>) -> rusqlite::Result<i64> {
    let kind = given.kind.as_str();
    let hash = given.contract_hash;
    conn.execute(
        "INSERT INTO runs(run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, kind) \
         VALUES(?1, ?2, 0, 0, ?3, -1, ?2, ?4)",
        params![given.run_id.as_str(), hash.as_bytes(), IMPORTED, kind],
    )?;
    let key = conn.last_insert_rowid();
    insert_contract(conn, key, given.contract)?;
    Ok(key)
}
