//! The errors of a machine that cannot confine programs, or not as much as a run needs.

use monolith_core::message::{Confinement, RunId};

/// The reason why programs are not started on this machine.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ConfinementError {
    /// A program of a run could do more than when it was started. Nothing of the run was recorded.
    #[error(
        "{program} of run {run_id} was confined ({was}) and would be confined less here ({is})"
    )]
    Less {
        /// The decision on this machine.
        is: Confinement,
        /// The server, or the commands of the shell, in words.
        program: Box<str>,
        /// The run to resume: this run, or its first open parent.
        root: Box<RunId>,
        /// The run.
        run_id: RunId,
        /// The decision that the last process of the run recorded.
        was: Confinement,
    },
    /// The system did not say what it can confine.
    #[error("the sandbox could not be tried: {reason}")]
    Untried {
        /// The fault.
        reason: String,
    },
}
