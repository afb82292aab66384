//! The turn of a run to take time of the processor for its bring-up. Given back while the run waits for others. Does not know what for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turn of one run, of which a process has only so many at once. Clones are the same one; the default limits nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    turns: Arc<Semaphore>,
}

impl Turn {
    /// One of those turns, which was waited for.
    pub(super) fn of(turns: Arc<Semaphore>, permit: OwnedSemaphorePermit) -> Self {
        let permit = Mutex::new(Some(permit));
        Self(Some(Arc::new(Held { permit, turns })))
    }

    /// Waits for something outside of this process; meanwhile it is another run's turn.
    pub(super) async fn given_up_for<T>(&self, awaited: impl Future<Output = T>) -> T {
        let Some(held) = &self.0 else {
            return awaited.await;
        };
        drop(held.permit().take());
        let done = awaited.await;
        let again = Arc::clone(&held.turns).acquire_owned().await;
        *held.permit() = again.ok();
        done
    }

    /// Gives it back for good: the run is up.
    pub(super) fn end(self) {
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
