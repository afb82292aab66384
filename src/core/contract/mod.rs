//! The execution contract: what a run may do, fixed before its first inference.
//!
//! Knows the immutable [`ExecutionContract`] (002 §4.1), the author's file it is made from, the
//! [`CapabilityManifest`] that bring-up found, the factory that turns both into a contract, the intent rules
//! that choose a tool policy, pins, profiles, and the compiled argument validators. It is pure: the same file and the
//! same manifest give the same bytes, whatever the machine, the folder or the time (semantics §8). It does not know how
//! tools are started, how a provider is reached, or what the machine does with the terms.
//!
//! ```text
//! file text ─▶ spec ─────────────┐
//!                                ├─▶ ContractFactory ─▶ ContractDraft ─┐
//! bring-up ─▶ targets' models ───┘                                     ├─▶ ExecutionContract ─▶ contract_hash
//!          └▶ what tool servers offer ─────────────────────────────────┘
//!
//! recorded contract ─▶ AuthorForm ─▶ the same file, for changes of it
//! ```

mod agent_terms;
mod approval_check;
mod approval_rule;
mod author_form;
mod big_count;
mod catalogue;
mod check;
mod compiled_schema;
mod delegate_terms;
mod delegates;
mod delegation_check;
mod draft;
mod execution_contract;
mod factory;
mod factory_error;
mod final_report;
mod flow_check;
mod grammar;
mod hidden_characters;
mod http_get_terms;
mod information_flow;
mod intent;
mod manifest;
mod masking;
mod model_check;
mod model_facts;
mod oauth_terms;
mod offer_difference;
mod offered_tools;
mod pinned_offers;
mod prices;
mod private_network;
mod profile;
mod profile_check;
mod provider_filter;
mod reached_servers;
mod redaction;
mod report_reader;
mod rest;
mod ruling;
mod sampling;
mod sandbox_terms;
mod schema_bounds;
mod secret_names;
mod server_terms;
mod session_tools;
mod signature;
mod simple_command;
mod spec;
mod targets;
mod terms;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_document_schema;
mod tokenizer;
mod tool_filter;
mod tool_hints;
mod tool_labels;
mod tool_pattern;
mod typed_schema;
mod validators;
mod value_bounds;
mod wire_names;
mod wire_schema;
pub(crate) mod wire_version;
mod work_outcome;
mod workflow;
mod yaml;

