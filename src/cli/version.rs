use std::sync::LazyLock;

use crate::inference::BuiltInTokenizers;

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

/// What stands below the list of commands.
pub(super) const AFTER_HELP: &str = "\
New here? `monolith demo` needs no key and no network.

Environment:
  MONOLITH_HOME           The state folder: runs, keys, models, accounting; else the platform's, which `monolith doctor` names
  MONOLITH_LOG            Diagnostics on stderr: `debug`, or `monolith::tools=debug`
  MONOLITH_LOCAL_THREADS  The most threads of an embedded model; 1 where it is not set
  NO_COLOR                No colours";
