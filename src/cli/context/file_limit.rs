//! How many files the process may have open. Opens none.

use crate::cli::context::error::{CliError, SystemFault};

/// Files of the process beside those of its runs: the store and its readers, streams, tool servers, the files that are being read.
const OWN_FILES: u64 = 256;
/// Files of a request to a model: its connection, and one that is being closed.
const FILES_OF_A_REQUEST: u64 = 2;

/// Sees to it that so many runs and requests may be open at once: each run holds its lock. The limit is raised as far as the system allows.
///
/// # Errors
/// [`SystemFault::FileLimit`] where it does not allow enough.
pub(in crate::cli) fn allow_files(max_runs: usize, max_inferences: usize) -> Result<(), CliError> {
    let runs = u64::try_from(max_runs).unwrap_or(u64::MAX);
    let requests = u64::try_from(max_inferences.min(max_runs)).unwrap_or(u64::MAX);
    let beside = OWN_FILES.saturating_add(requests.saturating_mul(FILES_OF_A_REQUEST));
    let needed = runs.saturating_add(beside);
    let allowed = raised_to(needed);
    if allowed >= needed {
        return Ok(());
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
