//! The edges of 002 §5 as types: a state's handler can only answer with an edge of that state, so an illegal transition does
//! not compile. `monolith machine` prints from [`EDGES`].

use super::batch::{Batch, Ended};
use super::stage::{Arrived, Awaited, Stage};
use super::{Outcome, State};

/// The answer of a state's handler: stay, or take one of the state's own edges.
pub(super) enum Reply<E> {
    /// The event was dealt with here; no transition, and this is what its entry says.
    Stay(&'static str),
    /// The event is not this state's: ask the superstate.
    Defer,
    /// Take this edge.
    Go(E),
}

macro_rules! edges {
    (@bound $bound:ident, $data:ty) => { $bound };
    ($(
        $(#[$doc:meta])*
        $name:ident from $from:ident { $($to:ident $(($data:ty))?: $when:literal),+ $(,)? }
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub(super) enum $name { $($to $(($data))?),+ }

            impl From<$name> for Stage {
                fn from(edge: $name) -> Self {
                    match edge {
                        $($name::$to $((edges!(@bound data, $data)))? => Self::$to $((edges!(@bound data, $data)))?,)+
                    }
                }
            }
        )+

        /// Every legal edge: from, to, and when it is taken.
        pub const EDGES: &[Edge] = &[
            $($(Edge { from: State::$from, to: State::$to, when: $when },)+)+
        ];
    };
}

/// One legal edge of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state it leaves.
    pub from: State,
    /// The state it enters.
    pub to: State,
    /// When it is taken, in a few words.
    pub when: &'static str,
}

edges! {
    /// Edges out of PRECHECK.
    FromPrecheck from Precheck {
        Infer(Awaited): "every preflight check passed",
        ValidateCalls(Box<Arrived>): "every preflight check passed, and the call is an input of the run",
        Terminate(Outcome): "a check failed, interrupted, or the total timeout passed",
    }
    /// Edges out of INFER.
    FromInfer from Infer {
        ValidateCalls(Box<Arrived>): "the adapter answered: native, recovered or rejected",
        Commit: "the attempt failed, or an interrupt or a deadline arrived",
    }
    /// Edges out of VALIDATE_CALLS.
    FromValidateCalls from ValidateCalls {
        Execute(Batch): "at least one call is authorised",
        Commit: "nothing to execute",
    }
    /// Edges out of EXECUTE.
    FromExecute from Execute {
        Observe(Ended): "every authorised call has a result, or the step was cut short",
    }
    /// Edges out of OBSERVE.
    FromObserve from Observe {
        Commit: "always",
    }
    /// Edges out of COMMIT.
    FromCommit from Commit {
        Infer(Awaited): "retry, next turn, or closing turn",
        Terminate(Outcome): "a predicate decided",
    }
}
