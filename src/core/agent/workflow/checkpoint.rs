//! The checkpoint of a workflow: all that its steps left (INV-CP-001). Plain data.

use serde::{Deserialize, Serialize};

use super::memory::{Memory, OutputPlace};
use crate::contract::{StepId, WorkflowOutcome};
use crate::message::Digest;

/// A checkpoint, on the entry of a step that has completed. With the definition, entry 0 and the outputs that
/// it names it gives the machine, so that a resume decides no earlier entry again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CheckpointRecord {
    /// The step that completed.
    pub(crate) completed_step_id: StepId,
    /// The moment, the number of entries, and what the workflow was begun with.
    pub(super) context: CheckpointContext,
    /// The state of runs under way and of ended runs, without texts.
    pub(super) memory_snapshot: Memory,
    /// The index, in the definition's array, of the last step that completed; what comes next is the step
    /// after it. None before the first one has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) step_index: Option<u64>,
    /// The outputs of step runs.
    pub(super) step_outputs: StepOutputs,
}

/// Records are equal if their texts are: the memory of a machine holds more than its text, which the definition gives again.
impl PartialEq for CheckpointRecord {
    fn eq(&self, other: &Self) -> bool {
        let text = |record: &Self| serde_json::to_vec(record).unwrap_or_default();
        text(self) == text(other)
    }
}

impl Eq for CheckpointRecord {}

/// The surroundings of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckpointContext {
    /// Milliseconds that the workflow was driven.
    pub(super) at_ms: u64,
    /// Number of entries, that of the checkpoint included.
    pub(super) entries: u64,
    /// The outcome, if the step was the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<WorkflowOutcome>,
    /// BLAKE3 over what the workflow was begun with, which entry 0 holds.
    pub(super) started: Digest,
}

/// The outputs of step runs. Each is in this transcript by value, in the event that ended its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepOutputs {
    /// Rolling digest over all of them.
    pub(super) digest: Digest,
    /// Their places, in the order in which the runs ended.
    pub(super) runs: Vec<OutputPlace>,
}
