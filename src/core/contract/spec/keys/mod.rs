//! The table of keys: every name that a contract file may have, with its type, what holds where it is left out, and its meaning.
//!
//! Reading and `--set`, the factory's defaults, `contracts/contract-file.schema.json` and the tables of `docs/contract-file.md`
//! come from it. The order is that of the documentation.

mod agent;
mod file;
mod models;
mod tools;
mod web;

pub(in crate::contract) use agent::AGENT;
pub(in crate::contract) use file::{FILE, FileKeys};
pub(in crate::contract) use models::{
    MATCH, MODEL, PRICE, PRICES, PROFILE, PROFILE_SAMPLING, PROVIDER, SAMPLING, SamplingKeys,
    TARGET,
};
pub(in crate::contract) use tools::{
    APPROVAL_RULE, CONTEXT_BUDGET, CYCLE_EXCEPTION, FINAL_REPORT, FLOW_RULE, HTTP_GET, LABEL_RULE,
    MAX_CALLS, METADATA, OAUTH, QUEUE, REDACT, SANDBOX, SERVER, TOOL_OUTPUT_BUDGET, TOOLS,
};
pub(in crate::contract) use web::{OPENAPI, REST_TOOL, STREAMING};

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
