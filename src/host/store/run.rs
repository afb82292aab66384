//! The right to append to a run, and which runs a list holds.

use monolith_core::kernel::AgentOutcome;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Chain, LogLeaf, SealedOutcome, TranscriptKind};

use super::StoreError;

/// The owner of a run that was not driven here.
pub(super) const IMPORTED: &str = "imported";

/// The right to append to a run, as long as no other process claims it.
#[derive(Debug)]
pub struct RunHandle {
    pub(super) contract_hash: Digest,
    pub(super) epoch: i64,
    pub(super) head: Digest,
    pub(super) key: i64,
    pub(super) length: u64,
    pub(super) run_id: RunId,
}

impl RunHandle {
    /// Returns the number of claims of the run, its creation included.
    #[must_use]
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }

    /// The name of the run.
    #[must_use]
    pub const fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// Moves the handle to what was appended.
    pub(super) const fn move_to(&mut self, end: Option<(Digest, u64)>) {
        if let Some((head, length)) = end {
            self.head = head;
            self.length = length;
        }
    }

    /// The leaf of the run in the log, where it ends so.
    pub(super) fn leaf(
        &self,
        outcome: Option<SealedOutcome>,
        entries: u64,
        head: Digest,
        receipt: Option<Digest>,
    ) -> Option<LogLeaf> {
        outcome.map(|outcome| LogLeaf {
            contract_hash: self.contract_hash,
            entries,
            head,
            outcome,
            receipt,
            run_id: self.run_id.clone(),
        })
    }

    /// The chain at the head that is stored: what the next entry must be sealed with.
    #[must_use]
    pub const fn chain(&self) -> Chain {
        Chain::resumed(self.contract_hash, self.head, self.length)
    }
}

/// The filter of a run list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunFilter {
    /// All of them.
    #[default]
    All,
    /// Runs without a seal.
    Open,
    /// Runs with a seal.
    Sealed,
    /// Runs that ended in this class.
    Class(AgentOutcome),
    /// Runs of one machine.
    Kind(TranscriptKind),
}

/// The owner of a run that this process drives.
pub(super) fn this_process() -> String {
    format!("process {}", std::process::id())
}

/// The index row of a run in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The name of the run.
    pub run_id: RunId,
    /// The machine that it is of: the contract of a workflow is its definition, that of a work item the item with its contract.
    pub kind: TranscriptKind,
    /// The hash of its contract.
    pub contract_hash: Digest,
    /// When it was created, in milliseconds since 1970-01-01 UTC; outside the hash.
    pub created_unix_ms: u64,
    /// Number of claims, its creation included; outside the hash.
    pub epoch: i64,
    /// Who claimed it last; outside the hash.
    pub owner: String,
    /// Number of entries.
    pub length: u64,
    /// The hash of the last entry; `H_0` where there is none.
    pub head: Digest,
    /// Class and code as they are written in files, once the run is sealed.
    pub outcome: Option<(String, String)>,
}

impl RunRow {
    /// Returns true if it is a workflow.
    #[must_use]
    pub fn is_workflow(&self) -> bool {
        self.kind == TranscriptKind::Workflow
    }

    /// Returns true if the run was not driven here: it came as a file.
    #[must_use]
    pub fn is_imported(&self) -> bool {
        self.owner == IMPORTED
    }
}

/// A row of the index that cannot be read.
#[derive(Debug)]
pub struct DamagedRow {
    /// The name of the run as stored, or the number of the row if it has none.
    pub run: String,
    /// The error in it.
    pub fault: StoreError,
}
