//! Amazon Bedrock converse, `bedrock-converse`: responses only, for recordings. No provider type leads here.
//!
//! A body, or binary frames (`vnd.amazon.eventstream`) as they are or in base64, as recordings keep them. Dialect rules:
//! - Calls, and cuts at the end of the output, are validated as in the Anthropic protocol.
//! - A stream is whole with its `messageStop`; a damaged frame is `BODY_SHAPE`, a cut one `STREAM_INCOMPLETE`.
//! - `guardrail_intervened` and `content_filtered` are messages that were stopped for their content;
//!   `malformed_tool_use` and `malformed_model_output` are `CALL_MALFORMED`.
//! - An exception in the stream is a provider's fault.

mod fold;
mod version;
mod wire;

pub(super) use fold::Fold;
pub(super) use version::VERSION;

#[cfg(test)]
mod payload_tests;
