//! The checkpoint after a step (INV-CP-001, INV-CP-002): all that another process needs to go on. The entry has its digests; the
//! checkpoint itself is a function of the transcript.

#[cfg(test)]
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::WorkflowStarted;
#[cfg(test)]
use super::{StepInput, books::Books, value::Outputs};
use crate::contract::{StepId, WorkflowOutcome};
use crate::message::Digest;

/// All that is needed to go on with a workflow, beside its definition.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Checkpoint {
    /// The step that completed last.
    pub(crate) completed_step_id: Option<StepId>,
    /// What the workflow was begun with, and where its chain stands.
    pub(crate) context: CheckpointContext,
    /// What is under way, and what has ended.
    pub(crate) memory_snapshot: MemorySnapshot,
    /// The index, in the definition's array, of the last step that completed; what comes next is the step after it. None before the
    /// first one has completed.
    pub(crate) step_index: Option<u64>,
    /// What step runs came to, by their numbers.
    pub(crate) step_outputs: Outputs,
}

/// What a workflow was begun with, and where its chain stands.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CheckpointContext {
    /// How many milliseconds it was driven.
    pub(crate) at_ms: u64,
    /// How many entries there are.
    pub(crate) entries: u64,
    /// How it ended, once it did.
    pub(crate) outcome: Option<WorkflowOutcome>,
    /// What it was begun with.
    pub(crate) started: WorkflowStarted,
}

/// What is under way, and what has ended.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct MemorySnapshot {
    /// The tree of what is under way, and what has ended.
    pub(crate) books: Books,
    /// What the runs under way were given.
    pub(crate) inputs: BTreeMap<u64, StepInput>,
}

/// The digests of a checkpoint, as its entry states them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CheckpointRecord {
    /// The step that completed.
    pub(crate) completed_step_id: StepId,
    /// BLAKE3 over the context: milliseconds, entries, outcome, and the digest of what the workflow was begun with.
    pub(crate) context: Digest,
    /// BLAKE3 over what is under way and what has ended.
    pub(crate) memory_snapshot: Digest,
    /// As in the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step_index: Option<u64>,
    /// Rolling digest over what step runs came to.
    pub(crate) step_outputs: Digest,
}

#[cfg(test)]
impl Checkpoint {
    /// What its entry states of it, computed from the checkpoint alone; none before a step has completed.
    pub(crate) fn record(&self) -> Option<CheckpointRecord> {
        Some(CheckpointRecord {
            completed_step_id: self.completed_step_id.clone()?,
            context: context_digest(
                self.context.at_ms,
                self.context.entries,
                self.context.outcome,
                self.context.started.digest(),
            ),
            memory_snapshot: self.memory_snapshot.books.digest(),
            step_index: self.step_index,
            step_outputs: self.step_outputs.digest(),
        })
    }
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
