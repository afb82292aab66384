//! The delays between starts of a server that is down (001 §6). Starts nothing.

use std::time::Duration;

use tokio::time::Instant;

/// Delay of a start after the one before it failed, in seconds; the last value applies to all that follow.
const DELAYS: [u64; 7] = [0, 1, 2, 5, 10, 30, 60];
/// The starts that were tried in place of one server.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    failed: usize,
    /// Not before that.
    next: Option<Instant>,
}

impl Restarts {
    /// Returns the number of failed starts.
    pub(super) const fn failed(&self) -> usize {
        self.failed
    }

    /// Notes that one more start failed.
    pub(super) fn note_failure(&mut self, now: Instant) {
        self.failed += 1;
        let delay = DELAYS.get(self.failed).or(DELAYS.last());
        let delay = Duration::from_secs(delay.copied().unwrap_or_default());
        self.next = Some(now + delay);
    }

    /// True if the next start is not due yet.
    pub(super) fn is_waiting(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| now < next)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Restarts;

    /// 001 §6: 0, 1, 2, 5, 10, 30, 60 s, and 60 s from then on.
    /// 001/6.servers.4
    /// 001/6.servers.12
    #[test]
    fn starts_that_fail_wait_longer_and_longer() {
        let (now, mut restarts) = (Instant::now(), Restarts::default());
        assert!(!restarts.is_waiting(now));
        for seconds in [1, 2, 5, 10, 30, 60, 60, 60] {
            restarts.note_failure(now);
            let next = now + Duration::from_secs(seconds);
            assert!(
                restarts.is_waiting(next - Duration::from_millis(1)),
                "{seconds}"
            );
            assert!(!restarts.is_waiting(next), "{seconds}");
        }
    }
}
