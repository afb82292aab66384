//! How long a server, and a person in one of its calls, is waited for.

use std::time::Duration;

use tokio::time::Instant;

use super::connection::INITIALISE_MS;

/// The longest wait for a response.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The longest that a server has for the list of its tools, whatever the contract allows.
pub(super) const LIST_MS: u64 = 30_000;

/// How long bring-up waits for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools) struct Timeouts {
    /// For its introduction; `npx` may have to install it first.
    pub(in crate::tools) initialise_ms: u64,
    /// For the whole list of its tools.
    pub(in crate::tools) list_ms: u64,
}

impl Timeouts {
    /// The longest timeouts, together never longer than the whole run may take.
    pub(in crate::tools) fn within(total_ms: u64) -> Self {
        let list_ms = (total_ms / 3).clamp(1, LIST_MS);
        Self {
            initialise_ms: total_ms.saturating_sub(list_ms).clamp(1, INITIALISE_MS),
            list_ms,
        }
    }

    /// For both.
    pub(in crate::tools) const fn whole_ms(self) -> u64 {
        self.initialise_ms.saturating_add(self.list_ms)
    }

    /// The longest for both, whatever the contract allows.
    pub(in crate::tools) const LONGEST_MS: u64 = INITIALISE_MS + LIST_MS;

    /// Whether a server that was too slow for the others may be in time for these.
    pub(in crate::tools) const fn outlast(self, others: Self) -> bool {
        self.initialise_ms > others.initialise_ms || self.list_ms > others.list_ms
    }
}

/// The moment `timeout_ms` from now, at most a year.
pub(super) fn deadline(timeout_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(timeout_ms).min(LONGEST)
}

/// Until when a call waits for a person: after nine tenths of its time its server gets a refusal, and the rest to end the call.
pub(super) fn person_until(timeout_ms: u64) -> Instant {
    deadline(timeout_ms - timeout_ms / 10)
}
