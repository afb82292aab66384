//! One run as it stood at one moment: its entries, blobs, checkpoints and tombstones.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::database::RunRows;
use super::{RunRow, StoreError};
use monolith_core::agent::WorkflowEntry;
use monolith_core::contract::{ExecutionContract, WorkflowDefinition};
use monolith_core::kernel::State;
use monolith_core::message::{Digest, amount};
use monolith_core::transcript::{Flaw, SealedEntry, SealedMachineEntry, TranscriptKind};

/// One run as it stood when it was opened, whatever is appended meanwhile. Iterates its entries in order.
#[derive(Debug)]
pub struct RunReader<'r> {
    failed: bool,
    next: u64,
    page: VecDeque<SealedMachineEntry>,
    path: PathBuf,
    rows: Box<dyn RunRows + 'r>,
}

impl<'r> RunReader<'r> {
    /// The run of those rows, in the store of that name.
    pub(super) fn over(rows: Box<dyn RunRows + 'r>, path: PathBuf) -> Self {
        Self {
            failed: false,
            next: 0,
            page: VecDeque::new(),
            path,
            rows,
        }
    }
}

impl RunReader<'_> {
    /// Returns the run's row in the index.
    #[must_use]
    pub fn row(&self) -> &RunRow {
        self.rows.row()
    }

    /// The same run, iterated from that entry on.
    #[must_use]
    pub fn starting_at(mut self, seq: u64) -> Self {
        self.page.clear();
        self.next = seq;
        self
    }

    /// The document of the contract as stored.
    #[must_use]
    pub fn contract_text(&self) -> &str {
        self.rows.document()
    }

    /// The contract, read from its document. The hash in it is taken as it stands.
    pub fn contract(&self) -> Result<ExecutionContract, StoreError> {
        self.expect_kind(TranscriptKind::Run)?;
        ExecutionContract::decode(self.contract_text())
            .map_err(|fault| self.refuse("contracts", format_args!("document: {fault}")))
    }

    /// The bytes under that hash, as they are stored.
    pub fn blob(&self, hash: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.rows.blob(hash)
    }

    /// The hashes of the run's blobs, sorted.
    pub fn blob_hashes(&self) -> Result<Vec<Digest>, StoreError> {
        self.rows.blob_hashes()
    }

    /// The notes of the run's checkpoints, in the order of their numbers of entries.
    pub fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        self.rows.checkpoints()
    }

    /// The notes of the run's tombstones, in the order of the hashes.
    pub fn tombstones(&self) -> Result<Vec<String>, StoreError> {
        self.rows.tombstones()
    }

    pub(super) fn refuse(&self, table: &str, what: impl std::fmt::Display) -> StoreError {
        StoreError::Corrupt {
            path: self.path.clone(),
            reason: format!("{table}, run {}: {what}", self.row().run_id),
        }
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        let (first, mut page) = (self.next, VecDeque::new());
        let mut next = first;
        self.rows.page(first, &mut |entry| {
            if entry.seq != next {
                let what = format_args!("entry {next} is not there, entry {} is", entry.seq);
                return Err(self.refuse("entries", what));
            }
            next = next.saturating_add(1);
            page.push_back(entry);
            Ok(())
        })?;
        if next == first && next < self.row().length {
            let stated = amount(self.row().length, "entry");
            let what = format_args!("entry {next} is not there, and runs.head_seq states {stated}");
            return Err(self.refuse("entries", what));
        }
        (self.next, self.page) = (next, page);
        Ok(())
    }
}

impl Iterator for RunReader<'_> {
    type Item = Result<SealedEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(fault) = self.expect_kind(TranscriptKind::Run)
            && !std::mem::replace(&mut self.failed, true)
        {
            return Some(Err(fault));
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
    /// The next entry of a workflow or of a work item.
    pub fn next_of_machine(&mut self) -> Option<Result<SealedMachineEntry, StoreError>> {
        if self.row().kind == TranscriptKind::Run && !std::mem::replace(&mut self.failed, true) {
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
        while let Some(entry) = self.next_of_machine() {
            let entry = entry?;
            let read = WorkflowEntry::decode(&entry).map_err(|flaw| flawed(entry.seq, flaw))?;
            take(read)?;
        }
        Ok(())
    }

    /// The definition of a workflow.
    pub fn definition(&self) -> Result<WorkflowDefinition, StoreError> {
        self.expect_kind(TranscriptKind::Workflow)?;
        WorkflowDefinition::decode(self.contract_text())
            .map_err(|fault| self.refuse("contracts", format_args!("document: {fault}")))
    }

    /// Refuses a row of another machine.
    pub(super) fn expect_kind(&self, asked: TranscriptKind) -> Result<(), StoreError> {
        let kind = self.row().kind;
        if kind == asked {
            return Ok(());
        }
        Err(StoreError::OtherKind {
            asked,
            kind,
            run_id: self.row().run_id.clone(),
        })
    }

    fn next_stored(&mut self) -> Option<Result<SealedMachineEntry, StoreError>> {
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
