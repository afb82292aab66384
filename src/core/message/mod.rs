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
mod child_run;
mod confinement;
mod cut;
mod digest;
mod envelope;
mod exact;
mod excerpt;
mod fault;
mod file_changes;
mod ids;
mod input_exchange;
mod invisible;
mod object_text;
mod parameter;
mod provider_fault;
mod provider_state;
mod sampling_prompt;
mod scrubber;
mod server_statement;
mod token_counter;
mod usage;
mod value;
mod version;

pub use adapter_result::{AdapterStatus, ProtocolAdapterResult, StopReason};
pub use adapter_result::{Repair, Withheld};
pub(crate) use adapter_result::{TagFlaw, TagWarning};
pub use agent_message::{AgentMessage, Role, ToolInvocation};
pub use agent_message::{Observed, ObservedStatus};
pub use confinement::{Confinement, MemoryScope, SandboxPart, SandboxStrength, ServerConfinement};
pub use cut::char_prefix;
pub(crate) use cut::{DEFAULT_TRUNCATION_MARKER, cut_to_limit};
pub use digest::{Digest, genesis};
pub use digest::{DigestBuilder, DigestContext};
#[cfg(test)]
pub(crate) use digest::{GENESIS_CONTEXT, hashed};
pub use envelope::{
    ContentBlock, EnvelopeError, EnvelopeFields, EnvelopeStatus, InputQuestion, SamplingRequest,
    ToolEnvelope, ToolOutcome,
};
pub(crate) use exact::exact_sum;
pub use exact::{MAX_EXACT, inexact_integer};
pub(crate) use excerpt::excerpt;
pub use fault::FailureCode;
pub use file_changes::{FileChange, FileChanges};
pub use ids::{CallSeq, InferenceSeq, RunId};
pub use input_exchange::{InputAnswer, InputExchange};
pub(crate) use invisible::is_blank;
pub use invisible::{BOM, without_bom};
pub use invisible::{escaped, escaped_line, invisible_code_points, is_invisible};
pub use object_text::ObjectText;
pub use parameter::Parameter;
pub use provider_fault::{ProviderFault, ProviderFaultClass};
pub use provider_state::{OpeningState, ProviderState, StateMember, StatePlace, StateTarget};
pub use sampling_prompt::{SampledText, SamplingPrompt};
pub use scrubber::{NoSecrets, Scrubber};
pub(crate) use server_statement::ServedBy;
pub use server_statement::{NamedText, ToolServerStatement};
pub use token_counter::NoTokenizers;
pub use token_counter::{BytesPerToken, TokenCounter, TokenCounters};
pub use usage::estimate_tokens;
pub use usage::{Usage, amount, noun_for};
pub(crate) use value::{JsonSize, RoundedValue, is_recorded_exactly, rounded_value};
pub use value::{Members, ObjectFault, exact_value, nearest_value};
pub use version::{VersionFault, check_version, rfc3339, utc};
