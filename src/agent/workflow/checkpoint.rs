//! The checkpoint after a step (INV-CP-001, INV-CP-002): all that another process needs to go on. The entry has its digests; the
//! checkpoint itself is a function of the transcript.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::books::Books;
use super::value::Outputs;
use super::{StepInput, WorkflowStarted};
use crate::contract::{StepId, WorkflowOutcome};
use crate::message::Digest;

/// All that is needed to go on with a workflow, beside its definition.
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
    /// BLAKE3 over the context.
    pub(crate) context: Digest,
    /// BLAKE3 over what is under way and what has ended.
    pub(crate) memory_snapshot: Digest,
    /// As in the checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step_index: Option<u64>,
    /// Rolling digest over what step runs came to.
    pub(crate) step_outputs: Digest,
}

impl Checkpoint {
    /// What its entry states of it; none before a step has completed.
    pub(crate) fn record(&self) -> Option<CheckpointRecord> {
        Some(CheckpointRecord {
            completed_step_id: self.completed_step_id.clone()?,
            context: self.context.digest(),
            memory_snapshot: self.memory_snapshot.books.digest(),
            step_index: self.step_index,
            step_outputs: self.step_outputs.digest(),
        })
    }
}

impl CheckpointContext {
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

impl Books {
    /// BLAKE3 over it.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}
