//! The guards of the machine, by name, so that a test can take each of them away and see the proof fail.
//!
//! In a release build [`holds`] is its condition and nothing else. A build with debug assertions can disable guards on a thread, for
//! the tests of this crate and of the conformance crate.

macro_rules! guards {
    ($($name:ident),+ $(,)?) => {
        /// A condition that something dangerous depends on.
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[cfg_attr(
            not(debug_assertions),
            expect(unreachable_pub, reason = "a release build does not export it")
        )]
        pub enum Guard { $($name),+ }

        #[cfg(debug_assertions)]
        impl Guard {
            /// Every guard there is.
            pub const ALL: &[Self] = &[$(Self::$name),+];
        }
    };
}

guards! {
    Interrupted,
    TotalTimeout,
    StepTimeout,
    WaitFits,
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
    EarlyReads,
    EarlyUnchanged,
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
    PlainText,
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
    UnknownStop,
    RuleDenies,
    RuleAsks,
    Approvers,
    DelegationChain,
    DelegationDepth,
    DelegationBudget,
    DelegationReserve,
    GrantWorstCase,
}

/// Returns `condition`; a release build does nothing else.
#[cfg(not(debug_assertions))]
#[inline]
pub(super) const fn holds(_guard: Guard, condition: bool) -> bool {
    condition
}

#[cfg(debug_assertions)]
pub(super) use mutation::holds;

#[cfg(debug_assertions)]
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
    pub fn without<T>(guards: &[Guard], body: impl FnOnce() -> T) -> T {
        DISABLED.with_borrow_mut(|disabled| *disabled = guards.to_vec());
        let result = body();
        DISABLED.with_borrow_mut(Vec::clear);
        result
    }
}
