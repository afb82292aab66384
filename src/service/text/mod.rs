//! Words for people: escaped text, commands that can be copied, numbers, and a run in sentences.

pub mod branch;
pub mod command;
pub mod diff;
pub mod escape;
pub mod narration;
pub mod numbers;
