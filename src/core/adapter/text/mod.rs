//! Text profiles: calls that a model writes into its text, over a wire protocol that carries plain chat.
//!
//! A profile is a layer. Going out, it puts the tools into the system prompt once, and turns calls and results into text,
//! so that the wire protocol's encoder sees messages without calls. Coming in, it reads the calls out of the text that the
//! wire protocol's fold gave, whole or streamed, so both give the same message wherever the bytes were cut. It knows one
//! family's form each (docs/text-profiles.md) and no HTTP, no schema of any tool, no policy.
//!
//! ```text
//! conversation ─▶ Layer ─▶ plain messages ─▶ the protocol's encoder ─▶ bytes
//! bytes ─▶ the protocol's fold ─▶ text ─▶ read ─▶ native | recovered | rejected
//! ```
//!
//! Where the contract's grammar is one that a llama-server reads, `Gated` sends it along: the server then samples calls in
//! just this form. What comes back is read as if it had not.
//!
//! What is not a profile's own markup is text. What looks like markup and is not ours to write, in a user's message, a
//! tool's result or an earlier answer, is escaped reversibly (`adapter::marks`). Markup of the model that breaks its form
//! rejects the message; the few repairs are named, recorded, and refused by a strict contract.

mod encoder;
mod fold;
mod function_calls;
mod json_calls;
mod lines;
mod payload;
mod read;
mod tagged_calls;

pub(super) use encoder::{Encoder, Gated};
pub(super) use fold::{Hermes, Layer, Llama3, Qwen};

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod function_tests;
#[cfg(test)]
mod read_tests;
#[cfg(test)]
mod round_trip_tests;
