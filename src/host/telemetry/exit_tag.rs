//! Exit tags and exit codes (001 §1). A function of the run's record; does not exit.

use std::fmt;

use serde::Serialize;

use monolith_core::kernel::{Outcome, OutcomeCode};
use monolith_core::view::{LastRequest, RunView};

use super::provider_refusal::last_request;

/// The end of a run or of a dry run, as one of the words that 001 §1 and §13 give to scripts and people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "&'static str")]
#[expect(
    missing_docs,
    reason = "docs/accounting.md describes each tag once, in one table"
)]
pub enum ExitTag {
    FinalAnswer,
    ApprovalRequired,
    AuthFailure,
    Budget,
    Configuration,
    ContractViolation,
    DryRun,
    InvalidResponse,
    LlmTimeout,
    MaxRetries,
    MaxTurnsNoResponse,
    NoProviders,
    NoToolCall,
    ParentStop,
    QuotaExceeded,
    Refused,
    SignalReceived,
    Timeout,
    TokenLimit,
    ToolFailure,
    ToolNotAvailable,
    UncaughtException,
    UserStop,
}

impl ExitTag {
    /// Every tag.
    pub const ALL: [Self; 23] = [
        Self::FinalAnswer,
        Self::ApprovalRequired,
        Self::AuthFailure,
        Self::Budget,
        Self::Configuration,
        Self::ContractViolation,
        Self::DryRun,
        Self::InvalidResponse,
        Self::LlmTimeout,
        Self::MaxRetries,
        Self::MaxTurnsNoResponse,
        Self::NoProviders,
        Self::NoToolCall,
        Self::ParentStop,
        Self::QuotaExceeded,
        Self::Refused,
        Self::SignalReceived,
        Self::Timeout,
        Self::TokenLimit,
        Self::ToolFailure,
        Self::ToolNotAvailable,
        Self::UncaughtException,
        Self::UserStop,
    ];

    /// The tag of a run that ended so: that of the outcome, except where the last request met `llm_timeout_ms`.
    pub fn of_run(view: &RunView, outcome: Outcome) -> Self {
        if matches!(last_request(view), Some(LastRequest::Slow)) {
            return Self::LlmTimeout;
        }
        Self::of(outcome)
    }

    /// The tag of an outcome.
    #[must_use]
    pub const fn of(outcome: Outcome) -> Self {
        if outcome.class.is_success() {
            return Self::FinalAnswer;
        }
        match outcome.code {
            // Codes of a success that stand under another class stand there by no rule.
            OutcomeCode::FinalReport
            | OutcomeCode::TextFallback
            | OutcomeCode::Synthesis
            | OutcomeCode::FinalMessage
            | OutcomeCode::ToolResult => Self::UncaughtException,
            OutcomeCode::ContractInvalid
            | OutcomeCode::ContractHashMismatch
            | OutcomeCode::ProvenanceMissing
            | OutcomeCode::FormatVersion
            | OutcomeCode::ProfileIncompatible => Self::Configuration,
            OutcomeCode::ContextInfeasible | OutcomeCode::Context => Self::TokenLimit,
            OutcomeCode::ToolUnavailable | OutcomeCode::ToolChanged => Self::ToolNotAvailable,
            OutcomeCode::BackendUnavailable | OutcomeCode::ModelUnavailable => Self::NoProviders,
            OutcomeCode::ProviderAuth => Self::AuthFailure,
            OutcomeCode::ProviderQuota => Self::QuotaExceeded,
            OutcomeCode::NoCallResponse | OutcomeCode::SynthesisWithoutTools => Self::NoToolCall,
            OutcomeCode::ProofNotSucceeded | OutcomeCode::ToolEnvelope => Self::ToolFailure,
            OutcomeCode::FormatRetriesExhausted
            | OutcomeCode::Arguments
            | OutcomeCode::FinalReportSchema => Self::InvalidResponse,
            OutcomeCode::Refusal | OutcomeCode::ContentFilter => Self::Refused,
            OutcomeCode::MaxTurnsExhausted => Self::MaxTurnsNoResponse,
            OutcomeCode::MaxInferences
            | OutcomeCode::MaxTokens
            | OutcomeCode::MaxCost
            | OutcomeCode::MaxCalls
            | OutcomeCode::IdenticalCalls => Self::Budget,
            OutcomeCode::AttemptsExhausted => Self::MaxRetries,
            OutcomeCode::StepTimeout | OutcomeCode::TotalTimeout => Self::Timeout,
            OutcomeCode::ForbiddenCall
            | OutcomeCode::ToolNotAllowed
            | OutcomeCode::CycleForbidden
            | OutcomeCode::TokenGate
            | OutcomeCode::ContractMutated
            | OutcomeCode::FlowForbidden => Self::ContractViolation,
            OutcomeCode::Stop | OutcomeCode::Abort => Self::UserStop,
            OutcomeCode::Shutdown => Self::SignalReceived,
            OutcomeCode::Parent => Self::ParentStop,
        }
    }

