//! The hidden command. Does not know how the parts are set up.

use std::ffi::OsString;

#[cfg(not(target_os = "linux"))]
use super::part::NOT_STARTED;
#[cfg(target_os = "linux")]
use super::part::{HOLD, INNER};

/// Confines this process by the profile and runs the program; its exit code is the program's.
#[cfg(target_os = "linux")]
pub fn confine(given: Vec<OsString>) -> u8 {
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
pub fn confine(_given: Vec<OsString>) -> u8 {
    NOT_STARTED
}
