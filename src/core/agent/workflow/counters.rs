//! What has happened so far, in numbers.

use serde::{Deserialize, Serialize};

/// What has happened so far.
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
