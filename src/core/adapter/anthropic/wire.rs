//! The JSON documents of Anthropic's protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::{Raw, given};

/// A blocking body, or one event of a stream; all fields raw, see the chat dialect.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub content_block: Raw<'a>,
    #[serde(borrow)]
    pub delta: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub stop_reason: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

/// A content block, or the delta of one.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow)]
    pub data: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow, deserialize_with = "given")]
    pub input: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub partial_json: Raw<'a>,
    #[serde(borrow)]
    pub signature: Raw<'a>,
    #[serde(borrow)]
    pub stop_reason: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names are the protocol's")]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub cache_creation_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub cache_read_input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub output_tokens: Raw<'a>,
}
