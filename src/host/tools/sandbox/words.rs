//! The words by which the processes of the sandbox are started. Data only.

/// The hidden command of this program.
pub const SANDBOX_COMMAND: &str = "__sandbox";
/// The first argument of the process inside.
#[cfg(target_os = "linux")]
pub(super) const INNER: &str = "--inner";
/// The first argument of the process that only holds a user namespace open.
#[cfg(target_os = "linux")]
pub(super) const HOLD: &str = "--hold";
/// In the place of a program: only the parts are set up, and what became of each is printed.
#[cfg(target_os = "linux")]
pub(super) const PARTS: &str = "--parts";
/// The exit code where the program cannot be started.
pub(crate) const NOT_STARTED: u8 = 125;
/// First words of the line that names writes which ended with a sandbox.
pub(crate) const DISCARDED_WRITES: &str = "monolith: the sandbox threw away what was written to ";
/// First words of the line by which the sandbox says why it started nothing.
pub(crate) const CANNOT_SET_UP: &str = "the sandbox cannot be set up: ";
