//! Ollama chat, `ollama-chat`.
//!
//! **Requests.** `model`, `messages` (an observation names its tool), `tools`, `think` where the contract asks for reasoning,
//! `stream`, `options`: `num_predict`, `num_ctx` (the target's window; the server's own default is far smaller and cuts a
//! prompt without a word), `temperature`, `top_p`, `repeat_penalty`, `seed`, `stop`. The protocol cannot force a call. Reasoning is
//! never sent back.
//!
//! **Responses.** Lines of JSON; a body is one line. Dialect rules:
//! - `arguments` is an object, whose bytes are kept; a text in its place is validated as the text of one. No arguments at all are
//!   `ARGS_INVALID_JSON`: a call without arguments writes `{}` here.
//! - A message is whole with `done: true`, else `STREAM_INCOMPLETE`.
//! - A line with `error` is a provider's fault, whatever came before it.

mod encoder;
mod fold;
mod version;
mod wire;

pub(super) use encoder::Encoder;
pub(super) use fold::Fold;
pub(super) use version::{PATH, VERSION};

#[cfg(test)]
mod payload_tests;
