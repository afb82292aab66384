//! The table of keys: every name that a contract file may have, with its type, what holds where it is left out, and its meaning.
//!
//! The structs that hold them, reading and `--set`, the factory's defaults, `contracts/contract-file.schema.json` and the tables of `docs/contract-file.md`
//! come from it. The order is that of the documentation.

mod file;
mod models;
mod tools;
mod web;

pub(super) use file::AgentEntry;
pub use file::ContractSpec;
pub(in crate::contract) use file::{AGENT, FILE, FileKeys};
pub(super) use models::PriceEntry;
#[cfg(test)]
use models::{MATCH, PROFILE_SAMPLING};
pub(in crate::contract) use models::{
    MODEL, PRICE, PRICES, PROFILE, PROVIDER, ProviderKeys, SAMPLING, SamplingKeys, TARGET,
};
pub(crate) use models::{ModelSpec, SamplingSpec};
pub use models::{ProviderSpec, TargetSpec};
pub(crate) use tools::FinalReportSpec;
#[cfg(test)]
use tools::{APPROVAL_RULE, CYCLE_EXCEPTION, FLOW_RULE, LABEL_RULE, METADATA};
pub(in crate::contract) use tools::{
    CONTEXT_BUDGET, FINAL_REPORT, HTTP_GET, MAX_CALLS, OAUTH, QUEUE, REDACT, SANDBOX, SERVER,
    SandboxKeys, ServerKeys, TOOL_OUTPUT_BUDGET, TOOLS,
};
pub(super) use tools::{ContextBudgetSpec, ServerEntry, ToolOutputBudgetSpec, ToolsEntry};
pub(in crate::contract) use web::{OPENAPI, OpenapiKeys, REST_TOOL, RestToolKeys, STREAMING};
pub(super) use web::{OpenapiEntry, RestEntry};

/// Every mapping of the file.
#[cfg(test)]
pub(super) static FORMS: &[&dyn super::form::Form] = &[
    &FILE,
    &TARGET,
    &PROVIDER,
    &MODEL,
    &SAMPLING,
    &PROFILE,
    &PROFILE_SAMPLING,
    &MATCH,
    &PRICES,
    &PRICE,
    &TOOLS,
    &SANDBOX,
    &HTTP_GET,
    &SERVER,
    &OAUTH,
    &REST_TOOL,
    &OPENAPI,
    &STREAMING,
    &QUEUE,
    &MAX_CALLS,
    &METADATA,
    &CYCLE_EXCEPTION,
    &APPROVAL_RULE,
    &LABEL_RULE,
    &FLOW_RULE,
    &TOOL_OUTPUT_BUDGET,
    &CONTEXT_BUDGET,
    &FINAL_REPORT,
    &REDACT,
    &AGENT,
];
