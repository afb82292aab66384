//! A batch of entries as SQL, in a transaction that the writer holds. Knows the fence; judges nothing that an entry says.

use std::path::{Path, PathBuf};

use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LogLeaf, SealedMachineEntry, SealedOutcome};
use rusqlite::{Connection, params};

use super::column::{Columns, stored};
use super::entry_text::Kept;
use super::run_log;
use crate::store::StoreError;
use crate::store::run::RunHandle;
use crate::store::storable::{Batch, NewCheckpoint, NewReceipt};

/// One batch of entries, ready for the writer.
pub(super) struct Append {
    checkpoint: Option<NewCheckpoint>,
    entries: Vec<EntryRow>,
    epoch: i64,
    head: Digest,
    key: i64,
    last: Digest,
    leaf: Option<LogLeaf>,
    /// The blobs of the batch.
    pub(super) links: Vec<Digest>,
    outcome: Option<SealedOutcome>,
    path: PathBuf,
    receipt: Option<NewReceipt>,
    run_id: RunId,
    seq: u64,
    /// The blobs of these whose bytes come with it.
    pub(super) small: Vec<(Digest, Vec<u8>)>,
}

/// A row of `entries`. It is made before the writer has it: to pack its texts takes longer than to insert it.
struct EntryRow {
    action: Kept<'static>,
    event: Kept<'static>,
    hash: Digest,
    seq: i64,
    state: String,
}

impl From<SealedMachineEntry> for EntryRow {
    fn from(entry: SealedMachineEntry) -> Self {
        Self {
            action: Kept::of(entry.action),
            event: Kept::of(entry.event),
            hash: entry.hash,
            seq: stored(entry.seq),
            state: entry.state,
        }
    }
}

impl Append {
    /// The batch as rows, without its blobs; `None` if it has no entries.
    pub(super) fn of(run: &RunHandle, batch: Batch, path: PathBuf) -> Option<Self> {
        let (head, length) = batch.end(run.length)?;
        Some(Self {
            checkpoint: batch.checkpoint,
            entries: batch.entries.into_iter().map(EntryRow::from).collect(),
            epoch: run.epoch,
            head,
            key: run.key,
            last: run.head,
            leaf: run.leaf(
                batch.outcome,
                length,
                head,
                batch.receipt.map(|new| new.hash),
            ),
            links: Vec::new(),
            outcome: batch.outcome,
            path,
            receipt: batch.receipt,
            run_id: run.run_id.clone(),
            seq: run.length,
            small: Vec::new(),
        })
    }

    /// Does the statements, inside the open transaction.
    pub(super) fn perform(self, conn: &Connection) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.perform_sql(conn)
            .map_err(|fault| StoreError::from_sql(&path, &fault))?
    }

    /// The compare-and-set on (epoch, head_seq, head_hash) and on the receipt before, then the rows.
    fn perform_sql(self, conn: &Connection) -> rusqlite::Result<Result<(), StoreError>> {
        if let Some(receipt) = &self.receipt
            && run_log::last_receipt(conn)?.map(|(hash, _)| hash)
                != receipt.previous.map(|hash| hash.to_string())
        {
            return Ok(Err(StoreError::ReceiptBehind {
                run_id: self.run_id,
            }));
        }
        let count = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        let moved = conn
            .prepare_cached(
                "UPDATE runs SET head_seq = ?4, head_hash = ?5, class = ?7, code = ?8 \
                 WHERE id = ?1 AND epoch = ?2 AND head_seq = ?3 AND head_hash = ?6",
            )?
            .execute(params![
                self.key,
                self.epoch,
                stored(self.seq).saturating_sub(1),
                stored(self.seq.saturating_add(count)).saturating_sub(1),
                self.head.as_bytes(),
                self.last.as_bytes(),
                self.outcome.map(SealedOutcome::class),
                self.outcome.map(SealedOutcome::code),
            ])?;
        if moved == 0 {
            return Ok(Err(StoreError::Fenced {
                run_id: self.run_id,
            }));
        }
        let mut insert = conn.prepare_cached(
            "INSERT INTO entries(run, seq, state, event, action, hash) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for entry in &self.entries {
            insert.execute(params![
                self.key,
                entry.seq,
                entry.state,
                entry.event,
                entry.action,
                entry.hash.as_bytes(),
            ])?;
        }
        for (hash, bytes) in &self.small {
            insert_blob(conn, *hash, bytes)?;
        }
        let mut link =
            conn.prepare_cached("INSERT OR IGNORE INTO run_blobs(run, hash) VALUES(?1, ?2)")?;
        for hash in &self.links {
            link.execute(params![self.key, hash.as_bytes()])?;
        }
        if let Some(NewCheckpoint { entries, note }) = &self.checkpoint {
            conn.prepare_cached("INSERT INTO checkpoints(run, entries, note) VALUES(?1, ?2, ?3)")?
                .execute(params![self.key, stored(*entries), note])?;
        }
        if let Some(leaf) = &self.leaf {
            run_log::append_leaf(conn, self.key, &leaf.text())?;
        }
        Ok(Ok(()))
    }
}

/// Blobs above this size are made durable before the entry that names them, in a separate transaction.
pub(super) const LARGE_BLOB_BYTES: usize = 64 << 10;

/// Keeps bytes under their hash, where they are not kept already.
pub(super) fn insert_blob(conn: &Connection, hash: Digest, bytes: &[u8]) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO blobs(hash, bytes) VALUES(?1, ?2)")?
        .execute(params![hash.as_bytes(), bytes])?;
    Ok(())
}

/// The bytes under that hash.
pub(super) fn blob(
    conn: &Connection,
    path: &Path,
    hash: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let mut select = conn
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")
        .map_err(sql)?;
    let mut rows = select.query([hash.as_bytes()]).map_err(sql)?;
    let Some(row) = rows.next().map_err(sql)? else {
        return Ok(None);
    };
    let columns = Columns {
        path,
        row,
        table: "blobs",
        of: &format!("blob {hash}"),
    };
    columns.bytes(0, "bytes").map(Some)
}
