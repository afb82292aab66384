//! The canonical boundary: the types that the other modules share.
//!
//! Knows messages, tool invocations, adapter verdicts, tool-result envelopes, provider fault
//! classes, usage, ids and digests, and the UTF-8 cut of an oversized result (002 §4.2–4.4, 003
//! INV-TOOL-002). It deliberately does not know any provider's JSON, any contract, any clock.
//!
//! Everything here that is recorded is canonical by construction: fields are declared in the sorted
//! order of their JSON keys, enums are `kind` / `value` pairs, numbers are integers, foreign JSON is
//! text. Plain `serde_json` output is then already RFC 8785.

mod adapter_result;
mod agent_message;
mod amount;
mod blank;
mod child_run;
mod confinement;
mod cut;
mod digest;
mod envelope;
mod exact;
mod excerpt;
mod fault;
mod file_changes;
mod genesis;
mod ids;
mod input_exchange;
mod instant;
mod invisible;
mod json_size;
mod members;
mod object_fault;
mod object_text;
mod provider_fault;
mod reasoning;
mod sampling_prompt;
mod scrubber;
mod server_statement;
mod token_counter;
mod usage;
mod value;
mod version;

pub use adapter_result::{AdapterStatus, ProtocolAdapterResult, StopReason};
pub(crate) use adapter_result::{Repair, TagFlaw, TagWarning, Withheld};
pub use agent_message::{AgentMessage, Role, ToolInvocation};
pub(crate) use agent_message::{Observed, ObservedStatus};
pub(crate) use amount::{amount, noun_for};
pub(crate) use blank::is_blank;
pub(crate) use confinement::{
    Confinement, MemoryScope, SandboxPart, SandboxStrength, ServerConfinement,
};
pub(crate) use cut::{DEFAULT_TRUNCATION_MARKER, char_prefix, cut_to_limit};
pub use digest::Digest;
#[cfg(test)]
pub(crate) use digest::hashed;
pub(crate) use digest::{DigestBuilder, DigestContext};
pub use envelope::{
    ContentBlock, EnvelopeError, EnvelopeFields, EnvelopeStatus, InputQuestion, SamplingRequest,
    ToolEnvelope, ToolOutcome,
};
pub(crate) use exact::{MAX_EXACT, exact_sum, inexact_integer};
pub(crate) use excerpt::excerpt;
pub(crate) use fault::FailureCode;
pub use file_changes::{FileChange, FileChanges};
#[cfg(test)]
pub(crate) use genesis::GENESIS_CONTEXT;
pub(crate) use genesis::genesis;
pub use ids::{CallSeq, InferenceSeq, RunId};
pub use input_exchange::{InputAnswer, InputExchange};
pub(crate) use instant::{rfc3339, utc};
pub(crate) use invisible::{escaped, escaped_line, invisible_code_points, is_invisible};
pub(crate) use json_size::JsonSize;
pub(crate) use members::Members;
pub use object_fault::ObjectFault;
pub use object_text::ObjectText;
pub use provider_fault::{ProviderFault, ProviderFaultClass};
pub(crate) use reasoning::{ReasoningPart, ReasoningText, ReasoningTrace};
pub(crate) use sampling_prompt::{SampledText, SamplingPrompt};
pub use scrubber::{NoSecrets, Scrubber};
pub(crate) use server_statement::{NamedText, ServedBy, ToolServerStatement};
pub(crate) use token_counter::NoTokenizers;
pub use token_counter::{QuarterBytes, TokenCounter, TokenCounters};
pub use usage::Usage;
pub(crate) use usage::estimate_tokens;
pub(crate) use value::{
    RoundedValue, exact_value, is_recorded_exactly, nearest_value, rounded_value,
};
pub(crate) use version::{VersionFault, check_version};
