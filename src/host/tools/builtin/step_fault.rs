//! Why a change of the workspace was not made. Plain data.

use super::beneath::OpenError;

/// Why a step was not taken.
pub(super) enum StepFault {
    Open(OpenError),
    /// A file is where a new one is to be made.
    Exists,
    /// Steps before it were taken.
    Partly {
        done: String,
        fault: OpenError,
    },
}

impl From<OpenError> for StepFault {
    fn from(fault: OpenError) -> Self {
        Self::Open(fault)
    }
}

impl StepFault {
    pub(super) fn after(self, done: &[String]) -> Self {
        match self {
            Self::Open(fault) if !done.is_empty() => Self::Partly {
                done: done.join("; "),
                fault,
            },
            other => other,
        }
    }
}
