//! The seven states by name. Their edges stand in the handlers' enums.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The states of the machine (002 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Rests until the probe has answered.
    Precheck,
    /// Rests until an inference has come back, or a wait before it has ended.
    Infer,
    /// Passed: judges the calls of a canonical message.
    ValidateCalls,
    /// Rests until every started call has ended.
    Execute,
    /// Passed: turns results into observations.
    Observe,
    /// Passed: decides what is next.
    Commit,
    /// Rests for ever.
    Terminate,
}

impl State {
    /// All seven, in the order of 002 §5.
    pub const ALL: [Self; 7] = [
        Self::Precheck,
        Self::Infer,
        Self::ValidateCalls,
        Self::Execute,
        Self::Observe,
        Self::Commit,
        Self::Terminate,
    ];

    /// The state as 002 §5 writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Precheck => "PRECHECK",
            Self::Infer => "INFER",
            Self::ValidateCalls => "VALIDATE_CALLS",
            Self::Execute => "EXECUTE",
            Self::Observe => "OBSERVE",
            Self::Commit => "COMMIT",
            Self::Terminate => "TERMINATE",
        }
    }

    /// True if the machine waits here for an event; it passes the other states inside a step.
    #[must_use]
    pub const fn is_resting(self) -> bool {
        matches!(
            self,
            Self::Precheck | Self::Infer | Self::Execute | Self::Terminate
        )
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
