//! Wire protocols: a canonical request becomes bytes, raw bytes become a verdict.
//!
//! Knows how each provider family writes messages, tools, streams and errors; one folder per protocol,
//! chosen by the `adapter_version` of a contract's target. It deliberately does not know how bytes travel
//! (that is `inference`), what time it is (the caller passes it in), whether a tool name exists or arguments fit a schema
//! (that is the machine's). A response is native, rejected, or a provider's fault; where the contract is not
//! strict, argument text that has one meaning only is repaired by named, recorded steps, and the message is recovered.
//!
//! ```text
//! conversation ─▶ RequestEncoder ─▶ body bytes          (each message rendered once, kept)
//! body bytes   ─▶ ResponseDecoder ─▶ Decoded::Message(native | recovered | rejected)
//!      pushed in any pieces        └▶ Decoded::Fault(class, Retry-After)
//! ```
//!
//! Protocols differ in their wire shapes only. One decoder frames the bytes (`decoder`: a document, events, lines, an array,
//! binary frames) and hands documents to the protocol's fold; the folds gather calls and leave judging them to one place
//! (`calls`), and errors to one table (`error_report`).
//!
//! Also here, because it is the same recorded format: [`Script`], the parsed file of a scripted provider.

mod anthropic;
mod bedrock;
mod blocks;
mod body;
mod calls;
mod decoded;
mod decoder;
mod documents;
mod draft;
mod error_report;
mod fold;
mod frames;
mod gemini;
mod invented;
mod joined_turns;
mod json;
mod left_out;
mod local_hermes;
mod marks;
mod members;
mod ollama;
mod openai_chat;
mod openai_responses;
mod openai_tools;
mod overflow;
mod parameter_types;
mod protocol;
mod push_decoder;
mod reasoning_form;
mod recipient;
mod refused_parameters;
mod refused_state;
mod rendered_messages;
mod repair;
mod request;
mod response;
mod response_format;
mod retry_after;
mod script;
mod sse;
mod stop_words;
mod streamed_call;
mod surrogates;
mod tail;
mod text;
mod thinking;
mod wire_adapter;
pub mod xml;

pub use body::{RequestBody, RequestShape};
pub use decoded::{Decoded, ResponseMeta};
pub use error_report::server_properties;
pub use local_hermes::{
    CONTROL_TOKENS, ChatCall, ChatFunction, ChatMessage, GatePhase, LocalChat, LocalLine,
    LocalRequest, LocalSampling, LocalUsage, Segment,
};
pub(crate) use refused_parameters::naming_options;
pub use request::RequestEncoder;
pub(crate) use response::ResponseDecoder;
pub use script::Script;
pub use script::{ScriptError, ScriptFault, ScriptRecord};
pub use wire_adapter::{Adapter, AdapterError};

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod facts_tests;
#[cfg(test)]
mod failover_tests;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod overflow_tests;
#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod recovery_tests;
#[cfg(test)]
mod sampling_tests;
#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod stop_tests;
#[cfg(test)]
mod streamed_tests;
#[cfg(test)]
mod unreadable_tests;
