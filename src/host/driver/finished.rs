//! What a run has come to.

use monolith_core::kernel::Run;
use monolith_core::message::{Digest, RunId};

/// A run that has ended, or was suspended: then its machine has no outcome yet.
#[non_exhaustive]
pub struct Finished {
    /// The machine in TERMINATE, or where it rests.
    pub run: Run,
    /// The name of the run.
    pub run_id: RunId,
    /// The hash of the last entry.
    pub head: Digest,
    /// How many entries there are.
    pub entries: u64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}
