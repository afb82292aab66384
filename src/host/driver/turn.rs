//! The turn of a run to take time of the processor for its bring-up. Given back while the run waits for others. Does not know what for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turn of one run, of which a process has only so many at once. Clones are the same one; the default limits nothing.
#[derive(Clone, Debug, Default)]
pub struct Turn(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    turns: Arc<Semaphore>,
}

impl Turn {
    /// One of those turns, which was waited for.
    pub fn of(turns: Arc<Semaphore>, permit: OwnedSemaphorePermit) -> Self {
        let permit = Mutex::new(Some(permit));
        Self(Some(Arc::new(Held { permit, turns })))
    }

    /// Waits for something outside of this process, and gives the turn to another run meanwhile. A run that no longer has a
    /// turn waits for none: it would keep it until its end, and its child runs are brought up while it runs.
    pub(super) async fn given_up_for<T>(&self, awaited: impl Future<Output = T>) -> T {
        let Some(held) = &self.0 else {
            return awaited.await;
        };
        let had_one = held.permit().take().is_some();
        let done = awaited.await;
        if !had_one {
            return done;
        }
        let again = Arc::clone(&held.turns).acquire_owned().await;
        *held.permit() = again.ok();
        done
    }

    /// Gives it back for good: the run is up.
    pub fn end(self) {
        if let Some(held) = self.0 {
            drop(held.permit().take());
        }
    }
}

impl Held {
    fn permit(&self) -> MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.permit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_of(turns: &Arc<Semaphore>) -> Turn {
        let permit = Arc::clone(turns).try_acquire_owned().unwrap();
        Turn::of(Arc::clone(turns), permit)
    }

    #[tokio::test]
    async fn a_turn_is_given_up_while_its_run_waits_and_taken_again_after_that() {
        let turns = Arc::new(Semaphore::new(1));
        let turn = turn_of(&turns);
        let free = turn.given_up_for(async { turns.available_permits() }).await;
        assert_eq!((free, turns.available_permits()), (1, 0));
    }

    #[tokio::test]
    async fn a_run_that_is_up_takes_no_turn_for_the_runs_below_it() {
        let turns = Arc::new(Semaphore::new(1));
        let turn = turn_of(&turns);
        let of_child = turn.clone();
        turn.end();
        of_child.given_up_for(async {}).await;
        assert_eq!(turns.available_permits(), 1);
    }
}
