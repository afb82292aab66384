//! One of the workers of a runner: it prepares and drives one run, as is done anywhere else. Does not know the others.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::limits::RunnerLimits;
use super::live_runs::LiveRuns;
use crate::driver::bring_up::{Reopened, prepare, prepare_end, prepare_resume, reopen};
use crate::driver::shared::Shared;
use crate::driver::tasks::blocking;
use crate::driver::turn::Turn;
use crate::driver::{DriverError, Environment, Finished, Observer, Prepared, RunRequest, drive};
use crate::store::Store;
use monolith_core::message::RunId;
use monolith_core::session::{Control, RedactionKey};

/// Prepares and drives one run of a runner: with what the runs share, and under what is sent to all of them.
#[derive(Debug)]
pub struct Worker {
    control: mpsc::Sender<Control>,
    controls: mpsc::Receiver<Control>,
    limits: RunnerLimits,
    number: u64,
    runs: Arc<LiveRuns>,
    shared: Shared,
    store: Arc<Store>,
    /// To bring the run up; given back when it is driven.
    turn: Turn,
}

impl Worker {
    pub(super) fn new(
        limits: RunnerLimits,
        runs: Arc<LiveRuns>,
        shared: Shared,
        store: Arc<Store>,
        turn: Turn,
    ) -> Self {
        let (number, control, controls) = runs.begin();
        Self {
            control,
            controls,
            limits,
            number,
            runs,
            shared,
            store,
            turn,
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

    /// [`prepare`](crate::driver::prepare), for a run that shares with the others of the runner.
    ///
    /// # Errors
    /// [`DriverError::Cancelled`] where all runs were asked to end meanwhile, and those of [`prepare`](crate::driver::prepare).
    pub async fn prepare(&self, request: RunRequest) -> Result<Prepared, DriverError> {
        prepare(self.sharing(request), self.runs.leaving()).await
    }

    /// [`reopen`], for a run that shares with the others of the runner. It takes its time on a thread of its own: a run may have thousands of
    /// entries.
    pub async fn reopen(
        &self,
        run_id: RunId,
        environment: Environment,
    ) -> Result<Reopened, DriverError> {
        let environment = environment.sharing(self.shared.clone());
        let store = Arc::clone(&self.store);
        blocking(move || reopen(&store, &run_id, &environment)).await
    }

    /// [`prepare_resume`], for a run that shares with the others of the runner.
    pub async fn prepare_resume(
        &self,
        reopened: Reopened,
        request: RunRequest,
    ) -> Result<Prepared, DriverError> {
        prepare_resume(reopened, self.sharing(request), self.runs.leaving()).await
    }

    /// [`prepare_end`], for a run that shares with the others of the runner.
    pub fn prepare_end(
        &self,
        reopened: Reopened,
        environment: &Environment,
        key: &RedactionKey,
    ) -> Prepared {
        prepare_end(reopened, &self.environment(environment.clone()), key)
    }

    /// [`drive`](crate::driver::drive), within the limits of the runner.
    ///
    /// # Errors
    /// As [`drive`](crate::driver::drive).
    pub async fn drive(
        mut self,
        prepared: Prepared,
        observer: &mut dyn Observer,
    ) -> Result<Finished, DriverError> {
        let prepared = prepared.with_max_inferences(self.limits.max_inferences);
        let controls = self.begin();
        drive(prepared, &self.store, controls, observer).await
    }

    /// What the runs below a workflow share with the others of the runner.
    pub fn environment(&self, environment: Environment) -> Environment {
        environment.sharing(self.shared.clone())
    }

    /// How many requests to models all runs may have open at once.
    pub const fn max_inferences(&self) -> usize {
        self.limits.max_inferences
    }

    /// What is asked of the work that this one does now: it is brought up, and others take its turn.
    pub fn begin(&mut self) -> mpsc::Receiver<Control> {
        std::mem::take(&mut self.turn).end();
        let (_, none) = mpsc::channel(1);
        std::mem::replace(&mut self.controls, none)
    }

    fn sharing(&self, request: RunRequest) -> RunRequest {
        let environment = request.environment.sharing(self.shared.clone());
        let environment = environment.in_turn(self.turn.clone());
        RunRequest {
            environment,
            ..request
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.runs.end(self.number);
    }
}
