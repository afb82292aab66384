//! A batch of entries on its way into a run. Judges nothing that an entry says.

use monolith_core::message::Digest;
use monolith_core::transcript::{SealedOutcome, SealedWorkflowEntry};

/// Entries that become durable together with the bytes that they name, or not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// The bytes that the entries name.
    pub(super) blobs: Vec<NewBlob>,
    /// A checkpoint of the entries so far.
    pub(super) checkpoint: Option<NewCheckpoint>,
    /// The entries, of a run or of a workflow, numbered without a gap from the head of the run on.
    pub(super) entries: Vec<SealedWorkflowEntry>,
    /// The outcome, where the last entry is the seal.
    pub(super) outcome: Option<SealedOutcome>,
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

/// A signed checkpoint that becomes durable with the entries that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewCheckpoint {
    /// Number of entries that it covers.
    pub entries: u64,
    /// The text of its note.
    pub note: String,
}
