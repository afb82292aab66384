//! The monotonic clock of one run. Orders nothing by wall-clock time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::tools::Clock;

/// The clock of one run: monotonic, in milliseconds since the run began. It stands still while all that the run waits for waits for a
/// person. Its clones are the same clock.
#[derive(Clone, Debug)]
pub(super) struct RunClock(Arc<Mutex<Reading>>);

/// The last reading of a clock, and the moment from which it continues; without that moment it stands still.
#[derive(Debug)]
struct Reading {
    shown_ms: u64,
    since: Option<Instant>,
}

impl Reading {
    fn now_ms(&self) -> u64 {
        let elapsed = self.since.map_or(0, |since| since.elapsed().as_millis());
        self.shown_ms
            .saturating_add(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

impl RunClock {
    /// A clock that shows `base_ms` now: 0 for a new run, the last recorded moment for a resumed one.
    pub(super) fn starting_at(base_ms: u64) -> Self {
        Self(Arc::new(Mutex::new(Reading {
            shown_ms: base_ms,
            since: Some(Instant::now()),
        })))
    }

    /// The moment at which the clock shows `at_ms`; none while it stands still.
    pub(super) fn instant_of(&self, at_ms: u64) -> Option<Instant> {
        let reading = self.reading();
        let ahead = Duration::from_millis(at_ms.saturating_sub(reading.shown_ms));
        let since = reading.since?;
        // A deadline beyond what the system can count never comes: a century replaces it.
        Some(
            since
                .checked_add(ahead)
                .unwrap_or_else(|| since + Duration::from_secs(100 * 365 * 86_400)),
        )
    }

    /// Lets it stand still, or go on from where it stands.
    pub(super) fn stand_still(&self, still: bool) {
        let mut reading = self.reading();
        if still == reading.since.is_none() {
            return;
        }
        *reading = Reading {
            shown_ms: reading.now_ms(),
            since: (!still).then(Instant::now),
        };
    }

    fn reading(&self) -> MutexGuard<'_, Reading> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for RunClock {
    fn run_ms(&self) -> u64 {
        self.reading().now_ms()
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

    /// The wall clock may be set back or stand still: paused time does not move it, and the run's clock continues.
    #[tokio::test(start_paused = true)]
    async fn the_clock_of_a_resumed_run_goes_on_from_the_last_moment_and_never_back() {
        let clock = RunClock::starting_at(500);
        assert_eq!(clock.run_ms(), 500);
        tokio::time::advance(Duration::from_millis(20)).await;
        assert_eq!(clock.run_ms(), 520);
        let ahead = clock.instant_of(530).map(|at| at - Instant::now());
        assert_eq!(ahead, Some(Duration::from_millis(10)));
        // A moment before the resume has come long ago.
        assert!(clock.instant_of(3).is_some_and(|at| at <= Instant::now()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_stands_still_comes_to_no_moment_and_goes_on_where_it_stood() {
        let clock = RunClock::starting_at(500);
        tokio::time::advance(Duration::from_millis(20)).await;
        let same = clock.clone();
        for _ in 0..2 {
            same.stand_still(true);
            tokio::time::advance(Duration::from_secs(3_600)).await;
            assert_eq!(clock.run_ms(), 520);
            assert_eq!(clock.instant_of(530), None);
        }
        for _ in 0..2 {
            same.stand_still(false);
            assert_eq!(clock.run_ms(), 520);
        }
        tokio::time::advance(Duration::from_millis(4)).await;
        let ahead = clock.instant_of(530).map(|at| at - Instant::now());
        assert_eq!(ahead, Some(Duration::from_millis(6)));
    }
}
