//! monolith runs LLM agents as an explicit finite-state machine under an immutable contract, and leaves
//! behind a transcript that anyone can verify and replay.
//!
//! A pure core decides, an imperative shell does, surfaces show. The rooms are numbered: a room imports only
//! rooms with a smaller number (docs/architecture.md; `tests/it/tidy` checks it).

#![cfg_attr(test, recursion_limit = "256")]

pub mod adapter;
pub mod cli;
pub mod conformance;
pub mod contract;
pub mod driver;
pub mod inference;
pub mod kernel;
pub mod message;
pub mod replay;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod transcript;
