//! The records that can be appended to a chain in the store: entries of runs and of other machines. Knows which of them is the seal.

use monolith_core::kernel::{EntryKind, State};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{SealedEntry, SealedMachineEntry, SealedOutcome};

use super::StoreError;

/// A sealed entry of any machine.
pub(crate) trait Storable: Sized {
    /// Its number.
    fn seq(&self) -> u64;

    /// Returns the outcome of the run, if this is the seal.
    ///
    /// # Errors
    /// Why the entry can be none of the kind that it says it is.
    fn sealed(&self) -> Result<Option<SealedOutcome>, String>;

    /// Its texts as they are stored.
    fn stored(self) -> SealedMachineEntry;
}

impl Storable for SealedEntry {
    fn seq(&self) -> u64 {
        self.seq
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

    fn stored(self) -> SealedMachineEntry {
        SealedMachineEntry {
            seq: self.seq,
            state: self.state.as_str().to_owned(),
            event: self.event,
            action: self.action,
            hash: self.hash,
        }
    }
}

impl Storable for SealedMachineEntry {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn sealed(&self) -> Result<Option<SealedOutcome>, String> {
        self.sealed_outcome()
    }

    fn stored(self) -> SealedMachineEntry {
        self
    }
}

/// The batch of these entries, which come behind `length` others.
///
/// # Errors
/// [`StoreError::OutOfOrder`] where they do not, [`StoreError::BadEntry`] where the last one is no seal and says that it is.
pub(super) fn batch<T: Storable>(
    (run_id, length): (&RunId, u64),
    entries: Vec<T>,
    blobs: Vec<NewBlob>,
    checkpoint: Option<NewCheckpoint>,
) -> Result<Batch, StoreError> {
    for (entry, expected) in entries.iter().zip(length..) {
        if entry.seq() != expected {
            return Err(StoreError::OutOfOrder {
                run_id: run_id.clone(),
                expected,
                got: entry.seq(),
            });
        }
    }
    let sealed = entries.last().map(|last| {
        last.sealed().map_err(|reason| StoreError::BadEntry {
            run_id: run_id.clone(),
            seq: last.seq(),
            reason,
        })
    });
    Ok(Batch {
        blobs,
        checkpoint,
        outcome: sealed.transpose()?.flatten(),
        receipt: None,
        entries: entries.into_iter().map(Storable::stored).collect(),
    })
}

/// Entries that become durable together with the bytes that they name, or not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// The bytes that the entries name.
    pub(super) blobs: Vec<NewBlob>,
    /// A checkpoint of the entries so far.
    pub(super) checkpoint: Option<NewCheckpoint>,
    /// The entries, numbered without a gap from the head of the run on.
    pub(super) entries: Vec<SealedMachineEntry>,
    /// The outcome, where the last entry is the seal.
    pub(super) outcome: Option<SealedOutcome>,
    /// The receipt of a work item, where the last entry is its seal. Its bytes are one of the blobs.
    pub(super) receipt: Option<NewReceipt>,
}

impl Batch {
    /// The head and the length of a run of `length` entries after this batch; `None` if it has no entries.
    pub(super) fn end(&self, length: u64) -> Option<(Digest, u64)> {
        let count = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        let last = self.entries.last()?;
        Some((last.hash, length.saturating_add(count)))
    }
}

/// A blob that an entry of the batch names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewBlob {
    /// Its bytes, which may or may not be in the store yet.
    Bytes(Vec<u8>),
    /// Its hash: the bytes have been put already.
    Stored(Digest),
}

/// The receipt of a work item that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewReceipt {
    /// The hash of its bytes.
    pub(super) hash: Digest,
    /// The hash of the last receipt in the log, as this one states it.
    pub(super) previous: Option<Digest>,
}

/// A signed checkpoint that becomes durable with the entries that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewCheckpoint {
    /// Number of entries that it covers.
    pub entries: u64,
    /// The text of its note.
    pub note: String,
}
