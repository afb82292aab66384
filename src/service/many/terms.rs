//! The terms that are the same for all runs of a list, and the surface that they are driven for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::drive::display::Display;
use crate::drive::ended::Ended;
use crate::error::ServiceError;
use crate::service::Service;
use crate::workflow::ended::WorkflowResult;
use monolith_core::contract::{StepId, WorkflowDefinition};
use monolith_host::store::Durability;

/// Limits of what many runs take at once; each is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of open runs.
    pub max_runs: usize,
    /// Maximum number of requests to models, of all runs and all providers. The others wait, the oldest first. As many runs may probe
    /// their models meanwhile.
    pub max_inferences: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_runs: 256,
            max_inferences: 64,
        }
    }
}

/// A surface that many runs are driven for. Its methods are called in the tasks of the runs.
pub trait Surface: Send + Sync {
    /// Returns the display of one run, which nobody watches by itself.
    fn display(&self) -> Box<dyn Display>;

    /// Keeps files of a run that has ended.
    fn keep(&self, _: &Ended) {}

    /// Keeps files of the step runs of a workflow. `sessions` has the folder of snapshots of each step.
    fn keep_steps(
        &self,
        _workflow: &WorkflowDefinition,
        _result: &WorkflowResult,
        _sessions: &BTreeMap<StepId, PathBuf>,
    ) -> Result<(), ServiceError> {
        Ok(())
    }
}

/// Terms of all runs of a list.
pub struct Terms {
    /// Durability of entries and of accounting.
    pub durability: Durability,
    /// Time that calls in flight have after a suspension.
    pub grace: Duration,
    /// Limits of what the runs take at once.
    pub limits: Limits,
    /// The place that the runs work in.
    pub service: Service,
    /// Changes of every file's values, before those of its line.
    pub sets: Vec<String>,
    /// The surface.
    pub surface: Box<dyn Surface>,
    /// Task of the runs whose line has none.
    pub task: Option<String>,
}
