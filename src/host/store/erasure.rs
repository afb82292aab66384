//! Erasing bytes for good, with a signed tombstone in their place: what is asked for, and what became of it.

use std::collections::BTreeSet;

use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Flaw, SecretKey, blob_references};

use super::{StoreError, StoreReader};

/// A request to erase a blob, with its author.
#[derive(Clone, Debug)]
pub struct Erasure<'k> {
    /// The run that names the blob.
    pub run_id: RunId,
    /// The hash of the blob, or the beginning of it.
    pub blob: String,
    /// The reason; may be empty. At most [`MAX_REASON_BYTES`](monolith_core::transcript::MAX_REASON_BYTES).
    pub reason: String,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: u64,
    /// True if the blob is erased from every run that uses it.
    pub all_runs: bool,
    /// Who signs the tombstones.
    pub key: &'k SecretKey,
}

/// The result of an erasure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The hash of the bytes that are gone.
    pub hash: Digest,
    /// Number of erased bytes; `None` if they had been erased before.
    pub bytes: Option<u64>,
    /// The runs that have a tombstone in their place.
    pub runs: Vec<RunId>,
}

/// Reasons why nothing was erased, or not for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EraseError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: no entry of the run names such a blob.
    #[error("erase {asked:?} of run {run_id}: no entry of the run names such a blob")]
    NotNamed {
        /// The run.
        run_id: RunId,
        /// The requested blob.
        asked: String,
    },
    /// The caller: the prefix is that of more than one blob of the run.
    #[error("erase {asked:?} of run {run_id}: it could be {}", list(candidates))]
    Ambiguous {
        /// The run.
        run_id: RunId,
        /// The requested blob.
        asked: String,
        /// The blobs that it could be.
        candidates: Vec<Digest>,
    },
    /// The caller: the run names the blob, and its bytes were never here.
    #[error("erase {hash} of run {run_id}: its bytes are not in this store")]
    NotHere {
        /// The run.
        run_id: RunId,
        /// The blob.
        hash: Digest,
    },
    /// The caller: other runs use the same bytes.
    #[error(
        "erase {hash} of run {run_id}: runs that use the same bytes: {}",
        list(others)
    )]
    Shared {
        /// The run.
        run_id: RunId,
        /// The blob.
        hash: Digest,
        /// The other runs.
        others: Vec<RunId>,
    },
    /// A change of the store: an entry cannot be read.
    #[error("read entry {seq} of run {run_id}: {flaw}")]
    Entry {
        /// The run.
        run_id: RunId,
        /// The entry.
        seq: u64,
        /// The flaw in it.
        flaw: Box<Flaw>,
    },
    /// The operator: the tombstone stands, and old copies of the bytes may be left in the files of the store.
    #[error("clear {hash} out of the files of the store: {reason}")]
    Unfinished {
        /// The blob.
        hash: Digest,
        /// The obstacle.
        reason: String,
    },
}

impl StoreReader {
    /// The one blob that the run names so.
    ///
    /// # Errors
    /// [`EraseError`] where there is none, or more than one.
    pub fn named_blob(&mut self, run_id: &RunId, blob: &str) -> Result<Digest, EraseError> {
        let mut named = BTreeSet::new();
        for entry in self.read_run(run_id)? {
            let entry = entry?;
            let seq = entry.seq;
            let event = entry.decode_event().map_err(|flaw| EraseError::Entry {
                run_id: run_id.clone(),
                seq,
                flaw: Box::new(flaw),
            })?;
            let references = event.iter().flat_map(blob_references);
            named.extend(references.map(|named| named.hash));
        }
        let fits = |hash: &Digest| !blob.is_empty() && hash.to_string().starts_with(blob);
        let found: Vec<Digest> = named.into_iter().filter(fits).collect();
        let run_id = run_id.clone();
        let given = blob.chars().take(80).collect();
        match found.as_slice() {
            [hash] => Ok(*hash),
            [] => Err(EraseError::NotNamed {
                run_id,
                asked: given,
            }),
            _ => Err(EraseError::Ambiguous {
                run_id,
                asked: given,
                candidates: found,
            }),
        }
    }
}

fn list(names: &[impl ToString]) -> String {
    let names: Vec<String> = names.iter().take(10).map(ToString::to_string).collect();
    names.join(", ")
}

/// A request to delete runs, with its author.
#[derive(Clone, Debug)]
pub struct Removal<'k> {
    /// The runs.
    pub runs: Vec<RunId>,
    /// The reason; may be empty.
    pub reason: String,
    /// Now, in milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: u64,
    /// True if a run without a seal is deleted too.
    pub force: bool,
    /// Who signs what stays of them.
    pub key: &'k SecretKey,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The runs.
    pub runs: Vec<RunId>,
    /// True if the files of the store were rewritten without them.
    pub cleared: bool,
    /// Error that stopped the deletion; the other runs are unchanged.
    pub stopped: Option<RemoveError>,
}

/// Reasons why runs were not deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller: the run has no seal, so a process may resume it.
    #[error("delete run {run_id}: it has not ended")]
    Open {
        /// The run.
        run_id: RunId,
    },
    /// The caller: the run belongs to a tree that has not ended, and its parent continues with its result.
    #[error("delete run {run_id}: it belongs to the tree of {root}, which has not ended")]
    Below {
        /// The run.
        run_id: RunId,
        /// The first run of the tree.
        root: RunId,
    },
    /// The caller: a workflow was forked from another one after that run, and so it is a step of both.
    #[error(
        "delete run {run_id}: workflow {fork} was forked after it had ended, and it is a step of that, too, or below one"
    )]
    Forked {
        /// The workflow that was forked.
        fork: RunId,
        /// The run.
        run_id: RunId,
    },
    /// The caller: it is a workflow that another one comes from, which has steps of it, or of what it was forked from itself.
    #[error("delete run {run_id}: workflow {fork} was forked from it, and has steps of that line")]
    ForkedFrom {
        /// The workflow that was forked.
        fork: RunId,
        /// The workflow.
        run_id: RunId,
    },
}
