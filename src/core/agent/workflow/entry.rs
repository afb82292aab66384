//! What the machine writes down of a step: the decision, what it set going, and the checkpoint.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{CheckpointRecord, WorkflowCounters, WorkflowEvent};
use crate::contract::{Label, StepId, WorkflowOutcome};
use crate::message::Digest;
use crate::transcript::{Flaw, SealedWorkflowEntry};

/// An entry as the machine decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowDraft {
    /// What the machine did.
    pub action: WorkflowAction,
    /// The event that began the step; the first entry of a step carries it.
    pub event: Option<WorkflowEvent>,
}

/// An entry of a transcript, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowEntry {
    /// What the machine did.
    pub action: WorkflowAction,
    /// The event that began the step; `None` if the entry carries none.
    pub event: Option<WorkflowEvent>,
    /// The entry's hash.
    pub hash: Digest,
}

impl WorkflowEntry {
    /// The entry that this text is.
    ///
    /// # Errors
    /// [`Flaw`] where it is not the canonical text of an entry.
    pub fn decode(entry: &SealedWorkflowEntry) -> Result<Self, Flaw> {
        Ok(Self {
            action: entry.decode_action()?,
            event: entry.decode_event()?,
            hash: entry.hash,
        })
    }
}

/// Where a workflow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkflowState {
    /// Steps are begun.
    Running,
    /// Nothing more is begun; what is under way comes to its end.
    Stopping,
    /// What has completed is compensated.
    Compensating,
    /// It has ended.
    Terminate,
}

/// Which kind of entry this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowEntryKind {
    /// Entry 0.
    Start,
    /// A step ended, something was begun or ended, or the state changed.
    Transition,
    /// An event that changed no step.
    Noted,
    /// A late or unknown event; nothing changed.
    Ignored,
    /// The last entry.
    Seal,
}

/// What the machine did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowAction {
    /// The steps that were begun, in order; on an entry that resumes, those that go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<BegunStep>,
    /// The checkpoint, on the entry of a step that has completed (INV-CP-001).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<CheckpointRecord>,
    /// Counters after this entry.
    pub counters: WorkflowCounters,
    /// The numbers of the steps under way whose end was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ending: Vec<u64>,
    /// The state before.
    pub from: WorkflowState,
    /// Which kind of entry this is.
    pub kind: WorkflowEntryKind,
    /// Number of entries, this one included; only on the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// What is worth a person's eye: a machine-made sentence, never matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The outcome, from the entry that decides it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<WorkflowOutcome>,
    /// The entry's number, from 0.
    pub seq: u64,
    /// Digest of what is under way and what has ended after this entry; what steps came to stands in the events.
    pub state_digest: Digest,
    /// The state after: the `state` of the chain.
    pub to: WorkflowState,
}

/// A step run that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BegunStep {
    /// The number of the step that it undoes, where it is a compensation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<u64>,
    /// BLAKE3 over what it is given.
    pub input_hash: Digest,
    /// The labels of the outputs in its input.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<Label>,
    /// Its number: its run is called `<workflow>.<number>`.
    pub number: u64,
    /// Where it stands: the steps around it with their iterations from 1, such as `each.2/both/fetch`.
    pub place: String,
    /// The step.
    pub step: StepId,
}

impl WorkflowState {
    /// The state as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Stopping => "STOPPING",
            Self::Compensating => "COMPENSATING",
            Self::Terminate => "TERMINATE",
        }
    }
}
