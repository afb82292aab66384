//! The limit of files that the process may have open. Opens none.

use crate::error::ServiceError;
use crate::error::system::SystemFault;

/// Files of the process beside those of its runs: the store and its readers, streams, the files that are being read.
const OWN_FILES: u64 = 256;
/// Files of a request to a model: its connection, and one that is being closed.
const FILES_OF_A_REQUEST: u64 = 2;
/// Files of a tool server: three streams, its process, and what is open while it starts.
const FILES_OF_A_SERVER: u64 = 6;

/// Sees to it that so many runs and requests may be open at once: each run holds its lock. The limit is raised as far as that takes, and as far
/// as the system allows for a tool server of each run besides. Returns how many tool servers there may be.
///
/// # Errors
/// [`SystemFault::FileLimit`] where it does not allow enough for the runs themselves.
pub(super) fn allow_files(max_runs: usize, max_inferences: usize) -> Result<usize, ServiceError> {
    let runs = u64::try_from(max_runs).unwrap_or(u64::MAX);
    let requests = u64::try_from(max_inferences.min(max_runs)).unwrap_or(u64::MAX);
    let beside = OWN_FILES.saturating_add(requests.saturating_mul(FILES_OF_A_REQUEST));
    let needed = runs.saturating_add(beside);
    let wanted = needed.saturating_add(runs.saturating_mul(FILES_OF_A_SERVER));
    let allowed = raised_to(wanted);
    if let Some(left) = allowed.checked_sub(needed) {
        let servers = (left / FILES_OF_A_SERVER).max(1);
        return Ok(usize::try_from(servers).unwrap_or(usize::MAX));
    }
    Err(SystemFault::FileLimit {
        allowed,
        max_runs,
        needed,
    }
    .into())
}

/// Raises the limit where it is lower, as far as that is allowed; the limit then.
#[cfg(unix)]
fn raised_to(needed: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // None is no limit.
    let current = limit.current.unwrap_or(u64::MAX);
    if current >= needed {
        return current;
    }
    let wanted = limit.maximum.map_or(needed, |most| needed.min(most));
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => current,
    }
}

#[cfg(not(unix))]
fn raised_to(_needed: u64) -> u64 {
    u64::MAX
}
