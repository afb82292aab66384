//! The wait for commands that ended with their call: a process does not leave before their changes to git repositories are undone.

use std::io::{self, Write as _};
use std::time::Duration;

use monolith_host::tools::judged_commands;
use monolith_service::secrets;
use monolith_service::text::escape;

/// The longest wait.
const WITHIN: Duration = Duration::from_secs(30);

/// Waits, and writes what was undone, or could not be compared, to stderr.
pub(crate) fn say_judged() {
    for note in judged_commands(WITHIN) {
        let note = secrets::without_secrets(&note);
        // A stderr that cannot be written leaves no reader.
        let _ = writeln!(io::stderr(), "note: {}", escape::line(&note));
    }
}
