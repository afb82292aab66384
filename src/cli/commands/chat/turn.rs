//! One turn of a conversation: the run that it was. Does not know the turns beside it.

use monolith_core::message::{Digest, RunId};
use monolith_host::telemetry::AgentResult;

/// A run that the next one may go on from.
#[derive(Debug)]
pub(super) struct Turn {
    /// Whether it executed a call.
    pub(super) executed: bool,
    /// Its last entry: other processes may do anything between two messages.
    pub(super) head: Digest,
    pub(super) run_id: RunId,
}

impl Turn {
    /// The turn of that result; `None` if no run was begun.
    pub(super) fn of(result: &AgentResult) -> Option<Self> {
        Some(Self {
            executed: result.counters.tools_executed > 0,
            head: result.head?,
            run_id: result.run_id.clone()?,
        })
    }
}
