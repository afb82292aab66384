//! The transcript: what a run leaves behind, and how anyone can tell that it was not changed.
//!
//! Knows the sealed entry, the hash chain over entries, the file format `monolith-transcript/1` and its
//! verification (semantics §9; docs/transcript-format.md describes the bytes for people who write their own
//! verifier). It does not know where transcripts are kept, how lines are read from a disk, or whether the machine decided
//! rightly: that is `replay`'s question.
//!
//! ```text
//! EntryDraft ─▶ Chain::seal ─▶ SealedEntry ─▶ store row ─┐
//!                                   └──▶ file line ──────┴─▶ Record ─▶ Verifier ─▶ VerifyReport
//! ```

mod blobs;
mod canonical;
mod chain;
#[cfg(test)]
mod document;
mod entry;
mod file;
mod flaw;
mod record;
mod report;
#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod sample_values;
#[cfg(test)]
mod tests;
mod verify;

pub use blobs::{BlobReference, Presence, blob_references};
pub use chain::{Chain, Link};
pub use entry::SealedEntry;
pub use file::{
    LineError, LineReader, MAX_LINE_BYTES, TRANSCRIPT_FORMAT, blob_line, entry_line, header_line,
};
pub use flaw::{Flaw, FlawKind};
pub use record::{BlobRecord, EntryRecord, HeaderRecord, IndexClaims, Record};
pub use report::{FirstBad, Place, VerifyCheck, VerifyReport};
pub use verify::{LineVerifier, Verifier, VerifyOptions, WithheldBlobs, verify_lines};
