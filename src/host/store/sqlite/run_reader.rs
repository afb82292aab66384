//! One run as it stood at one moment: its entries, blobs, checkpoints and tombstones.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, params};

use super::blob::blob;
use super::column::Columns;
use super::run_row::{ROW, run_row};
use super::schema::refusal;
use super::{RunRow, StoreError};
use monolith_core::agent::WorkflowEntry;
use monolith_core::contract::{ExecutionContract, WorkflowDefinition};
use monolith_core::kernel::State;
use monolith_core::message::{Digest, RunId, amount};
use monolith_core::transcript::{Flaw, SealedEntry, SealedWorkflowEntry};

/// How many entries are held at a time while a run is read.
const PAGE: i64 = 32;

/// One run as it stood when it was opened, whatever is appended meanwhile. Iterates its entries in order.
#[derive(Debug)]
pub struct RunReader<'r> {
    contract: String,
    failed: bool,
    key: i64,
    next: i64,
    page: VecDeque<SealedWorkflowEntry>,
    path: &'r Path,
    row: RunRow,
    tx: Transaction<'r>,
}

impl<'r> RunReader<'r> {
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
            failed: false,
            key,
            next: 0,
            page: VecDeque::new(),
            path,
            row,
            tx,
        })
    }
}

impl RunReader<'_> {
    /// What the index says of the run.
    #[must_use]
    pub const fn row(&self) -> &RunRow {
        &self.row
    }

    /// The same run, iterated from that entry on.
    #[must_use]
    pub fn starting_at(mut self, seq: u64) -> Self {
        self.page.clear();
        self.next = i64::try_from(seq).unwrap_or(i64::MAX);
        self
    }

    /// The document of the contract as stored.
    #[must_use]
    pub fn contract_text(&self) -> &str {
        &self.contract
    }

    /// The contract, read from its document. The hash in it is taken as it stands.
    pub fn contract(&self) -> Result<ExecutionContract, StoreError> {
        if self.row.workflow {
            return Err(self.no_run());
        }
        ExecutionContract::decode(&self.contract)
            .map_err(|fault| self.refuse("contracts", format_args!("document: {fault}")))
    }

    /// The bytes under that hash, as they are stored.
    pub fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        blob(&self.tx, self.path, hash)
    }

    /// The hashes of the run's blobs, sorted.
    pub fn blob_hashes(&self) -> Result<Vec<Digest>, StoreError> {
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

    /// The notes of the run's checkpoints, in the order of their numbers of entries.
    pub fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let select = "SELECT note FROM checkpoints WHERE run = ?1 ORDER BY entries";
        self.notes("checkpoints", select)
    }

    /// The notes of the run's tombstones, in the order of the hashes.
    pub fn tombstones(&self) -> Result<Vec<String>, StoreError> {
        let select = "SELECT note FROM tombstones WHERE run = ?1 ORDER BY hash";
        self.notes("tombstones", select)
    }

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

    fn refuse(&self, table: &str, what: impl std::fmt::Display) -> StoreError {
        StoreError::Corrupt {
            path: self.path.to_path_buf(),
            reason: format!("{table}, {}: {what}", self.of()),
        }
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        let sql = |fault: rusqlite::Error| StoreError::from_sql(self.path, &fault);
        let mut select = self
            .tx
            .prepare_cached(
                "SELECT seq, state, event, action, hash FROM entries \
                 WHERE run = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3",
            )
            .map_err(sql)?;
        let mut rows = select
            .query(params![self.key, self.next, PAGE])
            .map_err(sql)?;
        let mut found = false;
        while let Some(row) = rows.next().map_err(sql)? {
            found = true;
            let entry = self.stored_entry(row)?;
            let next = u64::try_from(self.next).unwrap_or(0);
            if entry.seq != next {
                let what = format_args!("entry {next} is not there, entry {} is", entry.seq);
                return Err(self.refuse("entries", what));
            }
            self.next = self.next.saturating_add(1);
            self.page.push_back(entry);
        }
        let next = u64::try_from(self.next).unwrap_or(0);
        if !found && next < self.row.length {
            let stated = amount(self.row.length, "entry");
            let what = format_args!("entry {next} is not there, and runs.head_seq states {stated}");
            return Err(self.refuse("entries", what));
        }
        Ok(())
    }

    fn stored_entry(&self, row: &Row<'_>) -> Result<SealedWorkflowEntry, StoreError> {
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
        let known = self.row.workflow || State::ALL.into_iter().any(|s| s.as_str() == state);
        if !known {
            return Err(columns.refuse("state", "a state", format_args!("{state:?}")));
        }
        Ok(SealedWorkflowEntry {
            seq: columns.count(0, "seq")?,
            state,
            event: columns.entry_text(2, "event")?,
            action: columns.entry_text(3, "action")?,
            hash: columns.digest(4, "hash")?,
        })
    }
}

impl Iterator for RunReader<'_> {
    type Item = Result<SealedEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.row.workflow && !std::mem::replace(&mut self.failed, true) {
            return Some(Err(self.no_run()));
        }
        Some(self.next_stored()?.map(|stored| {
            let state = State::ALL.into_iter().find(|s| s.as_str() == stored.state);
            SealedEntry {
                seq: stored.seq,
                // Another one was refused where it was read.
                state: state.unwrap_or(State::Terminate),
                event: stored.event,
                action: stored.action,
                hash: stored.hash,
            }
        }))
    }
}

impl RunReader<'_> {
    /// The next entry of a workflow.
    pub fn next_of_workflow(&mut self) -> Option<Result<SealedWorkflowEntry, StoreError>> {
        if !self.row.workflow && !std::mem::replace(&mut self.failed, true) {
            return Some(Err(
                self.refuse("runs", "kind: it is a run, and no workflow")
            ));
        }
        self.next_stored()
    }

    /// Hands on each entry of a workflow in order, read back; `flawed` is the fault of one that does not read.
    ///
    /// # Errors
    /// The faults of the file, what `flawed` gives, and what `take` says.
    pub fn each_of_workflow<E: From<StoreError>>(
        &mut self,
        flawed: impl Fn(u64, Flaw) -> E,
        mut take: impl FnMut(WorkflowEntry) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(entry) = self.next_of_workflow() {
            let entry = entry?;
            let read = WorkflowEntry::decode(&entry).map_err(|flaw| flawed(entry.seq, flaw))?;
            take(read)?;
        }
        Ok(())
    }

    /// The definition of a workflow.
    pub fn definition(&self) -> Result<WorkflowDefinition, StoreError> {
        WorkflowDefinition::decode(&self.contract)
            .map_err(|fault| self.refuse("contracts", format_args!("document: {fault}")))
    }

    fn no_run(&self) -> StoreError {
        StoreError::IsWorkflow {
            run_id: self.row.run_id.clone(),
        }
    }

    fn next_stored(&mut self) -> Option<Result<SealedWorkflowEntry, StoreError>> {
        if self.failed {
            return None;
        }
        if self.page.is_empty()
            && let Err(fault) = self.fill()
        {
            self.failed = true;
            return Some(Err(fault));
        }
        self.page.pop_front().map(Ok)
    }
}
