//! The machine's record of a step: the decision, the effects that it started, and the checkpoint.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::checkpoint::CheckpointRecord;
use super::event::{EndStep, WorkflowCounters};
use super::{WorkflowEvent, WorkflowStarted};
use crate::contract::{Label, StepId, WorkflowOutcome};
use crate::message::{Digest, DigestContext};
use crate::transcript::{Chain, Flaw, SealedMachineEntry};

/// An entry as the machine decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowDraft {
    /// The machine's action.
    pub action: WorkflowAction,
    /// The event that began the step; the first entry of a step carries it.
    pub event: Option<WorkflowEvent>,
}

impl WorkflowDraft {
    /// Chains the entry, and advances the head to it.
    #[must_use]
    pub fn seal(&self, chain: &mut Chain) -> SealedMachineEntry {
        let action = &self.action;
        chain.seal_machine(action.seq, action.to.as_str(), action, self.event.as_ref())
    }
}

/// An entry of a transcript, read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowEntry {
    /// The machine's action.
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
    pub fn decode(entry: &SealedMachineEntry) -> Result<Self, Flaw> {
        Ok(Self {
            action: entry.decode_action()?,
            event: entry.decode_event()?,
            hash: entry.hash,
        })
    }
}

/// The state of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkflowState {
    /// Steps are begun.
    Running,
    /// No more steps begin; those under way come to their end.
    Stopping,
    /// Completed steps are compensated.
    Compensating,
    /// It has ended.
    Terminate,
}

/// The kind of an entry.
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

/// The machine's action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowAction {
    /// The steps that were begun, in order; on an entry that resumes, those that go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<BegunStep>,
    /// The checkpoint, on the entry of a step that has completed (INV-CP-001).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) checkpoint: Option<Box<CheckpointRecord>>,
    /// Counters after this entry.
    pub counters: WorkflowCounters,
    /// The numbers of the steps under way whose end was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ending: Vec<u64>,
    /// The state before.
    pub from: WorkflowState,
    /// The kind of this entry.
    pub kind: WorkflowEntryKind,
    /// Number of entries, this one included; only on the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// A sentence for people: made by the machine, never matched.
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
    /// Its place: the steps around it with their iterations from 1, such as `each.2/both/fetch`.
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

impl WorkflowStarted {
    /// BLAKE3 over it.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }
}

/// The effects of an event. Entries come first: no other effect starts before they are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowEffect {
    /// The entries of the step.
    Append(Vec<WorkflowDraft>),
    /// A step run begins. If it has begun before, it resumes; if it has ended, its end is read.
    Begin(Box<StepOrder>),
    /// The end of a step run under way is requested.
    End {
        /// Its number.
        number: u64,
        /// Mode.
        how: EndStep,
    },
    /// The workflow is over.
    Finish(WorkflowOutcome),
}

/// A step run to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOrder {
    /// The number of the step that it undoes, where it is a compensation.
    pub compensates: Option<u64>,
    /// Its input.
    pub input: StepInput,
    /// The labels of the outputs in its input.
    pub labels: BTreeSet<Label>,
    /// Its number, from 1: its run is called `<workflow>.<number>`.
    pub number: u64,
    /// Its place.
    pub place: String,
    /// The step.
    pub step: StepId,
}

static INPUT: DigestContext = DigestContext::new("monolith workflow v1 step input");

/// The input of a step, its placeholders filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepInput {
    /// The prompt.
    Prompt(String),
    /// The call.
    Tool {
        /// Its arguments: the canonical text of an object.
        arguments: String,
        /// The exposed name.
        tool: String,
    },
    /// The task of an agent.
    Delegate {
        /// The agent's file as written.
        agent: String,
        /// BLAKE3 of that file.
        agent_digest: Digest,
        /// The task.
        task: String,
    },
}

impl StepInput {
    /// The text of it: a prompt, arguments, a task.
    pub fn text(&self) -> &str {
        match self {
            Self::Prompt(text)
            | Self::Tool {
                arguments: text, ..
            }
            | Self::Delegate { task: text, .. } => text,
        }
    }

    /// The tool that is called; `None` if it is no call.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Tool { tool, .. } => Some(tool),
            Self::Prompt(_) | Self::Delegate { .. } => None,
        }
    }

    /// BLAKE3 over it.
    pub fn hash(&self) -> Digest {
        let (kind, parts): (&str, [&str; 2]) = match self {
            Self::Prompt(text) => ("prompt", [text, ""]),
            Self::Tool { arguments, tool } => ("tool", [tool, arguments]),
            Self::Delegate { agent, task, .. } => ("delegate", [agent, task]),
        };
        let [first, second] = parts;
        INPUT.framed(&[kind.as_bytes(), first.as_bytes(), second.as_bytes()])
    }
}
