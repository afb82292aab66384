//! The right of one process to drive a run. How others are kept away is for the database; who may write is for the epoch.

use std::fmt;

/// The right of this process to drive one run, which no other process has at the same time. It is given up with the process, however
/// that ends.
#[derive(Debug)]
pub struct RunLock(pub(super) Box<dyn HeldRun>);

impl RunLock {
    /// Gives the lock up and removes what is left of it: for a run that is sealed, and for one that was never created.
    pub fn discard(self) {
        self.0.discard();
    }
}

/// A lock of a database on a run. Dropping it releases the run.
pub(super) trait HeldRun: fmt::Debug + Send + Sync {
    /// Gives the run up and removes what is left of the lock.
    fn discard(self: Box<Self>);
}

/// The process that drives a run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunDriver {
    /// Its id, where it has written it down.
    pub pid: Option<u32>,
}
