//! The guards of the machine, by name, so that a test can take each of them away and see the proof fail.
//!
//! In the shipped machine [`holds`] is its condition and nothing else. Only a unit test of this crate can disable a guard.

macro_rules! guards {
    ($($name:ident),+ $(,)?) => {
        /// A condition that something dangerous depends on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Guard { $($name),+ }

        #[cfg(test)]
        impl Guard {
            /// Every guard there is.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

guards! {
    Interrupted,
    TotalTimeout,
    StepTimeout,
    TokensExceeded,
    CostExceeded,
    CallLimit,
    IdenticalCalls,
    GateBreached,
    ContractMutated,
    MaxResumes,
    ForbiddenCall,
    ToolNotAllowed,
    CycleForbidden,
    FlowAsked,
    FlowDenied,
    FlowHandedDown,
    FlowInherited,
    FlowReport,
    RequiredProof,
    MalformedEnvelope,
    FatalProviderFault,
    FormatRetries,
    Refused,
    ProviderAttempts,
    RequiredAttempts,
    StrictRecovered,
    StrictRefuses,
    InvalidTurns,
    NoTargetLeft,
    FirstRequestFits,
    Suspended,
    ExcessCalls,
    ClosingWithholds,
    StopStartsNothing,
    Stop,
    ContextRatio,
    ContextFit,
    ResultFit,
    ClosingProof,
    ClosingSpent,
    LastTurn,
    NextInference,
    NextTokens,
    NextCost,
    AttemptLimit,
    BlankResponse,
    CutResponse,
    RefusedResponse,
    ValidateHead,
    ReportAttempts,
    ReportFailed,
    ReportOnly,
    ReportProof,
    UnreadableCall,
    RuleDenies,
    RuleAsks,
    Approvers,
    DelegationChain,
    DelegationDepth,
    DelegationBudget,
    DelegationReserve,
    GrantWorstCase,
}

/// Whether `condition` holds; the shipped machine asks nothing else.
#[cfg(not(test))]
#[inline]
pub(super) const fn holds(_guard: Guard, condition: bool) -> bool {
    condition
}

#[cfg(test)]
pub(super) use mutation::holds;

#[cfg(test)]
pub(super) mod mutation {
    use std::cell::RefCell;

    use super::Guard;

    thread_local! {
        static DISABLED: RefCell<Vec<Guard>> = const { RefCell::new(Vec::new()) };
    }

    pub(in crate::kernel) fn holds(guard: Guard, condition: bool) -> bool {
        condition && DISABLED.with_borrow(|disabled| !disabled.contains(&guard))
    }

    /// Runs `body` with `guards` taken away on this thread.
    pub(crate) fn without<T>(guards: &[Guard], body: impl FnOnce() -> T) -> T {
        DISABLED.with_borrow_mut(|disabled| *disabled = guards.to_vec());
        let result = body();
        DISABLED.with_borrow_mut(Vec::clear);
        result
    }
}
