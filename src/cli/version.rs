//! What the program states of itself: version, built-in parts, and the text below the list of commands.

use std::sync::LazyLock;

use super::ui::wrap::wrapped;
use monolith_host::inference::BuiltInTokenizers;
use monolith_service::error::code::ErrorCode;

/// What `--version` says: which of the parts that a build may lack this one has.
pub(super) static LONG_VERSION: LazyLock<String> = LazyLock::new(|| {
    let engine = if cfg!(feature = "local") {
        "built in"
    } else {
        "none"
    };
    let tokenizers = match BuiltInTokenizers::IDS {
        [] => "none".to_owned(),
        ids => ids.join(", "),
    };
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\nembedded engine: {engine}\ntokenizers: {tokenizers}")
});

/// The most cells of a line of help.
pub(super) const HELP_WIDTH: usize = 80;

/// The text below the list of commands on the short page.
pub(super) const NEW_HERE: &str = "\
New here? `monolith demo` needs no key and no network. --help says more.";

/// The text below it on the long page.
pub(super) static AFTER_HELP: LazyLock<String> = LazyLock::new(|| {
    let codes = ErrorCode::ALL.map(ErrorCode::as_str).join(", ");
    let codes = wrapped(&format!("  {codes}"), HELP_WIDTH);
    format!(
        "{PLACES}\n\nError codes, `reason` in JSON where no run begins (docs/errors.md):\n{codes}"
    )
});

const PLACES: &str = "\
New here? `monolith demo` needs no key and no network.

Relative paths in a contract begin in the folder of its file: workspace, file,
and a command with a slash (./server). A server itself stands in the workspace.

Environment:
  MONOLITH_HOME           The state folder: runs, keys, models, accounting;
                          else the platform's (`monolith doctor` names it)
  MONOLITH_LOG            Diagnostics on stderr: debug, monolith_host::tools=debug
  MONOLITH_LOCAL_THREADS  Threads of an embedded model at most; else 1
  NO_COLOR                No colours";
