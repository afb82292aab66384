//! The monotonic clock of one run. Orders nothing by wall-clock time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::tools::Clock;

/// The clock of one run: monotonic, in milliseconds since the run began. The wall clock orders nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunClock {
    base_ms: u64,
    started: Instant,
}

impl RunClock {
    /// A clock that shows `base_ms` now: 0 for a new run, the last recorded moment for a resumed one.
    pub(super) fn starting_at(base_ms: u64) -> Self {
        Self {
            base_ms,
            started: Instant::now(),
        }
    }

    /// The moment at which the clock shows `at_ms`.
    pub(super) fn instant_of(&self, at_ms: u64) -> Instant {
        let ahead = Duration::from_millis(at_ms.saturating_sub(self.base_ms));
        // A deadline beyond what the system can count never comes: a century replaces it.
        self.started
            .checked_add(ahead)
            .unwrap_or_else(|| self.started + Duration::from_secs(100 * 365 * 86_400))
    }
}

impl Clock for RunClock {
    fn run_ms(&self) -> u64 {
        let elapsed = self.started.elapsed().as_millis();
        self.base_ms
            .saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    fn unix_ms(&self) -> u64 {
        unix_ms()
    }
}

/// Wall-clock time in milliseconds since 1970-01-01 UTC; 0 before that.
pub(super) fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| u64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}

/// Waits until that moment; for ever, where there is none.
pub(super) async fn sleep_until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wall clock may be set back or stand still: paused time moves none of it, and the run's clock goes on.
    #[tokio::test(start_paused = true)]
    async fn the_clock_of_a_resumed_run_goes_on_from_the_last_moment_and_never_back() {
        let clock = RunClock::starting_at(500);
        assert_eq!(clock.run_ms(), 500);
        tokio::time::advance(Duration::from_millis(20)).await;
        assert_eq!(clock.run_ms(), 520);
        let ahead = clock.instant_of(530).duration_since(Instant::now());
        assert_eq!(ahead, Duration::from_millis(10));
        // A moment before the resume has come long ago.
        assert!(clock.instant_of(3) <= Instant::now());
    }
}
