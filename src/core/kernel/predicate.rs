//! Names and numbers of the predicates. What each one tests stands in `commit.rs`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::child_run::Delegated;
use super::{AgentOutcome, Outcome, OutcomeCode};
use crate::contract::ToolProof;
use crate::message::{EnvelopeStatus, ToolEnvelope};

/// The predicate that decided, by its number in semantics §2 and its name. Item 0 is PRECHECK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// 1 to 7 as in semantics §2; 0 for the checks of PRECHECK.
    pub item: u8,
    /// Its name.
    pub name: PredicateName,
}

/// The name of a predicate of semantics §2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredicateName {
    /// A check of PRECHECK failed.
    CheckFailed,
    /// Every check of PRECHECK passed.
    ChecksPassed,
    /// Abort, shutdown or parent.
    Interrupted,
    /// The run took longer than `total_timeout_ms`.
    TotalTimeout,
    /// The turn took longer than `step_timeout_ms`.
    StepTimeout,
    /// A budget is already exceeded.
    BudgetExceeded,
    /// The contract was broken.
    ContractViolation,
    /// `required`, a terminal response, and no proof.
    RequiredWithoutProof,
    /// A tool's answer was no valid envelope.
    MalformedEnvelope,
    /// The provider's fault allows no retry.
    FatalProviderFault,
    /// So many turns in a row asked for tools by names or with arguments that are refused.
    InvalidTurns,
    /// No target is left that takes the request.
    NoTargetLeft,
    /// A rejection, and no format retry left.
    FormatRetriesExhausted,
    /// Every target of the turn refused, or its attempts were used up by refusals.
    Refused,
    /// The turn's attempts were used up.
    AttemptsExhausted,
    /// The final report failed: closing turn, or the end where that was it.
    FinalReportFailed,
    /// Two responses in a row were plain text where a final report is asked for: closing turn.
    PlainText,
    /// The context is used up: closing turn.
    Context,
    /// An acceptable terminal response, and the policy is satisfied.
    TerminalResponse,
    /// The call that is an input of the run has ended.
    GivenCall,
    /// A stop was asked for: closing turn, or the end where none is possible.
    Stop,
    /// The next request would exceed a limit.
    NextExceedsBudget,
    /// The closing turn is due and may not begin without proof.
    SynthesisWithoutProof,
    /// Again in the same turn.
    Retry,
    /// The next turn.
    NextTurn,
    /// The last turn: closing.
    LastTurn,
}

impl PredicateName {
    /// A sentence fragment for people.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::CheckFailed => "a preflight check failed",
            Self::ChecksPassed => "every preflight check passed",
            Self::Interrupted => "interrupted",
            Self::TotalTimeout => "total timeout exceeded",
            Self::StepTimeout => "step timeout exceeded",
            Self::BudgetExceeded => "budget exceeded",
            Self::ContractViolation => "contract violated",
            Self::RequiredWithoutProof => "terminal response without the required tool proof",
            Self::MalformedEnvelope => "malformed tool envelope",
            Self::FatalProviderFault => "fatal provider fault",
            Self::FormatRetriesExhausted => "rejected, no format retry left",
            Self::InvalidTurns => "too many turns in a row with refused calls only",
            Self::NoTargetLeft => "no target is left that takes the request",
            Self::Refused => "refused by every target asked",
            Self::AttemptsExhausted => "attempts of the turn used up",
            Self::FinalReportFailed => "the final report failed",
            Self::PlainText => "plain text twice in a row",
            Self::Context => "context used up",
            Self::TerminalResponse => "terminal response, policy satisfied",
            Self::GivenCall => "the call that the run was given has ended",
            Self::Stop => "stop requested",
            Self::NextExceedsBudget => "the next request would exceed a budget",
            Self::SynthesisWithoutProof => "closing turn due without the required tool proof",
            Self::Retry => "retry",
            Self::NextTurn => "next turn",
            Self::LastTurn => "last turn",
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "predicate {}: {}", self.item, self.name.describe())
    }
}

/// Proof that a validated call of this run was executed, in the sense of the contract's `tool_proof`.
///
/// Has no constructor but [`Proof::from_executed`], no Default and no Deserialize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    _made_by_observe: (),
}

impl Proof {
    /// The proof that an executed call gives, if its envelope is of the kind that the contract asks for.
    /// A call of an agent gives one of lineage where a tool of its run, or of one below it, returned an ok envelope.
    pub(super) fn from_executed(
        envelope: &ToolEnvelope,
        kind: ToolProof,
        delegated: Option<&Delegated>,
    ) -> Option<Self> {
        let is_ok = envelope.status == EnvelopeStatus::Ok;
        let counts = match kind {
            ToolProof::Executed => true,
            ToolProof::Succeeded => is_ok,
            ToolProof::Lineage => delegated.map_or(is_ok, |below| below.tools_ok > 0),
        };
        counts.then_some(Self {
            _made_by_observe: (),
        })
    }
}

/// Success under `required`: impossible to call without a proof.
pub(super) fn required_success(_proof: Proof, code: OutcomeCode) -> Outcome {
    Outcome::new(AgentOutcome::CompletedWithTools, code)
}

/// Success under `optional` and `forbidden`: with tools exactly where a call was executed.
pub(super) const fn unproven_success(executed: u64, code: OutcomeCode) -> Outcome {
    let class = if executed > 0 {
        AgentOutcome::CompletedWithTools
    } else {
        AgentOutcome::CompletedChatOnly
    };
    Outcome::new(class, code)
}
