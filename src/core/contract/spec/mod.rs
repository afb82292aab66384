//! The author's file: YAML or JSON text and `--set` overrides in, a [`ContractSpec`] or every fault at once out.
//!
//! Knows the file's keys and types, the position of each value in the text, and which words look like which. It fills in
//! no default and knows no tool server: that is the factory's. The text is bounded (1 MiB, 32 levels, no aliases).
//!
//! ```text
//! text ─▶ tree (values with their places) ─▶ overrides ─▶ reader ─▶ ContractSpec
//!                                                            └────▶ SpecErrors (line, caret, rule, help)
//! ```

mod agent;
mod agent_definition;
mod agent_file;
mod agent_values;
mod agents;
mod builtin_terms;
mod contract_spec;
mod declare;
mod definitions;
mod delegated;
mod delegated_models;
mod error;
mod file;
mod fill;
mod flow_values;
mod foreign;
mod form;
mod keys;
mod origin;
mod parse;
mod pin_edit;
mod prices;
mod profiles;
mod reach;
mod reader;
mod reasoning;
mod reporter;
mod sampling;
mod schema;
mod secrets;
mod section;
#[cfg(test)]
pub(in crate::contract) mod tests;
#[cfg(test)]
mod tests_profile;
#[cfg(test)]
mod tests_schema;
#[cfg(test)]
mod tests_servers;
#[cfg(test)]
mod tests_work_file;
#[cfg(test)]
mod tests_workflow;
#[cfg(test)]
mod tests_yaml;
mod texts;
mod transport;
mod tree;
mod web_tools;
mod words;
mod work_file;
mod workflow_file;

pub use agent::{AGENT_SET, AgentSource, FORMAT, NO_MODEL, OF_PROVIDERS, PROFILE_SET, PROMPT_SET};
pub use agent_file::{
    AgentFiles, AgentForm, BrokenIncludes, IncludedText, KNOBS, prompt_names, unread_rule,
    with_includes, with_includes_below,
};
pub(crate) use contract_spec::AgentSpec;
pub use contract_spec::{AgentDefinition, InputSpec};
pub use definitions::{
    Definition, DefinitionKind, Definitions, LayerKey, LayerMapping, layer_term, parameter_term,
};
pub use delegated::{Delegator, task_of};
pub use error::SpecErrors;
pub use form::{FromLayer, Setting};
pub(in crate::contract) use keys::{
    CONTEXT_BUDGET, FILE, FINAL_REPORT, FileKeys, MODEL, OPENAPI, OpenapiKeys, PRICE, PRICES,
    PROFILE, PROVIDER, ProviderKeys, REST_TOOL, RestToolKeys, SAMPLING, SANDBOX, SERVER,
    SamplingKeys, SandboxKeys, ServerKeys, TARGET, TOOL_OUTPUT_BUDGET, TOOLS,
};
pub use keys::{ContractSpec, ProviderSpec, TargetSpec};
pub(crate) use keys::{FinalReportSpec, ModelSpec, SamplingSpec};
pub use origin::{FileTrust, LayerValue, ValueOrigin};
pub use pin_edit::with_pins;
pub use reporter::suggest;
pub use schema::{
    agent_profile_schema, contract_file_schema, work_file_schema, workflow_file_schema,
};
pub use transport::{McpSpec, McpTransport};
pub(crate) use work_file::{WorkFault, WorkFile, WorkItemEntry};
pub use workflow_file::{WorkflowSpec, tool_spec};
