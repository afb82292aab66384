//! What can be appended to a chain in the store: entries of runs and of workflows. Knows which of them is the seal.

use super::StoreError;
use super::append::EntryRow;
use super::entry_text::Kept;
use super::run::stored;
use monolith_core::kernel::{EntryKind, State};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{SealedEntry, SealedOutcome, SealedWorkflowEntry, WorkflowHead};

/// A sealed entry, of a run or of a workflow.
pub(crate) trait Storable: Sized {
    /// Its number.
    fn seq(&self) -> u64;

    /// The head of the chain after it.
    fn hash(&self) -> Digest;

    /// What the run has ended with, where it is the seal.
    ///
    /// # Errors
    /// Why the entry can be none of the kind that it says it is.
    fn sealed(&self) -> Result<Option<SealedOutcome>, String>;

    /// Its row.
    fn row(self) -> EntryRow;
}

impl Storable for SealedEntry {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn hash(&self) -> Digest {
        self.hash
    }

    fn sealed(&self) -> Result<Option<SealedOutcome>, String> {
        if self.state != State::Terminate {
            return Ok(None);
        }
        let action = self.decode_action().map_err(|flaw| flaw.to_string())?;
        match (action.kind, action.outcome) {
            (EntryKind::Seal, Some(outcome)) => Ok(Some(outcome.into())),
            (EntryKind::Seal, None) => Err("a seal without an outcome".to_owned()),
            _ => Err("an end without its seal".to_owned()),
        }
    }

    fn row(self) -> EntryRow {
        EntryRow {
            action: Kept::of(self.action),
            event: Kept::of(self.event),
            hash: self.hash,
            seq: stored(self.seq),
            state: self.state.as_str().to_owned(),
        }
    }
}

impl Storable for SealedWorkflowEntry {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn hash(&self) -> Digest {
        self.hash
    }

    fn sealed(&self) -> Result<Option<SealedOutcome>, String> {
        let head: WorkflowHead =
            serde_json::from_str(&self.action).map_err(|fault| fault.to_string())?;
        match (head.to.as_str(), head.kind.as_str(), head.outcome) {
            ("TERMINATE", "seal", Some(outcome)) => Ok(Some(outcome.into())),
            ("TERMINATE", "seal", None) => Err("a seal without an outcome".to_owned()),
            ("TERMINATE", ..) => Err("an end without its seal".to_owned()),
            _ => Ok(None),
        }
    }

    fn row(self) -> EntryRow {
        EntryRow {
            action: Kept::of(self.action),
            event: Kept::of(self.event),
            hash: self.hash,
            seq: stored(self.seq),
            state: self.state,
        }
    }
}

/// The outcome that a batch seals, where its last entry is the seal.
pub(super) fn sealed_outcome<T: Storable>(
    run_id: &RunId,
    entries: &[T],
) -> Result<Option<SealedOutcome>, StoreError> {
    let Some(last) = entries.last() else {
        return Ok(None);
    };
    last.sealed().map_err(|reason| StoreError::BadEntry {
        run_id: run_id.clone(),
        seq: last.seq(),
        reason,
    })
}
