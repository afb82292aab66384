//! Why the machine left PRECHECK or COMMIT. Reads one action; decides nothing.

use crate::kernel::{Action, Predicate, State};

/// Why the machine left PRECHECK or COMMIT as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the entry.
    pub seq: u64,
    /// Milliseconds since the run began.
    pub at_ms: u64,
    /// The state before.
    pub from: State,
    /// The state after.
    pub to: State,
    /// The predicate that fired.
    pub predicate: Predicate,
}

impl Decision {
    /// What the entry decided, where a predicate fired in it.
    pub(super) fn of(action: &Action, at_ms: u64) -> Option<Self> {
        Some(Self {
            at_ms,
            from: action.from,
            predicate: action.predicate?,
            seq: action.seq,
            to: action.to,
        })
    }
}
