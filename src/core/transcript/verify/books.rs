//! What a verification remembers of the header, the entries and the blobs. Judges nothing.

use std::collections::BTreeMap;

use crate::kernel::State;
use crate::message::{Digest, RunId};
use crate::transcript::{Chain, IndexClaims, Location, Presence, SealedOutcome};

/// The header, and the chain from there on.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) chain: Chain,
    pub(super) claims: Option<IndexClaims>,
    pub(super) contract_hash: Digest,
    /// The first rule of a contract's structure that this one breaks.
    pub(super) faulty: Option<String>,
    pub(super) location: Location,
    pub(super) run_id: RunId,
    /// Whether it is that of a workflow.
    pub(super) workflow: bool,
}

/// What is known so far of the entries.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryBook {
    pub(super) ended: bool,
    pub(super) last_state: Option<State>,
    pub(super) last_step: u32,
    pub(super) next_seq: u64,
    /// The outcome that the last entry states.
    pub(super) outcome: Option<SealedOutcome>,
    pub(super) location: Option<Location>,
    /// How many answers had a secret taken out, so that their bytes were not kept.
    pub(super) redacted: usize,
    pub(super) sealed: bool,
    /// When the run began, as entry 0 states.
    pub(super) started_unix_ms: Option<u64>,
}

/// What blobs were named and seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct BlobBook {
    pub(super) last: Option<Digest>,
    pub(super) present: u64,
    pub(super) referenced: BTreeMap<Digest, ReferencedBlob>,
}

/// A blob that was named and has not been seen yet, has been, or was erased.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferencedBlob {
    pub(super) erased: bool,
    pub(super) field: &'static str,
    pub(super) location: Location,
    pub(super) seen: bool,
    pub(super) seq: u64,
    pub(super) presence: Presence,
}
