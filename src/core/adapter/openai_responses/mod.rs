//! OpenAI responses, `openai-responses`.
//!
//! **Requests.** `model`, `input` (messages, `function_call`, `function_call_output`), `tools` with `tool_choice` as in the
//! chat protocol and `strict: false`, `parallel_tool_calls: false` where the contract says so, `max_output_tokens`,
//! `temperature`, `top_p`, `reasoning`, `store: false`, `stream`. Where the contract asks for reasoning, its encrypted form is
//! asked for too and goes back to the same model; temperature and `top_p` are left out then. There is no seed and no penalty.
//!
//! **Responses.** A stream ends with the whole response object, and that object counts; a body is that object. Dialect rules:
//! - Where the last object lacks its output, the items count as they were done, and an item that never was, by its pieces.
//! - An item that calls itself incomplete is `ARGS_INVALID_JSON`.
//! - Calls of tools that were not offered (`custom_tool_call`, `mcp_approval_request`, …) are `CALL_UNEXPECTED`; items of tools
//!   that the provider ran itself are read over.
//! - `queued`, `in_progress`, `failed` and `cancelled` are a provider's fault.

mod encoder;
mod fold;
mod items;

pub(super) use encoder::{Encoder, PATH, VERSION, reasons};
pub(super) use fold::Fold;

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod payload_tests;
