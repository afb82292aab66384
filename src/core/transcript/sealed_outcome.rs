//! How what is sealed has ended: a run or a workflow. Does not decide it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::contract::WorkflowOutcome;
use crate::kernel::Outcome;

/// The outcome that a seal states. The classes of runs and of workflows differ, so its text says which it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SealedOutcome {
    /// Of a run.
    Run(Outcome),
    /// Of a workflow.
    Workflow(WorkflowOutcome),
}

impl SealedOutcome {
    /// The class as it is written.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Run(outcome) => outcome.class.as_str(),
            Self::Workflow(outcome) => outcome.class.as_str(),
        }
    }

    /// The code as it is written.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Run(outcome) => outcome.code.as_str(),
            Self::Workflow(outcome) => outcome.code.as_str(),
        }
    }
}

impl From<Outcome> for SealedOutcome {
    fn from(outcome: Outcome) -> Self {
        Self::Run(outcome)
    }
}

impl From<WorkflowOutcome> for SealedOutcome {
    fn from(outcome: WorkflowOutcome) -> Self {
        Self::Workflow(outcome)
    }
}

impl fmt::Display for SealedOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class(), self.code())
    }
}
