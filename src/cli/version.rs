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
