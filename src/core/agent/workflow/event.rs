//! The events of a workflow, and the counts of them: the machine's only input.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::contract::Label;
use crate::kernel::{Outcome, ParentRun};
use crate::message::{Digest, RunId};

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowEvent {
    /// Milliseconds since the workflow began, never decreasing, not counting time in which no process drove it.
    pub at_ms: u64,
    /// The event.
    pub event: WorkflowEventKind,
}

/// An event. Each variant says who raises it and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum WorkflowEventKind {
    /// Raised once, first: the first steps begin.
    Started(Box<WorkflowStarted>),
    /// A step that was begun has ended, however it ended.
    StepEnded {
        /// Its number.
        number: u64,
        /// End.
        result: Box<StepResult>,
    },
    /// The moment of `next_deadline` has come.
    TimerFired,
    /// Somebody asked the workflow to come to an end. A second one ends it at once.
    StopRequested,
    /// It must end now.
    Interrupted,
    /// Its process is about to leave it: nothing is begun until it is resumed.
    Suspended,
    /// Another process resumes it: step runs under way begin again under the same numbers.
    Resumed,
}

/// The start data of a workflow, besides its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowStarted {
    /// The definition it is bound to.
    pub definition_hash: Digest,
    /// Its input.
    pub input: String,
    /// The workflow that this one was forked from, and its last entry that both have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRun>,
    /// Its name.
    pub run_id: RunId,
    /// Wall-clock time of the start, in milliseconds since 1970-01-01 UTC. Nothing is decided by it.
    pub started_unix_ms: u64,
}

/// The end of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum StepResult {
    /// Its run is sealed.
    Run(StepRun),
    /// There is no run: what keeps it from beginning, for people; at most [`MAX_REASON_BYTES`](super::MAX_REASON_BYTES).
    NotBegun(String),
}

/// The run that a step was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRun {
    /// Reason for the step's failure; `None` if it has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<StepFailure>,
    /// The hash of the last entry of the run.
    pub head: Digest,
    /// The labels of all that its model was shown, child runs included: `trusted` where there are none, left out where they
    /// are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeSet<Label>>,
    /// The run's outcome.
    pub outcome: Outcome,
    /// Its output: its report, or the result of its tool.
    pub output: String,
    /// The error of a failed step, for people; at most [`MAX_REASON_BYTES`](super::MAX_REASON_BYTES).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Its name.
    pub run_id: RunId,
}

/// The reason that a step with a sealed run has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepFailure {
    /// The run did not succeed.
    Outcome,
    /// The tool reported an error.
    Tool,
    /// The output has more bytes than a step may come to.
    OutputSize,
}

/// The request to end a step run, the stronger request last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStep {
    /// Asks the step run to end, as Ctrl-C does: it may still answer.
    Stop,
    /// Ends the step run at once.
    Now,
}

/// The counts of events so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowCounters {
    /// Steps that were compensated.
    pub compensated: u64,
    /// Step runs that completed, compensations left out.
    pub completed: u64,
    /// Step runs that failed, compensations left out.
    pub failed: u64,
    /// Iterations of loops.
    pub iterations: u64,
    /// Times it was resumed.
    pub resumes: u64,
    /// Step runs that were begun, compensations left out.
    pub steps: u64,
}
