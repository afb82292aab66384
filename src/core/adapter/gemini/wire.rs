//! The JSON documents of Gemini's protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::Raw;

/// A blocking body, or one chunk of a stream.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireChunk<'a> {
    #[serde(borrow)]
    pub candidates: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub model_version: Raw<'a>,
    #[serde(borrow)]
    pub prompt_feedback: Raw<'a>,
    #[serde(borrow)]
    pub usage_metadata: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireFeedback<'a> {
    #[serde(borrow)]
    pub block_reason: Raw<'a>,
    #[serde(borrow)]
    pub block_reason_message: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireCandidate<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub finish_reason: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireContent<'a> {
    #[serde(borrow)]
    pub parts: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub function_call: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub thought: Raw<'a>,
    #[serde(borrow)]
    pub thought_signature: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub args: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub partial_args: Raw<'a>,
    #[serde(borrow)]
    pub will_continue: Raw<'a>,
}

/// A piece of a call's arguments.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WirePartialArg<'a> {
    #[serde(borrow)]
    pub bool_value: Raw<'a>,
    #[serde(borrow)]
    pub json_path: Raw<'a>,
    #[serde(borrow)]
    pub null_value: Raw<'a>,
    #[serde(borrow)]
    pub number_value: Raw<'a>,
    #[serde(borrow)]
    pub string_value: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub cached_content_token_count: Raw<'a>,
    #[serde(borrow)]
    pub candidates_token_count: Raw<'a>,
    #[serde(borrow)]
    pub prompt_token_count: Raw<'a>,
    #[serde(borrow)]
    pub thoughts_token_count: Raw<'a>,
    #[serde(borrow)]
    pub tool_use_prompt_token_count: Raw<'a>,
}
