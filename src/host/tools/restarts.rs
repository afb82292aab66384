//! The starts of a server in place of one that is down (001 §6): their delays and results. Starts nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Delay of a start after those before it failed, in seconds; the last value applies to all that follow.
const DELAYS: [u64; 7] = [0, 1, 2, 5, 10, 30, 60];
/// A server that ends sooner is started again as if its own start had failed, so that one which ends at once is not started all the time.
const SOON: Duration = Duration::from_secs(60);

/// Returns the delay of a start after so many that failed.
pub(super) fn delay(failed: usize) -> Duration {
    let delay = DELAYS.get(failed).or(DELAYS.last());
    Duration::from_secs(delay.copied().unwrap_or_default())
}

/// The starts in place of one server, of type `S`.
#[derive(Debug)]
pub(super) struct Restarts<S> {
    /// Starts that came one soon after the other, this server's among them; 0 for the first server.
    before: AtomicUsize,
    began: Instant,
    hurry: Notify,
    is_watched: AtomicBool,
    state: watch::Sender<State<S>>,
    /// Cancelled once nobody uses the server.
    unused: CancellationToken,
}

/// The state of the starts in place of a server.
#[derive(Debug)]
pub(super) enum State<S> {
    /// The server is up, or a start in its place is due or under way.
    Starting,
    /// The last `failed` starts failed, the latest for the reason `detail`; the next one is due after its delay.
    Failed { detail: String, failed: usize },
    /// Another server is up in its place.
    Up(Arc<S>),
}

impl<S> Default for Restarts<S> {
    fn default() -> Self {
        Self {
            before: AtomicUsize::new(0),
            began: Instant::now(),
            hurry: Notify::new(),
            is_watched: AtomicBool::new(false),
            state: watch::Sender::new(State::Starting),
            unused: CancellationToken::new(),
        }
    }
}

impl<S> Restarts<S> {
    /// Returns the number of starts that count as failed before the first one in place of the server.
    pub(super) fn failed_before(&self) -> usize {
        if self.began.elapsed() < SOON {
            self.before.load(Ordering::Relaxed)
        } else {
            0
        }
    }

    /// Notes that the server came up with the start after so many that count as failed.
    pub(super) fn came_after(&self, failed: usize) {
        self.before
            .store(failed.saturating_add(1), Ordering::Relaxed);
    }

    /// Lets the first start begin at once: a call waits for it.
    pub(super) fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// Waits until a call waits for the server.
    pub(super) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// True for the first caller, which has to start the server again when it is down.
    pub(super) fn take_watch(&self) -> bool {
        !self.is_watched.swap(true, Ordering::Relaxed)
    }

    /// Records the result of a start.
    pub(super) fn note(&self, state: State<S>) {
        self.state.send_replace(state);
    }

    /// Returns the state, now and with each change.
    pub(super) fn states(&self) -> watch::Receiver<State<S>> {
        self.state.subscribe()
    }

    /// Returns the server that is up in place of this one.
    pub(super) fn successor(&self) -> Option<Arc<S>> {
        match &*self.state.borrow() {
            State::Up(server) => Some(Arc::clone(server)),
            State::Failed { .. } | State::Starting => None,
        }
    }

    /// The token that is cancelled once nobody uses the server.
    pub(super) const fn unused(&self) -> &CancellationToken {
        &self.unused
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Restarts, SOON, delay};

    /// 001 §6: 0, 1, 2, 5, 10, 30, 60 s, and 60 s from then on.
    /// 001/6.servers.4
    /// 001/6.servers.12
    #[test]
    fn starts_that_fail_wait_longer_and_longer() {
        let delays: Vec<u64> = (0..10).map(|failed| delay(failed).as_secs()).collect();
        assert_eq!(delays, [0, 1, 2, 5, 10, 30, 60, 60, 60, 60]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_ends_soon_after_its_start_waits_as_if_that_had_failed() {
        let restarts = Restarts::<()>::default();
        assert_eq!(restarts.failed_before(), 0);
        restarts.came_after(2);
        assert_eq!(restarts.failed_before(), 3);
        let last = Duration::from_millis(1);
        tokio::time::advance(SOON.saturating_sub(last)).await;
        assert_eq!(restarts.failed_before(), 3);
        tokio::time::advance(last).await;
        assert_eq!(restarts.failed_before(), 0);
    }
}
