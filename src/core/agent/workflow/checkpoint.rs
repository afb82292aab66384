//! What an entry states of the checkpoint after a step (INV-CP-001, INV-CP-002). The checkpoint itself, all that another process needs to
//! go on, is what [`WorkflowFold`](super::WorkflowFold) gives of the entries up to that one.

use serde::{Deserialize, Serialize};

use super::WorkflowStarted;
use crate::contract::{StepId, WorkflowOutcome};
use crate::message::Digest;

/// A checkpoint by its digests, as its entry states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CheckpointRecord {
    /// The step that completed.
    pub(crate) completed_step_id: StepId,
    /// BLAKE3 over the context: milliseconds, entries, outcome, and the digest of what the workflow was begun with.
    pub context: Digest,
    /// BLAKE3 over what is under way and what has ended.
    pub(crate) memory_snapshot: Digest,
    /// The index, in the definition's array, of the last step that completed; what comes next is the step after it. None before the
    /// first one has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step_index: Option<u64>,
    /// Rolling digest over what step runs came to.
    pub(crate) step_outputs: Digest,
}

/// BLAKE3 over a context; `started` is the digest of what the workflow was begun with.
pub(super) fn context_digest(
    at_ms: u64,
    entries: u64,
    outcome: Option<WorkflowOutcome>,
    started: Digest,
) -> Digest {
    let parts = (at_ms, entries, outcome, started);
    Digest::of(&serde_json::to_vec(&parts).unwrap_or_default())
}

impl WorkflowStarted {
    /// BLAKE3 over it.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}
