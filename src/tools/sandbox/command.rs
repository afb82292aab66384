//! The hidden command, and the question which parts there are. Does not know how they are set up.

use std::ffi::OsString;
use std::path::Path;

#[cfg(not(target_os = "linux"))]
use super::part::Part;
#[cfg(not(target_os = "linux"))]
use super::words::NOT_STARTED;
#[cfg(target_os = "linux")]
use super::words::{HOLD, INNER, PARTS, SANDBOX_COMMAND};
use super::{PartFound, SandboxProfile};

/// Confines this process by the profile and runs the program; its exit code is the program's.
#[cfg(target_os = "linux")]
pub(crate) fn confine(given: Vec<OsString>) -> u8 {
    let mut given = given.into_iter();
    let first = given.next().unwrap_or_default();
    match first.to_str() {
        Some(INNER) => super::inner::inner(given),
        Some(HOLD) => super::identity::hold(),
        _ => super::outer::outer(&first, given),
    }
}

/// There is no sandbox on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine(_given: Vec<OsString>) -> u8 {
    NOT_STARTED
}

/// Sets the sandbox up in a process of its own, started from `program`, and reports what became of each part that was reached.
///
/// # Errors
/// Where that process cannot be started.
#[cfg(target_os = "linux")]
pub(crate) fn parts_of(
    program: &Path,
    profile: &SandboxProfile,
) -> std::io::Result<Vec<PartFound>> {
    let output = std::process::Command::new(program)
        .arg(SANDBOX_COMMAND)
        .arg(serde_json::to_string(profile)?)
        .arg(PARTS)
        .stdin(std::process::Stdio::null())
        .output()?;
    Ok(super::report::read(&output.stdout))
}

/// The same where there is none.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub(crate) fn parts_of(_: &Path, _: &SandboxProfile) -> std::io::Result<Vec<PartFound>> {
    Ok(vec![PartFound {
        part: Part::Linux,
        detail: "the sandbox is built of parts that only Linux has".to_owned(),
        is_here: false,
    }])
}
