//! What COMMIT can decide. Why it decides so is for the predicates (`commit.rs`).

use super::{ClosingReason, Outcome, Predicate, PredicateName};

/// What COMMIT decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The run ends.
    End(Ending),
    /// The run goes on.
    Continue { predicate: Predicate, next: Next },
}

/// The end of a run, and what decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) predicate: Predicate,
    pub(super) outcome: Outcome,
}

impl Ending {
    /// An end by the predicate of that number and name.
    pub(super) const fn by(item: u8, name: PredicateName, outcome: Outcome) -> Self {
        Self {
            predicate: Predicate { item, name },
            outcome,
        }
    }
}

impl From<Ending> for Decision {
    fn from(ending: Ending) -> Self {
        Self::End(ending)
    }
}

/// How a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The same attempt again: its inference was lost.
    Again,
    /// The next attempt of the turn.
    Retry,
    /// The next turn.
    Turn,
    /// The next turn, as the closing one.
    Closing(ClosingReason),
}
