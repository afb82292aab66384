//! One of the slots of a runner: a run is prepared and driven in it as anywhere else. Does not know the other slots.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::limits::RunnerLimits;
use super::live_runs::LiveRuns;
use crate::driver::bring_up::{Reopened, prepare, prepare_resume, reopen};
use crate::driver::shared::Shared;
use crate::driver::{DriverError, Environment, Finished, Observer, Prepared, RunRequest, drive};
use crate::message::RunId;
use crate::session::Control;
use crate::store::Store;

/// A place for one run: what it shares with the others, and what it is asked for.
#[derive(Debug)]
pub struct Slot {
    /// The right to bring a run up; given back when it is driven.
    beginning: Option<OwnedSemaphorePermit>,
    control: mpsc::Sender<Control>,
    controls: mpsc::Receiver<Control>,
    limits: RunnerLimits,
    number: u64,
    runs: Arc<LiveRuns>,
    shared: Shared,
    store: Arc<Store>,
}

impl Slot {
    pub(super) fn new(
        beginning: Option<OwnedSemaphorePermit>,
        limits: RunnerLimits,
        runs: Arc<LiveRuns>,
        shared: Shared,
        store: Arc<Store>,
    ) -> Self {
        let (number, control, controls) = runs.begin();
        Self {
            beginning,
            control,
            controls,
            limits,
            number,
            runs,
            shared,
            store,
        }
    }

    /// Where the entries of the run go.
    #[must_use]
    pub const fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Where this run alone is asked for something.
    #[must_use]
    pub fn control(&self) -> mpsc::Sender<Control> {
        self.control.clone()
    }

    /// [`prepare`](crate::prepare), for a run that shares with the others of the runner.
    ///
    /// # Errors
    /// [`DriverError::Cancelled`] where all runs were asked to end meanwhile, and those of [`prepare`](crate::prepare).
    pub async fn prepare(&self, request: RunRequest) -> Result<Prepared, DriverError> {
        prepare(self.sharing(request), self.runs.leaving()).await
    }

    /// [`reopen`], for a run that shares with the others of the runner.
    pub(crate) fn reopen(
        &self,
        run_id: &RunId,
        environment: Environment,
    ) -> Result<Reopened, DriverError> {
        let environment = environment.sharing(self.shared.clone());
        reopen(&self.store, run_id, &environment)
    }

    /// [`prepare_resume`], for a run that shares with the others of the runner.
    pub(crate) async fn prepare_resume(
        &self,
        reopened: Reopened,
        request: RunRequest,
    ) -> Result<Prepared, DriverError> {
        prepare_resume(reopened, self.sharing(request), self.runs.leaving()).await
    }

    /// [`drive`](crate::drive), within the limits of the runner.
    ///
    /// # Errors
    /// Those of [`drive`](crate::drive).
    pub async fn drive(
        mut self,
        prepared: Prepared,
        observer: &mut dyn Observer,
    ) -> Result<Finished, DriverError> {
        let prepared = prepared.with_max_inferences(self.limits.max_inferences);
        self.beginning = None;
        let (_, none) = mpsc::channel(1);
        let controls = std::mem::replace(&mut self.controls, none);
        drive(prepared, &self.store, controls, observer).await
    }

    fn sharing(&self, request: RunRequest) -> RunRequest {
        let environment = request.environment.sharing(self.shared.clone());
        RunRequest {
            environment,
            ..request
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.runs.end(self.number);
    }
}
