//! The transcript: what a run leaves behind, and how anyone can tell that it was not changed.
//!
//! Knows the sealed entry, the hash chain over entries, signed checkpoints of it, tombstones of erased blobs, the Merkle log of sealed
//! runs, signed envelopes, the file format `monolith-transcript/1` and its verification (semantics §9; docs/audit/transcript-format.md describes the bytes for people who write their own
//! verifier). It does not know where transcripts and keys are kept, how lines are read from a disk, or whether the machine decided
//! rightly: that is `replay`'s question.
//!
//! ```text
//! EntryDraft ─▶ Chain::seal ─▶ SealedEntry ─▶ store row ─┐
//!                                   └──▶ file line ──────┴─▶ Record ─▶ Verifier ─▶ VerifyReport
//! Chain ─▶ Checkpoint ─▶ SecretKey::sign ─▶ Note ────────────┘          ▲
//! sealed run ─▶ LogLeaf ─▶ TreeHead ─▶ Note        keys, pins ─▶ Trust ─┘
//! ```

mod answer;
mod blobs;
mod canonical;
mod chain;
mod checkpoint;
mod deletion;
#[cfg(test)]
mod document;
mod dsse;
mod file;
mod flaw;
#[cfg(test)]
mod jcs_tests;
mod key_ring;
#[cfg(test)]
mod key_rows_tests;
mod kind;
mod log_proof;
mod machine_entry;
mod merkle;
mod note;
mod public_key;
mod record;
mod report;
mod run_log;
#[cfg(test)]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "the file is a module of the crate testkit, too"
)]
#[path = "../../testkit/sample.rs"]
pub(crate) mod sample;
#[cfg(test)]
mod sample_actions;
#[cfg(test)]
mod sample_values;
mod secret_key;
#[cfg(test)]
mod tests;
mod tombstone;
mod trust;
mod verify;

pub(crate) use blobs::is_redacted;
pub use blobs::{Presence, blob_references};
pub use chain::{Chain, Link, SealedEntry};
pub use checkpoint::{Checkpoint, EarlierCheckpoints, SealedOutcome};
pub use deletion::{
    DeletedLeaf, DeletedParent, Deletion, LogDeletion, LogDeletions, SignedDeletion,
};
pub use dsse::{Envelope, EnvelopeError};
pub use file::{LineError, LineReader, checkpoint_line, tombstone_line};
pub use file::{MAX_LINE_BYTES, TRANSCRIPT_FORMAT, machine_entry_line};
pub use file::{blob_line, entry_line, header_line};
pub use flaw::{Flaw, FlawKind};
pub use key_ring::KeyRing;
pub use kind::TranscriptKind;
pub use log_proof::{ConsistencyProof, InclusionProof, LogProof, ProofReport};
pub use machine_entry::{MachineHead, SealedMachineEntry};
pub use merkle::{TreeHash, consistency_proof, inclusion_proof, leaf_hash, tree_root};
pub(crate) use merkle::{verify_consistency, verify_inclusion};
pub use note::Signed;
pub use note::{Note, NoteError};
pub use public_key::{KeyError, PublicKey};
pub use record::Record;
pub use record::{
    BlobRecord, CheckpointRecord, EntryRecord, HeaderRecord, IndexClaims, MachineEntryRecord,
    TombstoneRecord,
};
pub use report::Location;
pub use report::{FirstBad, VerifyCheck, VerifyReport};
pub use run_log::is_log_name;
pub use run_log::{LogLeaf, TreeHead};
pub use secret_key::SecretKey;
pub use tombstone::MAX_REASON_BYTES;
pub use tombstone::Tombstone;
pub use trust::{BlockError, Pin, Trust};
pub use verify::{LineVerifier, VerifyOptions, WithheldBlobs, verify_lines};
pub use verify::{LogEvidence, NOT_DECIDED, ParentFound, Verifier, check_tree};
