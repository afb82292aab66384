//! What every fault gives its caller: an exit code, and what to do next where that is known.

use crate::exit::Exit;

/// Help for a version that this build does not read or write.
pub(super) const KNOWN_VERSIONS: &str = "monolith migrate --list names what this build knows";

/// Help for what cannot be the caller's fault.
pub(super) const OUR_BUG: &str = "this is a bug in monolith: please report it";

/// What a fault means for the caller. Every fault that a command can end with implements this beside itself.
pub trait Advice {
    /// The code that the process ends with (semantics §3).
    fn exit(&self) -> Exit;

    /// What to do next, where it can be said.
    fn help(&self) -> Option<String> {
        None
    }
}
