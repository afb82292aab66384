//! The program's statements about itself: version, built-in parts, and the text below the list of commands.

use std::sync::LazyLock;

use super::ui::wrap::wrapped;
use monolith_host::inference::BuiltInTokenizers;
use monolith_service::error::code::ErrorCode;

/// The output of `--version`: it states which optional parts this build has.
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
New here? Try `monolith demo`; it needs no key and no network. More: --help";

/// The text below it on the long page.
pub(super) static AFTER_HELP: LazyLock<String> = LazyLock::new(|| {
    let codes = ErrorCode::ALL.map(ErrorCode::as_str).join(", ");
    let codes = wrapped(&format!("  {codes}"), HELP_WIDTH);
    format!(
        "{PLACES}\n\nError codes, `reason` in JSON where no run begins (docs/errors.md):\n{codes}"
    )
});

const PLACES: &str = "\
New here? Try `monolith demo`; it needs no key and no network.

Relative paths in a contract start in the folder of the contract file:
workspace, file, and a command with a slash (./server). A server runs in the
workspace.

Environment:
  MONOLITH_HOME           State folder with runs, keys, models and accounting
                          (default: the platform's; see `monolith doctor`)
  MONOLITH_LOG            Log filter for stderr, such as debug or
                          monolith_host::tools=debug
  MONOLITH_LOCAL_THREADS  Maximum threads of an embedded model (default: 1)
  NO_COLOR                Disables colours";
