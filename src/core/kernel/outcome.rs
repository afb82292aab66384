//! The ways in which a run can end, and their codes. Which of them a run ends in is for COMMIT and the guards.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The closed list of ways a run can end (002 §4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentOutcome {
    /// Success; at least one call was executed.
    CompletedWithTools,
    /// Success without an executed call.
    CompletedChatOnly,
    /// The run could not begin.
    FailedPreflight,
    /// A required tool call was not proven.
    FailedProtocolNoTools,
    /// The model's output was not canonical, and no format retry is left.
    FailedProtocolMalformed,
    /// Something that must have a form did not have it.
    FailedValidation,
    /// A budget does not allow the next step.
    FailedBudgetExhausted,
    /// Time ran out.
    FailedTimeout,
    /// The contract was broken.
    FailedContractViolation,
    /// The run was ended from outside.
    Interrupted,
}

/// The code that refines the class (semantics §3). The table there names the classes of each code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "docs/audit/semantics.md §3 describes each code once, in one table"
)]
pub enum OutcomeCode {
    FinalReport,
    TextFallback,
    Synthesis,
    FinalMessage,
    ToolResult,
    ContractInvalid,
    ContractHashMismatch,
    ProvenanceMissing,
    FormatVersion,
    ProfileIncompatible,
    ContextInfeasible,
    ModelUnavailable,
    ToolUnavailable,
    ToolChanged,
    BackendUnavailable,
    ProviderAuth,
    ProviderQuota,
    NoCallResponse,
    SynthesisWithoutTools,
    ProofNotSucceeded,
    FormatRetriesExhausted,
    ToolEnvelope,
    Arguments,
    FinalReportSchema,
    Refusal,
    ContentFilter,
    MaxTurnsExhausted,
    MaxInferences,
    MaxTokens,
    MaxCost,
    MaxCalls,
    IdenticalCalls,
    Context,
    AttemptsExhausted,
    StepTimeout,
    TotalTimeout,
    ForbiddenCall,
    ToolNotAllowed,
    CycleForbidden,
    TokenGate,
    ContractMutated,
    FlowForbidden,
    Stop,
    Abort,
    Shutdown,
    Parent,
}

/// The end of a run: a class and the code that refines it.
///
/// ```
/// use monolith_core::kernel::Outcome;
///
/// let end: Outcome = serde_json::from_str(r#"{"class": "COMPLETED_WITH_TOOLS", "code": "final_message"}"#)?;
/// assert_eq!(end.exit_code(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The class.
    pub class: AgentOutcome,
    /// The code.
    pub code: OutcomeCode,
}

impl AgentOutcome {
    /// All ten, in the order of 002 §4.5.
    pub const ALL: [Self; 10] = [
        Self::CompletedWithTools,
        Self::CompletedChatOnly,
        Self::FailedPreflight,
        Self::FailedProtocolNoTools,
        Self::FailedProtocolMalformed,
        Self::FailedValidation,
        Self::FailedBudgetExhausted,
        Self::FailedTimeout,
        Self::FailedContractViolation,
        Self::Interrupted,
    ];

    /// The class as 002 §4.5 writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CompletedWithTools => "COMPLETED_WITH_TOOLS",
            Self::CompletedChatOnly => "COMPLETED_CHAT_ONLY",
            Self::FailedPreflight => "FAILED_PREFLIGHT",
            Self::FailedProtocolNoTools => "FAILED_PROTOCOL_NO_TOOLS",
            Self::FailedProtocolMalformed => "FAILED_PROTOCOL_MALFORMED",
            Self::FailedValidation => "FAILED_VALIDATION",
            Self::FailedBudgetExhausted => "FAILED_BUDGET_EXHAUSTED",
            Self::FailedTimeout => "FAILED_TIMEOUT",
            Self::FailedContractViolation => "FAILED_CONTRACT_VIOLATION",
            Self::Interrupted => "INTERRUPTED",
        }
    }

    /// True if the run succeeded.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self, Self::CompletedWithTools | Self::CompletedChatOnly)
    }
}

