//! The JSON documents of Bedrock's protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::{Raw, given};

/// A blocking body, or the payload of one event.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireDocument<'a> {
    #[serde(borrow)]
    pub content_block_index: Raw<'a>,
    #[serde(borrow)]
    pub delta: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub start: Raw<'a>,
    #[serde(borrow)]
    pub stop_reason: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireOutput<'a> {
    #[serde(borrow)]
    pub message: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
}

/// A content block, its start, or a delta of it: one of these is set.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireBlock<'a> {
    #[serde(borrow)]
    pub citations_content: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub tool_use: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireToolUse<'a> {
    #[serde(borrow, deserialize_with = "given")]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub tool_use_id: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

/// Reasoning: nested in a whole block, flat in a delta.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireReasoning<'a> {
    #[serde(borrow)]
    pub reasoning_text: Raw<'a>,
    #[serde(borrow)]
    pub redacted_content: Raw<'a>,
    #[serde(borrow)]
    pub signature: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCitations<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub cache_read_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub cache_write_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub output_tokens: Raw<'a>,
}
