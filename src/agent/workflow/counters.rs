//! What has happened so far, in numbers.

use serde::{Deserialize, Serialize};

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowCounters {
    /// Steps that were compensated.
    pub(crate) compensated: u64,
    /// Step runs that completed, compensations left out.
    pub(crate) completed: u64,
    /// Step runs that failed, compensations left out.
    pub(crate) failed: u64,
    /// Iterations of loops.
    pub(crate) iterations: u64,
    /// Times it was resumed.
    pub(crate) resumes: u64,
    /// Step runs that were begun, compensations left out.
    pub(crate) steps: u64,
}
