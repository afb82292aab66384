//! The user interface: the streams and their colours, text without escapes, numbers, times, progress, and a run in lines.
//!
//! Knows how things look. It knows no file, no key, no store and no command.

pub(crate) mod diff;
pub(crate) mod entry_row;
pub(crate) mod fault;
pub(crate) mod progress;
pub(crate) mod runs_progress;
pub(crate) mod screen;
pub(crate) mod stdout;
pub(crate) mod streamed;
pub(crate) mod when;
pub(crate) mod whole;
pub(crate) mod wrap;
