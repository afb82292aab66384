//! The reasons why an import failed, in words.

use std::path::PathBuf;

use super::StoreError;
use monolith_core::message::{Digest, RunId, escaped_line};
use monolith_core::transcript::VerifyReport;

/// The reason why an import failed. The store then holds no part of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: the file cannot be read.
    #[error("read the transcript {}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// A change of the file: it does not verify.
    #[error("import {}: it does not verify", path.display())]
    NotVerified {
        /// The file.
        path: PathBuf,
        /// The findings.
        report: Box<VerifyReport>,
    },
    /// The caller: a run of that name is here, and it went on otherwise.
    #[error(
        "import run {run_id}: the run of that name in this store differs from entry {seq} on: its hash is {here} here, and {given} in the file"
    )]
    OtherHistory {
        /// The run.
        run_id: RunId,
        /// The first entry that differs.
        seq: u64,
        /// Its hash in the store.
        here: Digest,
        /// Its hash in the file.
        given: Digest,
    },
    /// The caller: a run of that name is here, under another contract.
    #[error(
        "import run {run_id}: the run of that name in this store has another contract: {here}, not {given}"
    )]
    OtherContract {
        /// The run.
        run_id: RunId,
        /// The hash of the contract in the store.
        here: Digest,
        /// The hash in the file.
        given: Digest,
    },
    /// The caller: the run was here, and somebody deleted it.
    #[error(
        "import run {run_id}: it was deleted here by {}, {}",
        escaped_line(by),
        if reason.is_empty() { "no reason given".to_owned() } else { escaped_line(reason) }
    )]
    Deleted {
        /// The run.
        run_id: RunId,
        /// Who has signed the note of its deletion.
        by: String,
        /// The reason; may be empty.
        reason: String,
    },
    /// The caller: the run was begun here, and only who drives it adds to it.
    #[error(
        "import run {run_id}: it was started here and has {here} entries; the file has {given}, and an import never changes a run that was started here"
    )]
    OwnRun {
        /// The run.
        run_id: RunId,
        /// Number of entries here.
        here: u64,
        /// Number of entries in the file.
        given: u64,
    },
    /// The person who made the file: bytes are missing, and no trusted key states that they were erased.
    #[error(
        "import run {run_id}: its blob {blob} is missing, and no key known here signed its tombstone ({})",
        list(signers)
    )]
    Tombstone {
        /// The run.
        run_id: RunId,
        /// The blob.
        blob: Digest,
        /// The names of the keys that the tombstone says have signed it.
        signers: Vec<String>,
    },
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .take(10)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ")
}
