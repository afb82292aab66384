//! Which runs wait for a person, and so can neither go on by themselves nor let their time pass (semantics §1: a parked run is outside its
//! timeouts). Asks no one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long all that is under way has waited for a person when it is left: what has just got its answer, or its turn, reports it by then.
pub(crate) const REST: Duration = Duration::from_millis(100);

/// Those that wait: at most one number for each run.
#[derive(Debug, Default)]
struct Numbers {
    changed: Notify,
    waiting: Mutex<BTreeSet<u64>>,
}

impl Numbers {
    fn waiting(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a run reports whether all that it does, with the runs below it, is wait for a person.
#[derive(Debug)]
pub(crate) struct WaitingReport {
    above: Arc<Numbers>,
    number: u64,
}

impl WaitingReport {
    /// Reports it, where it has changed.
    pub(super) fn set(&self, waits: bool) {
        let has_changed = {
            let mut waiting = self.above.waiting();
            if waits {
                waiting.insert(self.number)
            } else {
                waiting.remove(&self.number)
            }
        };
        if has_changed {
            self.above.changed.notify_one();
        }
    }
}

/// What several runs have reported: those below a run by the numbers of their calls, the steps of a workflow by theirs, and of a run that
/// is driven alone 0.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    numbers: Arc<Numbers>,
}

impl Waiting {
    /// Where the run with that number reports.
    pub(crate) fn report_of(&self, number: u64) -> WaitingReport {
        let above = Arc::clone(&self.numbers);
        WaitingReport { above, number }
    }

    /// Waits for the next change. May be dropped while it waits.
    pub(crate) async fn changed(&self) {
        self.numbers.changed.notified().await;
    }

    /// That run has ended, or is left.
    pub(super) fn ended(&self, number: u64) {
        self.numbers.waiting().remove(&number);
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.numbers.waiting().len()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_seen_by_whoever_looks_later_and_what_is_no_change_by_no_one() {
        let waiting = Waiting::default();
        let [one, two] = [1, 2].map(|number| waiting.report_of(number));
        one.set(true);
        two.set(true);
        waiting.changed().await;
        assert_eq!(waiting.count(), 2);
        let none = timeout(Duration::from_secs(9), waiting.changed());
        one.set(true);
        assert!(none.await.is_err(), "it waited before");
        one.set(false);
        waiting.changed().await;
        assert_eq!(waiting.count(), 1);
        waiting.ended(2);
        assert_eq!(waiting.count(), 0);
    }
}
