//! One queue of a process: how many of those that share it may be at work at once. The others wait in the order in which they came. It does not
//! know what they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

/// A queue that any number of runs share. Each names its own limit, the one of its contract: what waits longest begins once fewer than its
/// limit are at work, and nothing overtakes it.
#[derive(Debug)]
pub(super) struct Queue {
    name: String,
    /// All that have a place rest now, or no longer.
    rest_changed: Notify,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The waiting calls, by the number of their arrival.
    waiting: BTreeMap<u64, Waiting>,
    arrived: u64,
    /// The calls that have a place, by the same number; true if the call rests.
    working: BTreeMap<u64, bool>,
}

impl State {
    fn all_rest(&self) -> bool {
        !self.working.is_empty() && self.working.values().all(|rests| *rests)
    }
}

#[derive(Debug)]
struct Waiting {
    admit: oneshot::Sender<Permit>,
    limit: usize,
}

/// The right to be at work; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Held>);

/// A place that is held.
#[derive(Debug)]
pub(super) struct Held {
    number: u64,
    queue: Arc<Queue>,
}

impl Held {
    /// Who has the place does nothing now but wait, or no longer.
    pub(super) fn rests(&self, rests: bool) {
        self.queue.change(|state| {
            if let Some(held) = state.working.get_mut(&self.number) {
                *held = rests;
            }
        });
    }
}

impl Permit {
    fn of(queue: &Arc<Queue>, number: u64) -> Self {
        let queue = Arc::clone(queue);
        Self(Arc::new(Held { number, queue }))
    }

    /// The place, for who reports what its holder does.
    pub(super) fn held(&self) -> Arc<Held> {
        Arc::clone(&self.0)
    }
}

impl Queue {
    pub(super) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self::named(name))
    }

    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rest_changed: Notify::new(),
            state: Mutex::default(),
        }
    }

    /// Waits until what came before has begun and fewer than `limit` are at work; none if `given_up` comes first.
    pub(super) async fn permit(
        self: &Arc<Self>,
        limit: usize,
        given_up: impl Future<Output = ()>,
    ) -> Option<Permit> {
        let mut wait = match self.arrive(limit) {
            Arrival::Begins(permit) => return Some(permit),
            Arrival::Waits(wait) => wait,
        };
        let permit = tokio::select! {
            biased;
            () = given_up => None,
            permit = &mut wait.admitted => permit.ok(),
        };
        drop(wait);
        permit
    }

    /// Returns the queue depth.
    pub(super) fn depth(&self) -> usize {
        self.state().waiting.len()
    }

    /// Calls `report` with whether all that have a place rest, at once and at each change.
    pub(super) async fn report_rest(&self, mut report: impl FnMut(bool)) -> ! {
        loop {
            // A change behind this line is not missed.
            let changed = self.rest_changed.notified();
            let all_rest = self.state().all_rest();
            report(all_rest);
            changed.await;
        }
    }

    fn arrive(self: &Arc<Self>, limit: usize) -> Arrival {
        // A limit of nothing would never let anything begin.
        let limit = limit.max(1);
        self.change(|state| {
            let number = state.arrived;
            state.arrived = number.saturating_add(1);
            if state.waiting.is_empty() && state.working.len() < limit {
                state.working.insert(number, false);
                return Arrival::Begins(Permit::of(self, number));
            }
            let (admit, admitted) = oneshot::channel();
            state.waiting.insert(number, Waiting { admit, limit });
            tracing::debug!(queue = self.name, depth = state.waiting.len(), "waits");
            Arrival::Waits(Wait {
                admitted,
                number,
                queue: Arc::clone(self),
            })
        })
    }

    /// Lets those begin whose turn it is.
    fn admit(self: &Arc<Self>) {
        let mut admitted = Vec::new();
        self.change(|state| {
            while let Some(first) = state.waiting.first_entry() {
                if state.working.len() >= first.get().limit {
                    break;
                }
                let (number, waiting) = first.remove_entry();
                state.working.insert(number, false);
                admitted.push((number, waiting.admit));
                tracing::debug!(
                    queue = self.name,
                    depth = state.waiting.len(),
                    "waits no longer"
                );
            }
        });
        for (number, admit) in admitted {
            // One that has given up meanwhile gives its permit back.
            drop(admit.send(Permit::of(self, number)));
        }
    }

    /// Changes the state, and reports where all rest from now on, or no longer.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let before = state.all_rest();
        let changed = change(&mut state);
        let has_changed = state.all_rest() != before;
        drop(state);
        if has_changed {
            self.rest_changed.notify_waiters();
        }
        changed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Held { number, queue } = &*self.0;
        queue.change(|state| state.working.remove(number));
        queue.admit();
    }
}

enum Arrival {
    Begins(Permit),
    Waits(Wait),
}

/// A wait in the queue; it is given up when it is dropped.
struct Wait {
    admitted: oneshot::Receiver<Permit>,
    number: u64,
    queue: Arc<Queue>,
}

impl Drop for Wait {
    fn drop(&mut self) {
        let left = self.queue.state().waiting.remove(&self.number);
        if left.is_some() {
            tracing::debug!(queue = self.queue.name, "waits no longer");
            // What came after it may have a higher limit.
            self.queue.admit();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn what_came_first_begins_first_and_nothing_overtakes_it() {
        let queue = Queue::new("q");
        let first = queue.permit(2, pending()).await.unwrap();
        let second = queue.permit(2, pending()).await.unwrap();
        let mut narrow = Box::pin(queue.permit(1, pending()));
        let mut wide = Box::pin(queue.permit(9, pending()));
        assert!((&mut narrow).now_or_never().is_none());
        assert!((&mut wide).now_or_never().is_none());
        assert_eq!(queue.depth(), 2);
        drop(first);
        assert!((&mut narrow).now_or_never().is_none(), "one is at work");
        assert!((&mut wide).now_or_never().is_none(), "it came later");
        drop(second);
        let narrow = narrow.now_or_never().unwrap().unwrap();
        let wide = wide.now_or_never().unwrap().unwrap();
        assert_eq!(queue.depth(), 0);
        drop((narrow, wide));
        assert!(queue.permit(1, pending()).now_or_never().is_some());
    }

    #[tokio::test]
    async fn what_gives_up_leaves_its_place_to_the_next() {
        let queue = Queue::new("q");
        let held = queue.permit(1, pending()).await.unwrap();
        assert!(queue.permit(1, ready(())).await.is_none());
        assert_eq!(queue.depth(), 0);
        let mut narrow = Box::pin(queue.permit(1, pending()));
        let mut wide = Box::pin(queue.permit(2, pending()));
        assert!((&mut narrow).now_or_never().is_none());
        assert!((&mut wide).now_or_never().is_none());
        drop(narrow);
        assert!(wide.now_or_never().unwrap().is_some());
        drop(held);
        // A permit that was given and never taken is not lost.
        let held = queue.permit(1, pending()).await.unwrap();
        let mut dropped = Box::pin(queue.permit(1, pending()));
        assert!((&mut dropped).now_or_never().is_none());
        drop(held);
        drop(dropped);
        assert!(queue.permit(1, pending()).now_or_never().is_some());
    }
}
