//! `MCP_ROOT` of this process, the folder that tool servers see (001 §6).

use monolith_host::driver::MCP_ROOT;

/// A variable of this process. A root for tool servers that is missing or blank is the folder where the command was typed.
pub(crate) fn variable(name: &str) -> Option<String> {
    if name != MCP_ROOT {
        return std::env::var(name).ok();
    }
    let here = || Some(std::env::current_dir().ok()?.display().to_string());
    given_root().or_else(here)
}

/// The root that this process was given.
pub(crate) fn given_root() -> Option<String> {
    let root = std::env::var(MCP_ROOT).ok();
    root.filter(|root| !root.trim().is_empty())
}
