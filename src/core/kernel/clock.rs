//! The time of a run, without the time that it waits for people. Does not read a clock.

/// The time that a run has been parked for approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunClock {
    parked_ms: u64,
    /// When the wait began that is not over.
    parked_since: Option<u64>,
}

impl RunClock {
    /// A call waits from then on, where none did.
    pub(crate) fn park(&mut self, at_ms: u64) {
        self.parked_since.get_or_insert(at_ms);
    }

    /// No call waits any more.
    pub(crate) fn unpark(&mut self, at_ms: u64) {
        self.parked_ms = self.parked_ms(at_ms);
        self.parked_since = None;
    }

    /// When the wait began that is not over.
    pub(crate) const fn parked_since(self) -> Option<u64> {
        self.parked_since
    }

    /// Milliseconds of waiting up to then.
    pub(crate) fn parked_ms(self, at_ms: u64) -> u64 {
        let since = self.parked_since.unwrap_or(at_ms);
        self.parked_ms.saturating_add(at_ms.saturating_sub(since))
    }

    /// Milliseconds up to then, without those of waiting.
    pub(crate) fn run_ms(self, at_ms: u64) -> u64 {
        at_ms.saturating_sub(self.parked_ms(at_ms))
    }

    /// The waits that are over, and the one that is not.
    pub(super) const fn key(self) -> (u64, Option<u64>) {
        (self.parked_ms, self.parked_since)
    }
}
