//! The JSON documents of OpenAI's chat protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::Raw;

/// The pointer of the message in a blocking body, and by convention in a folded stream.
pub(super) const MESSAGE: &str = "/choices/0/message";

/// A blocking body, or one chunk of a stream.
///
/// All fields are raw: servers disagree on types, and a wrong type in a field that does not matter must not cost the
/// message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChunk<'a> {
    #[serde(borrow)]
    pub choices: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub object: Raw<'a>,
    #[serde(borrow)]
    pub system_fingerprint: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
    #[serde(borrow)]
    pub x_groq: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireChoice<'a> {
    #[serde(borrow)]
    pub delta: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub finish_reason: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    /// The upstream's own word, where a server in between has another.
    #[serde(borrow)]
    pub native_finish_reason: Raw<'a>,
    #[serde(borrow)]
    pub usage: Raw<'a>,
}

/// `message` of a blocking body, `delta` of a chunk.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub function_call: Raw<'a>,
    #[serde(borrow)]
    pub reasoning: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_content: Raw<'a>,
    #[serde(borrow)]
    pub reasoning_details: Raw<'a>,
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub tool_calls: Raw<'a>,
}

/// A part of a content array, or of an array of reasoning details.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WirePart<'a> {
    #[serde(borrow)]
    pub refusal: Raw<'a>,
    #[serde(borrow)]
    pub summary: Raw<'a>,
    #[serde(borrow)]
    pub text: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub function: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
    #[serde(borrow)]
    pub index: Raw<'a>,
    #[serde(borrow, rename = "type")]
    pub kind: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow)]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
}
