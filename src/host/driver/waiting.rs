//! The runs that wait for a person, and so can neither continue by themselves nor let their time pass (semantics §1: a parked
//! run is outside its timeouts). Asks no one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::queue::{Held, Permit};

/// The one thing that a run and its child runs wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A person, it or one below it.
    Person,
    /// Its turn alone, in a queue in which all that have one wait for a person: it needs none itself.
    Turn,
}

/// The waiting runs: at most one number for each run.
#[derive(Debug, Default)]
struct Numbers {
    changed: Notify,
    waiting: Mutex<BTreeMap<u64, WaitsFor>>,
}

impl Numbers {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, WaitsFor>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handle through which a run reports its wait.
#[derive(Debug)]
pub struct WaitingReport {
    above: Arc<Numbers>,
    number: u64,
    /// The place in a queue that the run has.
    place: Option<Arc<Held>>,
}

impl WaitingReport {
    /// Reports that the run and its child runs only wait for that; or that something is in progress.
    pub(super) fn set(&self, waits: Option<WaitsFor>) {
        let before = {
            let mut waiting = self.above.waiting();
            match waits {
                Some(what) => waiting.insert(self.number, what),
                None => waiting.remove(&self.number),
            }
        };
        if before == waits {
            return;
        }
        if let Some(place) = &self.place {
            place.rests(waits.is_some());
        }
        self.above.changed.notify_one();
    }

    /// The run has a place in a queue from now on: what waits for its turn there learns whether it rests.
    pub(super) fn holds(&mut self, permit: &Permit) {
        self.place = Some(permit.held());
    }
}

impl Drop for WaitingReport {
    /// The run has ended, or is left.
    fn drop(&mut self) {
        self.set(None);
    }
}

/// The reports of several runs: child runs by the numbers of their calls, the steps of a workflow by theirs.
#[derive(Debug, Default)]
pub struct Waiting {
    numbers: Arc<Numbers>,
}

impl Waiting {
    /// Returns the reports of a run driven alone, and its handle.
    pub fn alone() -> (Self, WaitingReport) {
        let waiting = Self::default();
        let report = waiting.report_of(0);
        (waiting, report)
    }

    /// Returns the report handle of that run.
    pub(crate) fn report_of(&self, number: u64) -> WaitingReport {
        WaitingReport {
            above: Arc::clone(&self.numbers),
            number,
            place: None,
        }
    }

    /// Waits for the next change. May be dropped while it waits.
    pub async fn changed(&self) {
        self.numbers.changed.notified().await;
    }

    /// Returns what all of `under_way` runs wait for: a person, if one of them does. `None` if there are none, or one is not
    /// waiting.
    pub fn of_all(&self, under_way: usize) -> Option<WaitsFor> {
        let waiting = self.numbers.waiting();
        if waiting.len() < under_way.max(1) {
            return None;
        }
        let asks = waiting.values().any(|what| *what == WaitsFor::Person);
        Some(if asks {
            WaitsFor::Person
        } else {
            WaitsFor::Turn
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::driver::queue::Queue;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_seen_by_whoever_looks_later_and_what_is_no_change_by_no_one() {
        let waiting = Waiting::default();
        let [one, two] = [1, 2].map(|number| waiting.report_of(number));
        one.set(Some(WaitsFor::Person));
        two.set(Some(WaitsFor::Turn));
        waiting.changed().await;
        assert_eq!(waiting.of_all(2), Some(WaitsFor::Person));
        assert_eq!(waiting.of_all(3), None);
        let none = timeout(Duration::from_secs(9), waiting.changed());
        one.set(Some(WaitsFor::Person));
        assert!(none.await.is_err(), "it waited before");
        one.set(None);
        waiting.changed().await;
        assert_eq!(waiting.of_all(1), Some(WaitsFor::Turn));
        assert_eq!(waiting.of_all(2), None);
        drop(two);
        waiting.changed().await;
        assert_eq!(waiting.of_all(0), None);
    }

    /// A run that waits for its turn waits for a person only while all before it do.
    #[tokio::test]
    async fn a_queue_rests_while_all_that_have_a_place_rest() {
        let queue = Queue::new("q");
        let above = Waiting::default();
        let places = [
            queue.permit(2, pending()).await.unwrap(),
            queue.permit(2, pending()).await.unwrap(),
        ];
        let reports = [1, 2].map(|number| {
            let mut report = above.report_of(number);
            report.holds(&places[usize::try_from(number).unwrap() - 1]);
            report
        });
        let seen = Mutex::new(Vec::new());
        let mut watched = Box::pin(queue.report_rest(|rests| seen.lock().unwrap().push(rests)));
        let mut check = |expect: &[bool]| {
            let poll = futures_util::FutureExt::now_or_never(&mut watched);
            assert!(poll.is_none());
            assert_eq!(*seen.lock().unwrap(), expect);
        };
        check(&[false]);
        reports[0].set(Some(WaitsFor::Person));
        check(&[false]);
        reports[1].set(Some(WaitsFor::Turn));
        check(&[false, true]);
        reports[0].set(None);
        check(&[false, true, false]);
        // The one that is left rests.
        let [first, second] = places;
        drop(first);
        check(&[false, true, false, true]);
        drop(second);
        check(&[false, true, false, true, false]);
    }
}
