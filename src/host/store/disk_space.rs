//! How much room the file system has.

use std::path::Path;

/// How many bytes are free on the file system of that path; `None` if the system does not report it.
#[cfg(unix)]
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let space = rustix::fs::statvfs(path).ok()?;
    space.f_bavail.checked_mul(space.f_frsize)
}

/// How many bytes are free on the file system of that path; `None` if the system does not report it.
#[cfg(not(unix))]
#[must_use]
pub fn free_bytes(_path: &Path) -> Option<u64> {
    None
}
