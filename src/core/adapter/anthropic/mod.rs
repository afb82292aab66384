//! Anthropic messages, `anthropic-messages`.
//!
//! **Requests.** `model`, `system` (all instructions, apart from the turns), `messages` with `user` and `assistant` in turn:
//! neighbours of one side share a turn, so the results of parallel calls are in one message, as the protocol demands. A
//! blank text is no block. Then `tools` with `tool_choice` (`auto`, `any` while the token gate is closed, except for models that refuse it; `none` where they
//! are withheld from a conversation that holds calls, which the protocol takes only with tools), `max_tokens`,
//! `temperature` (at most 1), `top_p` (below 1 only), `stop_sequences`, `output_config`, `thinking`, `stream`. There is no seed and no penalty. Reasoning is a budget
//! of tokens, or `adaptive` with an effort for the models that take it so, and takes its tokens from `max_tokens`; with it neither temperature nor `top_p` is sent, and while a call is forced it is left out.
//! With `caching: full` the last block of the instructions and of the last turn of the user carry the cache's mark.
//!
//! **Responses.** A body is its blocks; a stream starts, continues and stops them. Dialect rules:
//! - A call whose stream brings no piece of arguments has those of its start, `{}`: that is how a call without arguments
//!   looks here. In a body `input` must be there.
//! - Where the output was cut by its length and the message ends with a call, that call was cut, whatever its arguments
//!   look like: a body shows `{}` there.
//! - A call that was not stopped is `STREAM_INCOMPLETE`. A stream is whole with `message_stop` or a stop reason.
//! - `pause_turn` is no message: `TURN_PAUSED`. Blocks of the provider's own tools are read over.
//! - Thinking with its signature, and redacted thinking, are kept for the same model and sent back in their places.

mod encoder;
mod fold;

pub(super) use encoder::{Encoder, PATH, VERSION, thinks};
pub(super) use fold::Fold;

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod payload_tests;
