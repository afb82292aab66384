//! The states of a work item and the ways in which it can end. Which of them it ends in is for the machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The format of the document that a work item's transcript is bound to.
pub(crate) const WORK_FORMAT: &str = "monolith-work/1";
/// The format of a receipt.
pub const RECEIPT_FORMAT: &str = "monolith-work-receipt/1";

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkState {
    /// Waits for dependencies.
    Blocked,
    /// Its scratch tree is being made.
    Queued,
    /// The agent works in the scratch tree.
    Running,
    /// The test command runs.
    Testing,
    /// The changes go into the work tree.
    Publishing,
    /// A partly published change is taken back.
    RolledBack,
    /// Ended: the changes are in the work tree.
    Success,
    /// Ended: the work tree is as it was.
    Failure,
    /// Ended by admission: the work tree is as it was.
    Denied,
    /// Ended by its deadline: the work tree is as it was.
    Timeout,
}

/// The status of an ended item (004 "Output: RunResult").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    /// The changes are in the work tree.
    Success,
    /// Tests, the run, publishing or a dependency failed.
    Failure,
    /// Admission denied the changes.
    Denied,
    /// The deadline passed.
    Timeout,
}

/// The end of an item as its seal and its leaf state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkOutcome {
    /// The status.
    pub class: WorkStatus,
    /// The state in which the item was when it ended.
    pub code: WorkState,
}

impl WorkStatus {
    /// The state of an item that ended so.
    #[must_use]
    pub const fn state(self) -> WorkState {
        match self {
            Self::Success => WorkState::Success,
            Self::Failure => WorkState::Failure,
            Self::Denied => WorkState::Denied,
            Self::Timeout => WorkState::Timeout,
        }
    }

    /// The status as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.state().as_str()
    }
}

impl WorkState {
    /// Every state.
    pub const ALL: [Self; 10] = [
        Self::Blocked,
        Self::Queued,
        Self::Running,
        Self::Testing,
        Self::Publishing,
        Self::RolledBack,
        Self::Success,
        Self::Failure,
        Self::Denied,
        Self::Timeout,
    ];

    /// Reads a state; none for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// The state as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Testing => "testing",
            Self::Publishing => "publishing",
            Self::RolledBack => "rolled_back",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
        }
    }

    /// True for an ended item.
    #[must_use]
    pub const fn is_end(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failure | Self::Denied | Self::Timeout
        )
    }
}

impl fmt::Display for WorkOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class.as_str(), self.code.as_str())
    }
}
