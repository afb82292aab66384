//! A message as each wire protocol writes it, for the adapter of that protocol to read: one file per dialect.
//!
//! What is written here is written apart from the encoders of `adapter`, so that one misreading of a protocol does not
//! vouch for itself. A blocking body each; arguments that are no JSON value stand as their text where the protocol wants a
//! value.

mod anthropic;
mod bedrock;
mod body;
mod call;
mod gemini;
mod local_hermes;
mod ollama;
mod openai_chat;
mod openai_responses;
mod text;

pub(super) use body::body;
