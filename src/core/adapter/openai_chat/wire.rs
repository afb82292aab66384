//! The JSON documents of OpenAI's chat protocol. Knows shapes only; judges nothing.

use crate::adapter::json::wire;

/// The pointer of the message in a blocking body, and by convention in a folded stream.
pub(super) const MESSAGE: &str = "/choices/0/message";

wire! {
    /// A blocking body, or one chunk of a stream.
    ///
    /// All fields are raw: servers disagree on types, and a wrong type in a field that does not matter must not cost the
    /// message.
    pub(super) struct WireChunk {
        choices, error, model, object, system_fingerprint, usage, x_groq,
    }

    pub(super) struct WireChoice {
        delta, error, finish_reason, index, message,
        /// The upstream's own word, where a server in between has another.
        native_finish_reason,
        usage,
    }

    /// `message` of a blocking body, `delta` of a chunk.
    pub(super) struct WireMessage {
        content, function_call, reasoning, reasoning_content, reasoning_details, refusal,
        tool_calls,
    }

    /// A part of a content array, or of an array of reasoning details.
    pub(super) struct WirePart {
        refusal, summary, text, thinking, kind = "type",
    }

    pub(super) struct WireCall {
        function, id, index, kind = "type",
    }

    pub(super) struct WireFunction {
        arguments, name,
    }
}
