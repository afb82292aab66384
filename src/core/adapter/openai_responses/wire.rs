//! The JSON documents of OpenAI's Responses protocol. Knows shapes only; judges nothing.

use crate::adapter::json::{given, wire};

wire! {
    /// A response object, or one event of a stream.
    pub(super) struct WireEvent {
        arguments, delta, error, incomplete_details, item, model, output, output_index,
        response, status, usage, kind = "type",
    }

    /// An item of the output.
    pub(super) struct WireItem {
        arguments: "given", call_id, content, encrypted_content, execution, id, name, status,
        summary, kind = "type",
    }

    /// A part of a message's content, or of a reasoning item.
    pub(super) struct WirePart {
        refusal, text,
    }

    pub(super) struct WireUsage {
        input_tokens, input_tokens_details, output_tokens,
    }

    pub(super) struct WireDetails {
        cached_tokens, reason,
    }
}
