//! The rows of one run: its entries, blobs, checkpoints and tombstones.

use std::path::Path;

use monolith_core::kernel::State;
use monolith_core::message::{Digest, MAX_EXACT, RunId};
use monolith_core::transcript::{SealedMachineEntry, TranscriptKind};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, params};

use super::append::blob;
use super::column::{Columns, stored};
use super::schema::refusal;
use crate::store::database::RunRows;
use crate::store::{DamagedRow, RunRow, StoreError};

/// Number of entries that are held at a time while a run is read.
const PAGE: i64 = 32;

/// One run as it stood when it was opened.
#[derive(Debug)]
pub(super) struct SqliteRun<'r> {
    contract: String,
    key: i64,
    path: &'r Path,
    row: RunRow,
    tx: Transaction<'r>,
}

impl<'r> SqliteRun<'r> {
    /// Opens a run as it stands now.
    pub(super) fn open(
        conn: &'r mut Connection,
        path: &'r Path,
        run_id: &RunId,
    ) -> Result<Self, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
        let tx = conn.transaction().map_err(sql)?;
        let name = run_id.as_str();
        let of = format!("run {run_id}");
        let none = || StoreError::NoSuchRun {
            asked: name.to_owned(),
        };
        let (key, contract) = {
            let mut select = tx
                .prepare("SELECT id, document FROM runs LEFT JOIN contracts ON run = id WHERE run_id = ?1")
                .map_err(|fault| refusal(&tx, path, &fault))?;
            let mut rows = select.query([name]).map_err(sql)?;
            let row = rows.next().map_err(sql)?.ok_or_else(none)?;
            let columns = Columns {
                path,
                row,
                table: "contracts",
                of: &of,
            };
            (columns.integer(0, "id")?, columns.text(1, "document")?)
        };
        let row = {
            let mut select = tx.prepare(&format!("{ROW} WHERE id = ?1")).map_err(sql)?;
            let mut rows = select.query([key]).map_err(sql)?;
            run_row(rows.next().map_err(sql)?.ok_or_else(none)?, path)?
        };
        Ok(Self {
            contract,
            key,
            path,
            row,
            tx,
        })
    }
}

impl SqliteRun<'_> {
    fn notes(&self, table: &'static str, select: &str) -> Result<Vec<String>, StoreError> {
        let sql = |fault: rusqlite::Error| refusal(&self.tx, self.path, &fault);
        let mut select = self.tx.prepare_cached(select).map_err(sql)?;
        let mut rows = select.query([self.key]).map_err(sql)?;
        let (mut notes, of) = (Vec::new(), self.of());
        while let Some(row) = rows.next().map_err(sql)? {
            let columns = Columns {
                path: self.path,
                row,
                table,
                of: &of,
            };
            notes.push(columns.text(0, "note")?);
        }
        Ok(notes)
    }

    fn of(&self) -> String {
        format!("run {}", self.row.run_id)
    }

    fn stored_entry(&self, row: &Row<'_>) -> Result<SealedMachineEntry, StoreError> {
        let of = match row.get_ref(0) {
            Ok(ValueRef::Integer(seq)) => format!("{}, entry {seq}", self.of()),
            _ => self.of(),
        };
        let columns = Columns {
            path: self.path,
            row,
            table: "entries",
            of: &of,
        };
        let state = columns.text(1, "state")?;
        let is_run = self.row.kind == TranscriptKind::Run;
        if is_run && State::ALL.into_iter().all(|known| known.as_str() != state) {
            return Err(columns.refuse("state", "a state", format_args!("{state:?}")));
        }
        Ok(SealedMachineEntry {
            seq: columns.count(0, "seq")?,
            state,
            event: columns.entry_text(2, "event")?,
            action: columns.entry_text(3, "action")?,
            hash: columns.digest(4, "hash")?,
        })
    }
}

