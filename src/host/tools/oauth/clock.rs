//! The time of day, for what expires by it. None of it reaches a run.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds of Unix time.
pub(super) fn now_unix_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 knows no time at all.
    now.map_or(0, |now| now.as_secs())
}
