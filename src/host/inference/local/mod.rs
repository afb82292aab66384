//! The embedded model: llama.cpp for the arithmetic, llguidance for the gate, and a sampling loop of our own between them.
//!
//! Knows model files, tokens, the key-value cache, masks and how a token is drawn. It deliberately does not know what a call
//! or a message is: a request brings segments and a grammar, an answer is text in pieces (`adapter/local_hermes`).
//!
//! ```text
//! LocalBackend ─ jobs ─▶ one thread: model, context, what the cache holds ─▶ pieces ─▶ Reply
//!                          prompt ─▶ decode ─▶ logits ─▶ mask ─▶ draw ─▶ text
//!                                      ▲                          │
//!                                      └── token and what it forces ┘
//! ```
//!
//! Rules kept here, each because the opposite was seen to fail:
//! - Flash attention is off: then the same prompt gives the same logits whatever the threads, the batches and what was kept.
//! - The gate fails closed: a grammar that does not compile, a mask that cannot be made or that allows nothing is a fault.
//! - Text is tokenised without control tokens, segment by segment; a control token is one only where a segment says so.
//! - A file that was never loaded before is first loaded in a separate process: llama.cpp ends its process on input that it
//!   finds absurd.
//! - A template in a model's file runs in a separate process, with bounds on memory, time and instructions.
//! - A grammar cannot force an end, so from a point that the request states only what ends the message is drawn.
//! - Randomness is a function of the contract's seed and the prompt; tokens that the grammar forces use none.

mod backend;
mod cache;
mod draw;
mod engine;
#[cfg(test)]
mod file_tests;
mod gate;
mod llama;
mod options;
mod pace;
mod prompt;
#[cfg(test)]
mod prompt_tests;
mod template;
mod template_functions;
#[cfg(test)]
mod tests;
mod trial;
mod trial_process;
mod vocabulary;

pub use backend::LocalBackend;
pub(super) use backend::LocalReply;
pub use options::{EngineCost, LocalOptions};
pub(crate) use template::TemplateRenderer;
pub use template::{TEMPLATE_COMMAND, template_process};
pub use trial::TRIAL_COMMAND;
pub(crate) use trial::{ModelTrial, TrialEnd, engine_identity};
pub use trial_process::trial_process;
pub(crate) use vocabulary::LocalVocabulary;