impl RunRows for SqliteRun<'_> {
    fn row(&self) -> &RunRow {
        &self.row
    }

    fn document(&self) -> &str {
        &self.contract
    }

    fn page(
        &self,
        from: u64,
        take: &mut dyn FnMut(SealedMachineEntry) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(self.path, &fault);
        let mut select = self
            .tx
            .prepare_cached(
                "SELECT seq, state, event, action, hash FROM entries \
                 WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(sql)?;
        let mut rows = select
            .query(params![self.key, stored(from), PAGE])
            .map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            take(self.stored_entry(row)?)?;
        }
        Ok(())
    }

    fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        blob(&self.tx, self.path, hash)
    }

    fn blob_hashes(&self) -> Result<Vec<Digest>, StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(self.path, &fault);
        let mut select = self
            .tx
            .prepare_cached("SELECT hash FROM run_blobs WHERE run = ?1 ORDER BY hash")
            .map_err(sql)?;
        let mut rows = select.query([self.key]).map_err(sql)?;
        let mut found = Vec::new();
        let of = self.of();
        while let Some(row) = rows.next().map_err(sql)? {
            let columns = Columns {
                path: self.path,
                row,
                table: "run_blobs",
                of: &of,
            };
            found.push(columns.digest(0, "hash")?);
        }
        Ok(found)
    }

    fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let select = "SELECT note FROM checkpoints WHERE run = ?1 ORDER BY entries";
        self.notes("checkpoints", select)
    }

    fn tombstones(&self) -> Result<Vec<String>, StoreError> {
        let select = "SELECT note FROM tombstones WHERE run = ?1 ORDER BY hash";
        self.notes("tombstones", select)
    }
}

/// The rule for the kind of a row.
pub(super) const KINDS: &str = "run, workflow or work";

/// The columns that [`run_row`] reads.
pub(super) const ROW: &str = "SELECT run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, class, code, id, kind \
                   FROM runs";

/// The row that a [`ROW`] query stands at.
pub(super) fn run_row(row: &Row<'_>, path: &Path) -> Result<RunRow, StoreError> {
    let of = match (row.get_ref(0), row.get_ref(9)) {
        (Ok(ValueRef::Text(name)), _) => format!("run {:?}", String::from_utf8_lossy(name)),
        (_, Ok(ValueRef::Integer(key))) => format!("id {key}"),
        _ => "a row without a name".to_owned(),
    };
    let columns = Columns {
        path,
        row,
        table: "runs",
        of: &of,
    };
    let outcome = match (
        columns.text_or_null(7, "class")?,
        columns.text_or_null(8, "code")?,
    ) {
        (Some(class), Some(code)) => Some((class, code)),
        (None, None) => None,
        (Some(_), None) => return Err(columns.refuse("code", "a code beside the class", "null")),
        (None, Some(_)) => return Err(columns.refuse("class", "a class beside the code", "null")),
    };
    let created_unix_ms = columns.count(2, "created_unix_ms")?;
    if created_unix_ms > MAX_EXACT {
        let expected = format_args!("at most {MAX_EXACT}");
        return Err(columns.refuse("created_unix_ms", expected, created_unix_ms));
    }
    let head_seq = columns.integer(5, "head_seq")?;
    let length = u64::try_from(head_seq.saturating_add(1));
    let run_id = RunId::try_from(columns.text(0, "run_id")?);
    let kind = columns.text(10, "kind")?;
    let known = TranscriptKind::parse(&kind);
    Ok(RunRow {
        kind: known.ok_or_else(|| columns.refuse("kind", KINDS, format_args!("{kind:?}")))?,
        run_id: run_id.map_err(|fault| columns.refuse("run_id", "the name of a run", fault))?,
        contract_hash: columns.digest(1, "contract_hash")?,
        created_unix_ms,
        epoch: columns.integer(3, "epoch")?,
        owner: columns.text(4, "owner")?,
        length: length.map_err(|_| columns.refuse("head_seq", "-1 or more", head_seq))?,
        head: columns.digest(6, "head_hash")?,
        outcome,
    })
}

pub(super) fn damaged(row: &Row<'_>, fault: StoreError) -> DamagedRow {
    let name = row.get::<_, String>(0);
    let number = || row.get::<_, i64>(9).unwrap_or_default();
    let run = name.unwrap_or_else(|_| format!("in row {}", number()));
    DamagedRow { run, fault }
}
