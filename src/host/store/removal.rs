//! Deletion of whole runs: what is asked for, and what became of it.

use super::StoreError;
use monolith_core::message::RunId;
use monolith_core::transcript::SecretKey;

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
    /// The caller: the run has no seal, so a process may go on with it.
    #[error("delete run {run_id}: it has not ended")]
    Open {
        /// The run.
        run_id: RunId,
    },
    /// The caller: the run stands in a tree that is not at its end, and what is above it goes on with what it came to.
    #[error("delete run {run_id}: it stands below {root}, which has not ended")]
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