    /// The tag of a command that has no outcome, because no run was begun or it was cut off: the exit code says whose fault
    /// that was.
    #[must_use]
    pub const fn without_outcome(exit_code: u8) -> Self {
        match exit_code {
            3 => Self::ToolNotAvailable,
            4 => Self::Configuration,
            _ => Self::UncaughtException,
        }
    }

    /// The tag as it is printed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FinalAnswer => "EXIT-FINAL-ANSWER",
            Self::ApprovalRequired => "EXIT-APPROVAL-REQUIRED",
            Self::AuthFailure => "EXIT-AUTH-FAILURE",
            Self::Budget => "EXIT-BUDGET",
            Self::Configuration => "EXIT-CONFIGURATION",
            Self::ContractViolation => "EXIT-CONTRACT-VIOLATION",
            Self::DryRun => "EXIT-DRY-RUN",
            Self::InvalidResponse => "EXIT-INVALID-RESPONSE",
            Self::LlmTimeout => "EXIT-LLM-TIMEOUT",
            Self::MaxRetries => "EXIT-MAX-RETRIES",
            Self::MaxTurnsNoResponse => "EXIT-MAX-TURNS-NO-RESPONSE",
            Self::NoProviders => "EXIT-NO-PROVIDERS",
            Self::NoToolCall => "EXIT-NO-TOOL-CALL",
            Self::ParentStop => "EXIT-PARENT-STOP",
            Self::QuotaExceeded => "EXIT-QUOTA-EXCEEDED",
            Self::Refused => "EXIT-REFUSED",
            Self::SignalReceived => "EXIT-SIGNAL-RECEIVED",
            Self::Timeout => "EXIT-TIMEOUT",
            Self::TokenLimit => "EXIT-TOKEN-LIMIT",
            Self::ToolFailure => "EXIT-TOOL-FAILURE",
            Self::ToolNotAvailable => "EXIT-TOOL-NOT-AVAILABLE",
            Self::UncaughtException => "EXIT-UNCAUGHT-EXCEPTION",
            Self::UserStop => "EXIT-USER-STOP",
        }
    }
}

impl From<ExitTag> for &'static str {
    fn from(tag: ExitTag) -> Self {
        tag.as_str()
    }
}

impl fmt::Display for ExitTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::kernel::AgentOutcome;

    /// 001/13.appendices.2
    #[test]
    fn an_outcome_has_one_tag_whatever_the_words_around_it() {
        use AgentOutcome as Class;
        use OutcomeCode as Code;
        let check = |class, code, expect: &str| {
            assert_eq!(ExitTag::of(Outcome::new(class, code)).as_str(), expect);
        };
        check(
            Class::CompletedWithTools,
            Code::FinalReport,
            "EXIT-FINAL-ANSWER",
        );
        check(
            Class::CompletedChatOnly,
            Code::Synthesis,
            "EXIT-FINAL-ANSWER",
        );
        check(
            Class::FailedPreflight,
            Code::ContractInvalid,
            "EXIT-CONFIGURATION",
        );
        check(
            Class::FailedPreflight,
            Code::ContextInfeasible,
            "EXIT-TOKEN-LIMIT",
        );
        check(
            Class::FailedBudgetExhausted,
            Code::Context,
            "EXIT-TOKEN-LIMIT",
        );
        check(Class::FailedBudgetExhausted, Code::MaxCost, "EXIT-BUDGET");
        check(
            Class::FailedBudgetExhausted,
            Code::MaxTurnsExhausted,
            "EXIT-MAX-TURNS-NO-RESPONSE",
        );
        check(
            Class::FailedPreflight,
            Code::ProviderAuth,
            "EXIT-AUTH-FAILURE",
        );
        check(
            Class::FailedBudgetExhausted,
            Code::ProviderAuth,
            "EXIT-AUTH-FAILURE",
        );
        check(
            Class::FailedValidation,
            Code::ToolEnvelope,
            "EXIT-TOOL-FAILURE",
        );
        check(Class::Interrupted, Code::Stop, "EXIT-USER-STOP");
        check(Class::Interrupted, Code::Shutdown, "EXIT-SIGNAL-RECEIVED");
    }

    #[test]
    fn only_a_success_is_a_final_answer() {
        for class in AgentOutcome::ALL {
            let tag = ExitTag::of(Outcome::new(class, OutcomeCode::FinalMessage));
            assert_eq!(tag == ExitTag::FinalAnswer, class.is_success(), "{class}");
        }
        for exit_code in 0..=u8::MAX {
            assert_ne!(ExitTag::without_outcome(exit_code), ExitTag::FinalAnswer);
        }
    }

    #[test]
    fn the_documentation_names_every_tag() {
        let page = include_str!("../../../docs/accounting.md");
        for tag in ExitTag::ALL {
            assert!(page.contains(&format!("| `{tag}` |")), "{tag}");
        }
    }
}
