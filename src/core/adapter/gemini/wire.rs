//! The JSON documents of Gemini's protocol. Knows shapes only; judges nothing.

use crate::adapter::json::wire;

wire! {
    /// A blocking body, or one chunk of a stream.
    #[serde(rename_all = "camelCase")]
    pub(super) struct WireChunk {
        candidates, error, model_version, prompt_feedback, usage_metadata,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct WireFeedback {
        block_reason, block_reason_message,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct WireCandidate {
        content, finish_reason, index,
    }

    pub(super) struct WireContent {
        parts,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct WirePart {
        function_call, text, thought, thought_signature,
    }

    #[serde(rename_all = "camelCase")]
    pub(super) struct WireCall {
        args, id, name, partial_args, will_continue,
    }

    /// A piece of a call's arguments.
    #[serde(rename_all = "camelCase")]
    pub(super) struct WirePartialArg {
        bool_value, json_path, null_value, number_value, string_value,
    }

    #[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
    #[serde(rename_all = "camelCase")]
    pub(super) struct WireUsage {
        cached_content_token_count, candidates_token_count, prompt_token_count,
        thoughts_token_count, tool_use_prompt_token_count,
    }
}
