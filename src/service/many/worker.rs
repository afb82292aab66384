//! The resources that many runs share, and the worker that prepares and drives one of them. A worker does not know the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::terms::Terms;
use crate::drive::accounts::Accounts;
use crate::drive::follower::Follower;
use crate::service::Service;
use monolith_core::message::RunId;
use monolith_core::session::{Control, RedactionKey};
use monolith_host::driver::{
    self, DriverError, Environment, Finished, Observer, Prepared, Reopened, RunRequest, Shared,
    Turn, blocking,
};
use monolith_host::store::Store;

/// Maximum number of controls that may wait for a run.
const CONTROLS: usize = 8;

/// The resources that many runs share.
pub(super) struct Common {
    pub(super) accounts: Accounts,
    pub(super) key: RedactionKey,
    /// Cancelled once no further run is to begin: what is being prepared is given up.
    pub(super) leaving: CancellationToken,
    pub(super) open: Mutex<Open>,
    pub(super) shared: Shared,
    pub(super) store: Arc<Store>,
    pub(super) terms: Terms,
}

/// The runs that are open, by the number of their beginning.
#[derive(Default)]
pub(super) struct Open {
    begun: u64,
    runs: BTreeMap<u64, mpsc::Sender<Control>>,
}

impl Common {
    pub(super) const fn service(&self) -> &Service {
        &self.terms.service
    }

    /// Follows a run.
    pub(super) fn follower(&self) -> Follower {
        Follower::among_many(self.accounts.clone(), self.terms.surface.display())
    }

    /// Sends a control to every open run; no further one begins.
    pub(super) fn broadcast(&self, control: &Control) {
        self.leaving.cancel();
        for run in self.open().runs.values() {
            // One that is so far behind was asked to end often enough.
            let _ = run.try_send(control.clone());
        }
    }

    /// The number of open runs.
    pub(super) fn running(&self) -> usize {
        self.open().runs.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prepares and drives one run: with what the runs share, and under what is sent to all of them.
pub(super) struct Worker {
    pub(super) common: Arc<Common>,
    /// Sends controls to this run alone.
    pub(super) control: mpsc::Sender<Control>,
    controls: mpsc::Receiver<Control>,
    number: u64,
    /// To bring the run up; given back when it is driven.
    turn: Turn,
}

impl Worker {
    pub(super) fn new(common: Arc<Common>, turn: Turn) -> Self {
        let (control, controls) = mpsc::channel(CONTROLS);
        let mut open = common.open();
        let number = open.begun;
        open.begun = number.saturating_add(1);
        open.runs.insert(number, control.clone());
        drop(open);
        Self {
            common,
            control,
            controls,
            number,
            turn,
        }
    }

    /// Like [`driver::prepare`]; [`DriverError::Cancelled`] where all runs were asked to end meanwhile.
    pub(super) async fn prepare(&self, request: RunRequest) -> Result<Prepared, DriverError> {
        driver::prepare(self.sharing(request), &self.common.leaving).await
    }

    /// Like [`driver::reopen`], on another thread: a run may have thousands of entries.
    pub(super) async fn reopen(&self, run_id: RunId) -> Result<Reopened, DriverError> {
        let (store, environment) = (Arc::clone(&self.common.store), self.environment());
        blocking(move || driver::reopen(&store, &run_id, &environment)).await
    }

    /// Like [`driver::prepare_resume`].
    pub(super) async fn prepare_resume(
        &self,
        reopened: Reopened,
        request: RunRequest,
    ) -> Result<Prepared, DriverError> {
        driver::prepare_resume(reopened, self.sharing(request), &self.common.leaving).await
    }

    /// Like [`driver::prepare_end`].
    pub(super) fn prepare_end(&self, reopened: Reopened) -> Prepared {
        driver::prepare_end(reopened, &self.environment(), &self.common.key)
    }

    /// Like [`driver::drive`], within the limits of all runs.
    pub(super) async fn drive(
        mut self,
        prepared: Prepared,
        observer: &mut dyn Observer,
    ) -> Result<Finished, DriverError> {
        let prepared = prepared.with_max_inferences(self.common.terms.limits.max_inferences);
        let controls = self.begin();
        driver::drive(prepared, &self.common.store, controls, observer).await
    }

    /// The environment of the service, shared with the other runs.
    pub(super) fn environment(&self) -> Environment {
        let environment = self.common.service().environment.clone();
        environment.sharing(self.common.shared.clone())
    }

    /// The controls of the run that is driven now: it is brought up, and others take its turn.
    pub(super) fn begin(&mut self) -> mpsc::Receiver<Control> {
        std::mem::take(&mut self.turn).end();
        let (_, none) = mpsc::channel(1);
        std::mem::replace(&mut self.controls, none)
    }

    fn sharing(&self, request: RunRequest) -> RunRequest {
        let environment = request.environment.clone();
        let environment = environment.sharing(self.common.shared.clone());
        request.in_environment(environment.in_turn(self.turn.clone()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.common.open().runs.remove(&self.number);
    }
}
