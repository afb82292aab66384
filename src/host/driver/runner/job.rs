//! What a worker of a runner does. Does not know how many there are.

use super::Worker;
use crate::driver::observer::Unobserved;
use crate::driver::{DriverError, Finished, RunRequest};

/// One run to be: what a worker does, and what that comes to.
///
/// A [`RunRequest`] is a job that is prepared, driven without an observer, and comes to what [`drive`](crate::driver::drive) comes to. A host that watches its
/// runs, or names another beginning, has a type of its own.
pub trait Job: Send + 'static {
    /// What it comes to.
    type End: Send + 'static;

    /// Does it. Another job may begin once the end was taken.
    fn run(self, worker: Worker) -> impl Future<Output = Self::End> + Send;
}

impl Job for RunRequest {
    type End = Result<Finished, DriverError>;

    async fn run(self, worker: Worker) -> Self::End {
        let prepared = worker.prepare(self).await?;
        worker.drive(prepared, &mut Unobserved).await
    }
}
