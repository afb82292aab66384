//! Programs of this machine, asked for their version.

use std::process::{Command, Stdio};

/// Returns a program's version line.
pub(super) fn version_of(tool: &str) -> Option<String> {
    let said = ran(tool, &["--version"])?;
    said.lines().next().map(str::to_owned)
}

/// Returns the output of a program; `None` if it does not start or fails.
pub(super) fn ran(tool: &str, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new(tool);
    let output = command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
