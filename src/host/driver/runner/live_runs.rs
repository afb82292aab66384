//! The runs that are open in a process, and what all of them are asked for. Drives none.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use monolith_core::session::Control;

/// How many requests to end a run may be behind with.
const CONTROLS: usize = 8;

/// The runs that are open, by the number of their beginning.
#[derive(Debug, Default)]
pub(super) struct LiveRuns {
    /// Set once no further run is to begin: what is being prepared is given up.
    leaving: CancellationToken,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    begun: u64,
    runs: BTreeMap<u64, mpsc::Sender<Control>>,
}

impl LiveRuns {
    /// A run begins: its number, and where it is asked for something.
    pub(super) fn begin(&self) -> (u64, mpsc::Sender<Control>, mpsc::Receiver<Control>) {
        let (control, controls) = mpsc::channel(CONTROLS);
        let mut open = self.open();
        let number = open.begun;
        open.begun = number.saturating_add(1);
        open.runs.insert(number, control.clone());
        (number, control, controls)
    }

    /// A run is over.
    pub(super) fn end(&self, number: u64) {
        self.open().runs.remove(&number);
    }

    /// Sends that to every open run; no further one begins.
    pub(super) fn broadcast(&self, control: &Control) {
        self.leaving.cancel();
        for run in self.open().runs.values() {
            // One that is so far behind was asked to end often enough.
            let _ = run.try_send(control.clone());
        }
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.open().runs.len()
    }

    pub(super) const fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