pub(crate) use agent_terms::{AbilityTerms, Confidence, Signal};
pub use agent_terms::{AgentId, AgentProfile, AgentScore, AgentSelection, AgentTerms, SignalKind};
pub use approval_rule::ApprovalAction;
pub(crate) use approval_rule::ApprovalRule;
pub use approval_rule::RulePlace;
pub use author_form::{AuthorForm, ChangedError};
pub use big_count::{BigCount, inexact_integer_at};
pub use catalogue::{known_retirement, known_window};
pub(crate) use check::ToolFault;
pub use check::{
    context_feasible, contract_warnings, structure_faults, tool_faults_with, tool_warnings,
    unknown_windows,
};
pub(crate) use compiled_schema::{ArgumentFault, place_of};
pub use delegate_terms::DelegationGrant;
pub(crate) use delegate_terms::{AGENT_PREFIX, AGENTS, DEFAULT_MAX_DEPTH};
pub use delegate_terms::{AgentLink, DelegateTerms, DelegationTerms};
pub use delegates::{delegation_below, ungranted};
pub use draft::ContractDraft;
#[cfg(test)]
pub(crate) use execution_contract::canonical;
pub(crate) use execution_contract::check_document_size;
pub use execution_contract::{ContractDecodeError, ExecutionContract};
pub use factory::ContractFactory;
pub use factory_error::{FactoryError, NAME_RULE};
pub(crate) use final_report::FinalReportTerms;
pub use final_report::{FINAL_REPORT, FinalReport, ReportContent, ReportFormat};
pub use grammar::{CALL_CLOSE, CALL_OPEN, GateGrammar, GrammarLanguage, gate_awaits_tools};
pub use http_get_terms::{HostPattern, HttpGetTerms, WebScheme, check_address};
pub(crate) use http_get_terms::{MOST_BODY_BYTES, MOST_HOSTS, MOST_REDIRECTS};
pub use information_flow::{FlowAction, Label};
pub(crate) use information_flow::{FlowRule, LabelRule};
pub use intent::IntentPolicyResolver;
pub(crate) use intent::Resolution;
pub use manifest::ToolPin;
pub use manifest::{CapabilityManifest, ServerCapability, TargetCapability, ToolCapability};
pub use masking::{MASK, masked_argument, masked_text, masked_value, masked_whole, masked_words};
pub use model_facts::{ModelFacts, ThinkingForm};
pub use oauth_terms::{OAuthGrant, OAuthTerms};
pub use offer_difference::change_of_tool;
pub use offered_tools::is_tool_name;
pub use pinned_offers::{PinnedOffers, changed_offers, pins_schema};
pub(crate) use prices::RunPrices;
pub use prices::{ModelPrice, PriceTable};
pub(crate) use private_network::MOST_NETWORKS;
pub use private_network::PrivateNetwork;
pub use profile::ModelProfile;
pub(crate) use profile::{ProfileMatch, SamplingDefaults};
pub use profile_check::profile_faults;
pub use reached_servers::{server_sandbox, shell_sandbox};
pub use redaction::{RedactionTerms, placeholders, recorded_url, url_secrets};
pub(crate) use redaction::{SECRET_MARKER, secret_pattern};
pub(crate) use rest::{DefinitionFault, RestTerms};
pub use rest::{
    HttpMethod, HttpOperation, ImportTerms, Imported, OpenapiFault, OpenapiTerms, RequestFault,
    RequestParts, RestTool, StreamReader, StreamTerms, WebLimits, imported, recorded_template,
    without_parameters,
};
pub(crate) use ruling::Ruling;
pub(crate) use sandbox_terms::Network;
pub use sandbox_terms::{SandboxSpec, SandboxTerms};
pub use secret_names::{
    ADDRESS_PASSWORD, SHORTEST_RANDOM, is_certainly_secret, is_stand_in, looks_random,
    names_a_secret, random_argument,
};
pub use server_terms::{
    Beside, Elicitation, HOST, HealthProbe, McpTerms, REST_PREFIX, Remote, ServerTerms, own_name,
};
pub use server_terms::{ServerKind, check_server_name};
#[cfg(test)]
pub(crate) use session_tools::session_tools;
pub(crate) use session_tools::{BATCH, PROGRESS_REPORT, SessionTool};
pub(crate) use signature::signature;
pub use spec::{
    AGENT_SET, AgentFiles, AgentForm, AgentSource, BrokenIncludes, FORMAT, IncludedText, InputSpec,
    KNOBS, NO_MODEL, OF_PROVIDERS, PROFILE_SET, PROMPT_SET, prompt_names, unread_rule,
    with_includes, with_includes_below,
};
pub use spec::{
    AgentDefinition, Definition, DefinitionKind, Definitions, Delegator, FileTrust, LayerValue,
    McpSpec, McpTransport, ProviderSpec, Setting, TargetSpec, ValueOrigin, WorkflowSpec,
    agent_profile_schema, contract_file_schema, suggest, task_of, tool_spec, with_pins,
    work_file_schema, workflow_file_schema,
};
pub(crate) use spec::{
    AgentSpec, FinalReportSpec, ModelSpec, SamplingSpec, WorkFault, WorkFile, WorkItemEntry,
};
pub use spec::{ContractSpec, SpecErrors};
pub use spec::{FromLayer, LayerKey, LayerMapping, layer_term, parameter_term};
pub use targets::ParameterOrigin;
pub use targets::{PromptLayout, ProviderTerms, ReasoningValue};
pub use targets::{ProviderType, TextProfile};
pub(crate) use targets::{Sampling, TargetTerms};
pub use terms::{
    CONTRACT_FORMAT, Completion, Grounds, QueueTerms, SEMANTICS_VERSION, TermFault, Terms,
    ToolPolicy, ToolProof, ToolTerms, ToolTransport,
};
pub(crate) use terms::{
    CallLimits, ContextBudget, ContractMetadata, CycleException, MAX_REPEATS, Page, PolicyDecision,
    ToolOutputBudget,
};
pub(crate) use tokenizer::Counting;
pub use tokenizer::Tokenizer;
pub(crate) use tool_filter::ToolFilter;
pub(crate) use tool_pattern::pattern_takes;
pub use validators::Validators;
pub use validators::{check_input, check_output, check_output_schema};
pub(crate) use value_bounds::StepsLeft;
pub(crate) use wire_names::WireNames;
pub(crate) use work_outcome::WORK_FORMAT;
pub use work_outcome::{RECEIPT_FORMAT, WorkOutcome, WorkState, WorkStatus};
pub(crate) use workflow::{
    Condition, Delegate, Dependencies, ForEach, If, Parallel, Part, Template, Test, ToolUse,
    WORKFLOW_FORMAT, While, WorkflowFault, circles,
};
pub use workflow::{FailureStrategy, Step, StepId, Work, WorkflowDefinition};
pub use workflow::{WorkflowClass, WorkflowCode, WorkflowOutcome};
pub use yaml::{YamlFault, yaml_value};
