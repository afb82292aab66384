//! The result of one input of many runs. Does not know when it is shown.

use crate::text::escape::line;
use crate::workflow::ended::WorkflowResult;
use monolith_core::message::RunId;
use monolith_host::telemetry::AgentResult;

/// The result of one input.
#[derive(Debug)]
pub struct ManyResult {
    /// The end of its run.
    pub end: RunEnd,
    /// Name of the input: its line, its file or its run.
    pub place: String,
}

/// The end of an input's run.
#[derive(Debug)]
pub enum RunEnd {
    /// A run that ended or is left, or that was not begun.
    Run(Box<AgentResult>, Ending),
    /// A workflow that ended or is left.
    Workflow(Box<WorkflowResult>, Ending),
    /// The run was left to another process, for that reason.
    Skipped(String),
    /// Its result was lost in a panic.
    Lost(String),
}

/// The way in which a run came to its end, or to where it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Own,
    /// It had ended before.
    Recorded,
    /// It could not be resumed and stays as it was, without a record of the reason; the advice, where there is some.
    Refused(Option<String>),
    /// It was asked to stop, and ended because of that.
    Stopped,
}

/// Returns the call that a run waits with for a person, and the waiting run, which may be a child of it.
#[must_use]
pub fn awaited(result: &AgentResult) -> Option<(&RunId, String)> {
    let awaited = result.waits_for.as_ref()?;
    let run_id = awaited.run_id.as_ref().or(result.run_id.as_ref())?;
    let call = format!("call {}, {}", awaited.call, line(&awaited.name));
    Some((run_id, call))
}
