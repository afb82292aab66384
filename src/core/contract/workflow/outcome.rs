//! The ways in which a workflow can end. Which of them it ends in is for the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The closed list of ways in which a workflow can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkflowClass {
    /// Every step has completed, or what failed stood where errors are gathered.
    Completed,
    /// A step failed, and nothing was to be compensated.
    Failed,
    /// A step failed, and what was to be compensated is.
    Compensated,
    /// A compensation failed: something of the workflow is left half undone.
    CompensationFailed,
    /// It was stopped or aborted.
    Stopped,
}

/// The code refining the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowCode {
    /// No failures.
    AllSteps,
    /// A failure in a group that continues.
    WithErrors,
    /// The run of a step did not end well.
    StepFailed,
    /// The run of a step could not begin.
    StepNotBegun,
    /// The tool of a step reported an error.
    ToolError,
    /// One more step run than `max_steps`.
    MaxSteps,
    /// One more iteration than a loop may have.
    MaxIterations,
    /// The list of a `for_each` is no JSON array.
    NotAList,
    /// The input of a step has too many bytes.
    InputSize,
    /// The output of a step has too many bytes.
    OutputSize,
    /// `total_timeout_ms` is over.
    TotalTimeout,
    /// Somebody asked it to stop.
    Stop,
    /// Somebody asked twice.
    Abort,
}

/// The end of a workflow: a class and the code that refines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowOutcome {
    /// The class.
    pub class: WorkflowClass,
    /// The code; where a step failed, why.
    pub code: WorkflowCode,
}

impl WorkflowClass {
    /// All five.
    pub const ALL: [Self; 5] = [
        Self::Completed,
        Self::Failed,
        Self::Compensated,
        Self::CompensationFailed,
        Self::Stopped,
    ];

    /// The class as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
            Self::Compensated => "COMPENSATED",
            Self::CompensationFailed => "COMPENSATION_FAILED",
            Self::Stopped => "STOPPED",
        }
    }
}

impl WorkflowCode {
    /// The code as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AllSteps => "all_steps",
            Self::WithErrors => "with_errors",
            Self::StepFailed => "step_failed",
            Self::StepNotBegun => "step_not_begun",
            Self::ToolError => "tool_error",
            Self::MaxSteps => "max_steps",
            Self::MaxIterations => "max_iterations",
            Self::NotAList => "not_a_list",
            Self::InputSize => "input_size",
            Self::OutputSize => "output_size",
            Self::TotalTimeout => "total_timeout",
            Self::Stop => "stop",
            Self::Abort => "abort",
        }
    }
}

impl WorkflowOutcome {
    /// The process exit code: 0 where it completed.
    pub const fn exit_code(self) -> u8 {
        match self.class {
            WorkflowClass::Completed => 0,
            WorkflowClass::Failed
            | WorkflowClass::Compensated
            | WorkflowClass::CompensationFailed
            | WorkflowClass::Stopped => 1,
        }
    }
}

impl fmt::Display for WorkflowOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class.as_str(), self.code.as_str())
    }
}
