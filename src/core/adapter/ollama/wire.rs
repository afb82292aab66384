//! The JSON documents of Ollama's chat protocol. Knows shapes only; judges nothing.

use serde::Deserialize;

use crate::adapter::json::{Raw, given};

/// A blocking body, or one line of a stream.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireLine<'a> {
    #[serde(borrow)]
    pub done: Raw<'a>,
    #[serde(borrow)]
    pub done_reason: Raw<'a>,
    #[serde(borrow)]
    pub error: Raw<'a>,
    #[serde(borrow)]
    pub eval_count: Raw<'a>,
    #[serde(borrow)]
    pub message: Raw<'a>,
    #[serde(borrow)]
    pub model: Raw<'a>,
    #[serde(borrow)]
    pub prompt_eval_count: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireMessage<'a> {
    #[serde(borrow)]
    pub content: Raw<'a>,
    #[serde(borrow)]
    pub thinking: Raw<'a>,
    #[serde(borrow)]
    pub tool_calls: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub function: Raw<'a>,
    #[serde(borrow)]
    pub id: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WireFunction<'a> {
    #[serde(borrow, deserialize_with = "given")]
    pub arguments: Raw<'a>,
    #[serde(borrow)]
    pub name: Raw<'a>,
}
