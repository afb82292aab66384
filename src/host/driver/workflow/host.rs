//! What a workflow asks of the holder of its files. Does not drive anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::driver::{DriverError, Environment, Observer, RunRequest};
use monolith_core::agent::{StepOrder, StepResult, StepRun, WorkflowDraft};
use monolith_core::message::RunId;
use monolith_core::session::Control;

/// The host, for as long as one look at it takes: it is never held while something is waited for.
pub(super) fn locked<H>(host: &Mutex<H>) -> MutexGuard<'_, H> {
    host.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the steps of a workflow run under, and what they came to. It is read on threads of their own.
pub trait StepFiles: Send + Sync {
    /// What step runs are brought up in.
    fn environment(&self) -> Environment;

    /// What a step run is made of; its name is given later.
    ///
    /// # Errors
    /// Why it cannot be, for people: the step fails with it.
    fn request(&self, order: &StepOrder) -> Result<RunRequest, String>;

    /// What a sealed step run came to.
    ///
    /// # Errors
    /// [`DriverError`] where it cannot be read: the workflow stays as it is.
    fn ended(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, DriverError>;
}

/// Who holds the files of a workflow, and follows it.
pub trait StepHost {
    /// What its steps run under.
    fn files(&self) -> Arc<dyn StepFiles>;

    /// Who sees the entries of that step's run; what is recorded of it from before comes first. `control` is where the run is asked for
    /// something.
    fn observer(&self, order: &StepOrder, control: mpsc::Sender<Control>) -> Box<dyn Observer>;

    /// An entry has become durable.
    fn entry(&mut self, draft: &WorkflowDraft);

    /// A step has ended, before that is written down.
    fn step_ended(&mut self, order: &StepOrder, result: &StepResult) {
        let _ = (order, result);
    }
}
