//! The clock of one item: milliseconds in which it was driven. It stands still while the item waits for its turn.

use std::time::Duration;

use tokio::time::Instant;

/// The clock of one item.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemClock {
    /// Milliseconds before `since`.
    passed_ms: u64,
    /// The moment from which it runs; `None` while it stands still.
    since: Option<Instant>,
}

impl ItemClock {
    /// A running clock.
    pub(super) fn starting_at(passed_ms: u64) -> Self {
        Self {
            passed_ms,
            since: Some(Instant::now()),
        }
    }

    /// Milliseconds so far.
    pub(super) fn now_ms(self) -> u64 {
        let since = self.since.map(|since| since.elapsed().as_millis());
        let since = u64::try_from(since.unwrap_or_default()).unwrap_or(u64::MAX);
        self.passed_ms.saturating_add(since)
    }

    /// Stops the clock.
    pub(super) fn pause(&mut self) {
        self.passed_ms = self.now_ms();
        self.since = None;
    }

    /// Lets the clock run again.
    pub(super) fn resume(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// The moment at which it shows that time; `None` while it stands still, or if that is never.
    pub(super) fn instant_of(self, at_ms: u64) -> Option<Instant> {
        let left = Duration::from_millis(at_ms.saturating_sub(self.passed_ms));
        self.since?.checked_add(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_stands_still_keeps_its_time_and_has_no_moments() {
        let mut clock = ItemClock::starting_at(100);
        clock.pause();
        let stands_at = clock.now_ms();
        assert!(stands_at >= 100);
        assert_eq!((clock.now_ms(), clock.instant_of(200)), (stands_at, None));
        clock.resume();
        let due = |at_ms| clock.instant_of(stands_at + at_ms);
        assert_eq!(
            due(30).zip(due(0)).map(|(a, b)| a - b),
            Some(Duration::from_millis(30))
        );
    }
}
