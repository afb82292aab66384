//! The exit code of every error for its caller, and advice where there is any.

use crate::exit::Exit;

/// Help for a version that this build does not read or write.
pub(super) const KNOWN_VERSIONS: &str = "monolith migrate --list names what this build knows";

/// Help for what cannot be the caller's fault.
pub(super) const OUR_BUG: &str = "this is a bug in monolith: please report it";

/// The meaning of an error for the caller. Every error that can end a command implements this.
pub trait Advice {
    /// The code that the process ends with (semantics §3).
    fn exit(&self) -> Exit;

    /// Returns the next step, if there is one.
    fn help(&self) -> Option<String> {
        None
    }
}
