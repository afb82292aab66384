//! The built-in tools: `echo`, `clock`, `read_file`, `list_directory`. All of them only read.
//!
//! Knows their schemas and descriptions, and confines paths to the workspace: the folder is held open, and every step of a
//! path is opened beneath it, so no other process can lead it outside. The host's own state is withheld by its identity, under
//! whatever name. It does not know budgets: a result is handed on whole, up to a fixed bound.

#[cfg(unix)]
mod beneath;
#[cfg(not(unix))]
mod beneath_by_path;
mod builtins;
mod list_directory;
mod read_file;
mod refusal;
mod workspace;

#[cfg(not(unix))]
use beneath_by_path as beneath;
pub(super) use builtins::Builtins;
