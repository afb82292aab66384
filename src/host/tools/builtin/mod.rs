//! The built-in tools: `echo`, `clock`, those that read, search and write files of the workspace, `shell`, and the one that asks the web.
//!
//! Knows their schemas and descriptions, and confines paths to the workspace: the folder is held open, and every step of a
//! path is opened beneath it, so no other process can lead it outside. The host's own state is withheld by its identity, under
//! whatever name. It does not know budgets: a result is handed on whole, up to a fixed bound.

mod apply_patch;
#[cfg(unix)]
mod beneath;
#[cfg(not(unix))]
mod beneath_by_path;
mod builtins;
mod change;
mod change_log;
mod edit_file;
mod entry;
mod file_text;
#[cfg(unix)]
mod git_changes;
#[cfg(unix)]
mod git_guard;
#[cfg(not(unix))]
mod git_guard_by_path;
#[cfg(unix)]
mod git_settings;
mod glob;
mod grep;
#[cfg(unix)]
mod guarded_command;
mod http_get;
mod list_directory;
mod preview;
mod read_file;
mod restore;
mod run_files;
mod shell;
mod tree;
mod watched;
mod workspace;
mod write_file;

#[cfg(unix)]
pub(crate) use beneath::opened::set_mode;
#[cfg(unix)]
pub(crate) use beneath::stamp::is_settled;
#[cfg(not(unix))]
use beneath_by_path as beneath;
pub(super) use builtins::Builtins;
#[cfg(not(unix))]
pub use git_guard_by_path::judged_commands;
#[cfg(not(unix))]
use git_guard_by_path::{self as git_guard, self as guarded_command};
#[cfg(unix)]
pub use guarded_command::judged_commands;
pub use preview::FileChange;
pub use restore::{Restored, RestoredFolder};
pub(crate) use run_files::{FileKeeper, KeptContent, RunFiles};
#[cfg(unix)]
pub(crate) use tree::Rules;
