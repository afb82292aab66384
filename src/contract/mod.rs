//! The execution contract: what a run may do, fixed before its first inference.
//!
//! Knows the immutable [`ExecutionContract`] (002 §4.1), the author's file it is made from, the
//! [`CapabilityManifest`] that bring-up found, the factory that turns both into a contract, the intent rules
//! that choose a tool policy, pins, profiles, and the compiled argument validators. It is pure: the same file and the
//! same manifest give the same bytes, whatever the machine, the folder or the time (semantics §8). It does not know how
//! tools are started, how a provider is reached, or what the machine does with the terms.
//!
//! ```text
//! file text ─▶ spec ─┐
//!                    ├─▶ ContractFactory ─▶ ExecutionContract ─▶ contract_hash
//! bring-up ─▶ manifest┘
//! ```

mod check;
mod document_schema;
mod execution_contract;
mod factory;
mod factory_error;
mod final_report;
mod grammar;
mod intent;
mod manifest;
mod prices;
mod profile;
mod redaction;
mod report_reader;
mod sampling;
mod schema_bounds;
mod server_name;
mod session_tools;
mod spec;
mod targets;
mod terms;
#[cfg(test)]
mod tests;
mod text_profile;
mod validators;

pub use check::{
    ToolFault, context_feasible, profile_faults, structure_faults, tool_faults, tool_faults_with,
};
pub use document_schema::contract_schema;
#[cfg(test)]
pub(crate) use execution_contract::canonical;
pub use execution_contract::{ContractDecodeError, ExecutionContract};
pub use factory::ContractFactory;
pub use factory_error::FactoryError;
pub use final_report::{FinalReport, FinalReportTerms, ReportContent, ReportFormat};
pub use grammar::{CALL_CLOSE, CALL_OPEN, GateGrammar, GrammarFault, GrammarLanguage};
pub use intent::{IntentPolicyResolver, Resolution};
pub use manifest::{
    CapabilityManifest, ServerCapability, TargetCapability, ToolCapability, ToolPin,
};
pub use prices::{ModelPrice, PriceTable};
pub use profile::{ModelProfile, ProfileMatch, SamplingDefaults};
pub use redaction::{
    RedactionTerms, SECRET_MARKER, placeholders, recorded_url, secret_pattern, url_secrets,
};
pub use schema_bounds::inexact_integer_at;
pub use server_name::check_server_name;
#[cfg(test)]
pub(crate) use session_tools::session_tools;
pub use session_tools::{BATCH, FINAL_REPORT, PROGRESS_REPORT, SessionTool};
pub use spec::{
    BUILTIN_TOOLS, ContextBudgetSpec, ContractSpec, FinalReportSpec, McpSpec, McpTransport,
    ModelSpec, ProviderSpec, ReasoningMap, SamplingSpec, Setting, SpecError, SpecErrors,
    TargetSpec, ToolOutputBudgetSpec, ToolsSpec,
};
pub use targets::{
    PromptLayout, ProviderTerms, ProviderType, ReasoningValue, Sampling, TargetTerms,
};
pub use terms::{
    BigCount, CONTRACT_FORMAT, CallLimits, Completion, ContextBudget, ContractMetadata,
    CycleException, Grounds, Page, PolicyDecision, QueueTerms, SEMANTICS_VERSION, ServerKind,
    ServerTerms, Terms, ToolOutputBudget, ToolPolicy, ToolProof, ToolTerms, ToolTransport,
};
pub use text_profile::TextProfile;
pub use validators::{ArgumentFault, Validators};
