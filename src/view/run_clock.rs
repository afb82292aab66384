//! The time of a run that its timeouts count: they stand still while a call waits for an approval. Does not know limits.

/// How long a run has waited for approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunClock {
    waited_ms: u64,
    /// When the wait began that is not over.
    since_ms: Option<u64>,
}

impl RunClock {
    /// A call waits from then on, where none did.
    pub(super) fn stop(&mut self, at_ms: u64) {
        self.since_ms.get_or_insert(at_ms);
    }

    /// No call waits any more.
    pub(super) fn start(&mut self, at_ms: u64) {
        self.waited_ms = self.waited_ms(at_ms);
        self.since_ms = None;
    }

    /// Milliseconds of waiting up to then.
    pub(super) fn waited_ms(&self, at_ms: u64) -> u64 {
        let now = self.since_ms.map_or(0, |since| at_ms.saturating_sub(since));
        self.waited_ms.saturating_add(now)
    }
}
