//! The JSON documents of OpenAI's Responses protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::{Raw, given};

/// A response object, or one event of a stream.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub delta: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub incomplete_details: Raw<'a>,
    #[serde(borrow)]
    pub item: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub output: Raw<'a>,
    #[serde(borrow)]
    pub output_index: Raw<'a>,
    #[serde(borrow)]
    pub response: Raw<'a>,
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

/// An item of the output.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireItem<'a> {
    #[serde(borrow, deserialize_with = "given")]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub call_id: Raw<'a>,
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub encrypted_content: Raw<'a>,
    #[serde(borrow)]
    pub execution: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
    #[serde(borrow)]
    pub status: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

/// A part of a message's content, or of a reasoning item.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage<'a> {
    #[serde(borrow)]
    pub input_tokens: Raw<'a>,
    #[serde(borrow)]
    pub input_tokens_details: Raw<'a>,
    #[serde(borrow)]
    pub output_tokens: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireDetails<'a> {
    #[serde(borrow)]
    pub cached_tokens: Raw<'a>,
    #[serde(borrow)]
    pub reason: Raw<'a>,
}
