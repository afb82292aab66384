//! Google Gemini, `google-gemini`: `generateContent` and `streamGenerateContent`.
//!
//! **Requests.** `contents` with `user` and `model` in turn (neighbours of one side share a turn), `systemInstruction`, `tools`
//! with `toolConfig` (`AUTO`, or `ANY` while the token gate is closed), `generationConfig`: `maxOutputTokens`, `temperature`,
//! `topP`, `seed` where it fits 32 bits, `stopSequences`, `thinkingConfig` with a budget or, since Gemini 3, a level. The model and whether to stream are in the path. Ids that the
//! decoder made are not sent.
//!
//! **Responses.** A body, server-sent events, or one JSON array of chunks. Only the candidate of index 0 counts. Dialect
//! rules:
//! - A call without `args` has none: `{}`. Arguments that arrive value by value (`partialArgs`) are put together by their
//!   paths; a call that was to go on and did not is `STREAM_INCOMPLETE`.
//! - Where the output was cut by its length and ends with a call, that call was cut, whatever its parsed arguments look like.
//! - A call without id gets `call_<n>`.
//! - `MALFORMED_FUNCTION_CALL` is `CALL_MALFORMED`, `UNEXPECTED_TOOL_CALL` is `CALL_UNEXPECTED`, whatever came with them.
//! - A blocked prompt is a provider's fault, `content_filter`; a candidate that was stopped for its content is a message
//!   that says so.
//! - Signatures of thoughts are kept for the same model and sent back on the parts they stood on.

mod encoder;
mod fold;
mod partial_args;
mod wire;

pub(super) use encoder::{Encoder, VERSION, path};
pub(super) use fold::Fold;

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod payload_tests;
