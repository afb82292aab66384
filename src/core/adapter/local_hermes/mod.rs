//! The embedded model's own protocol, version 1: a rendered prompt in, text in pieces out.
//!
//! Knows how a conversation is laid out for a model in ChatML with Hermes calls, and how calls are separated from text. Nothing
//! here depends on how the engine is built: requests and answers are bytes like those of any provider, so a transcript of an
//! embedded model is decoded again by every build. It deliberately does not know tokens.
//!
//! ```text
//! request  {"segments":[{"control":"<|im_start|>"},{"text":"user\nHi"},…],"gate":"closed","grammar":…,…}
//! answer   {"text":"<tool_call>\n"}⏎{"text":"…"}⏎…{"stop":"end","usage":{"input":40,"output":9}}⏎
//! fault    {"fault":"context_overflow","message":"…"}⏎      with a status of 400
//! ```
//!
//! A model whose file has a template that knows tools gets `chat` in place of segments: messages and declarations, which the
//! engine lays out with that template.
//!
//! A segment is a control token or text, and text is never read for control tokens: what a tool returned reaches the model as
//! what it is, whatever stands in it.

mod chat;
mod encoder;
mod fold;
mod hermes;
#[cfg(test)]
mod tests;
mod wire;

pub use chat::{ChatCall, ChatFunction, ChatMessage, LocalChat};
pub(super) use encoder::Encoder;
pub(super) use fold::Fold;
pub use wire::{
    CONTROL_TOKENS, GatePhase, LocalLine, LocalRequest, LocalSampling, LocalUsage, Segment,
};
pub(super) use wire::{PATH, VERSION};
