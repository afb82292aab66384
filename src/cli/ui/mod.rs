//! What a person sees: the streams and their colours, text without escapes, numbers, moments, progress, and a run in lines.
//!
//! Knows how things look. It knows no file, no key, no store and no command.

pub(in crate::cli) mod branch;
pub(in crate::cli) mod command;
pub(in crate::cli) mod departed;
pub(in crate::cli) mod entry_row;
pub(in crate::cli) mod escape;
mod fault;
pub(in crate::cli) mod narration;
pub(in crate::cli) mod numbers;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod runs_progress;
pub(in crate::cli) mod screen;
pub(in crate::cli) mod streamed;
pub(in crate::cli) mod when;
pub(in crate::cli) mod whole;
pub(in crate::cli) mod wrap;
