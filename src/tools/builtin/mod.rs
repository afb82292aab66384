//! The built-in tools: `echo`, `clock`, `read_file`, `list_directory`. All of them only read.
//!
//! Knows their schemas and descriptions, and confines paths to the workspace: a path is relative, and what it
//! resolves to must lie inside. The check comes before the open, so a process that swaps a directory for a symlink in
//! between can get around it; keeping such a process out is a sandbox's work. It does not know budgets: a result is
//! handed on whole, up to a fixed bound.

mod builtins;
mod list_directory;
mod read_file;
mod refusal;
mod workspace;

pub(super) use builtins::Builtins;