impl OutcomeCode {
    /// The code as it is written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FinalReport => "final_report",
            Self::TextFallback => "text_fallback",
            Self::Synthesis => "synthesis",
            Self::FinalMessage => "final_message",
            Self::ToolResult => "tool_result",
            Self::ContractInvalid => "contract_invalid",
            Self::ContractHashMismatch => "contract_hash_mismatch",
            Self::ProvenanceMissing => "provenance_missing",
            Self::FormatVersion => "format_version",
            Self::ProfileIncompatible => "profile_incompatible",
            Self::ContextInfeasible => "context_infeasible",
            Self::ModelUnavailable => "model_unavailable",
            Self::ToolUnavailable => "tool_unavailable",
            Self::ToolChanged => "tool_changed",
            Self::BackendUnavailable => "backend_unavailable",
            Self::ProviderAuth => "provider_auth",
            Self::ProviderQuota => "provider_quota",
            Self::NoCallResponse => "no_call_response",
            Self::SynthesisWithoutTools => "synthesis_without_tools",
            Self::ProofNotSucceeded => "proof_not_succeeded",
            Self::FormatRetriesExhausted => "format_retries_exhausted",
            Self::ToolEnvelope => "tool_envelope",
            Self::Arguments => "arguments",
            Self::FinalReportSchema => "final_report_schema",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::MaxTurnsExhausted => "max_turns_exhausted",
            Self::MaxInferences => "max_inferences",
            Self::MaxTokens => "max_tokens",
            Self::MaxCost => "max_cost",
            Self::MaxCalls => "max_calls",
            Self::IdenticalCalls => "identical_calls",
            Self::Context => "context",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::StepTimeout => "step_timeout",
            Self::TotalTimeout => "total_timeout",
            Self::ForbiddenCall => "forbidden_call",
            Self::ToolNotAllowed => "tool_not_allowed",
            Self::CycleForbidden => "cycle_forbidden",
            Self::TokenGate => "token_gate",
            Self::ContractMutated => "contract_mutated",
            Self::FlowForbidden => "flow_forbidden",
            Self::Stop => "stop",
            Self::Abort => "abort",
            Self::Shutdown => "shutdown",
            Self::Parent => "parent",
        }
    }
}

impl Outcome {
    /// A class refined by a code.
    #[must_use]
    pub const fn new(class: AgentOutcome, code: OutcomeCode) -> Self {
        Self { class, code }
    }

    /// The process exit code (semantics §3): a total function, no text is ever matched.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self.class {
            AgentOutcome::CompletedWithTools | AgentOutcome::CompletedChatOnly => 0,
            AgentOutcome::FailedPreflight if self.code.is_absence() => 3,
            AgentOutcome::FailedPreflight if self.code.is_providers_refusal() => 1,
            AgentOutcome::FailedPreflight => 4,
            AgentOutcome::FailedValidation if self.code.is_models_refusal() => 1,
            AgentOutcome::FailedValidation => 5,
            AgentOutcome::FailedProtocolNoTools
            | AgentOutcome::FailedProtocolMalformed
            | AgentOutcome::FailedBudgetExhausted
            | AgentOutcome::FailedTimeout
            | AgentOutcome::FailedContractViolation
            | AgentOutcome::Interrupted => 1,
        }
    }
}

impl OutcomeCode {
    /// True if something that the run needs is missing or has changed.
    const fn is_absence(self) -> bool {
        matches!(
            self,
            Self::ToolUnavailable | Self::ToolChanged | Self::BackendUnavailable
        )
    }

    const fn is_providers_refusal(self) -> bool {
        matches!(self, Self::ProviderAuth | Self::ProviderQuota)
    }

    const fn is_models_refusal(self) -> bool {
        matches!(self, Self::Refusal | Self::ContentFilter)
    }
}

impl fmt::Display for AgentOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for OutcomeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.class, self.code)
    }
}
