//! From where a workflow is driven: its beginning, or where its transcript ends.

use std::sync::Arc;

use crate::agent::{Workflow, WorkflowAction, WorkflowEvent, WorkflowFold, WorkflowStarted};
use crate::contract::WorkflowDefinition;
use crate::driver::DriverError;
use crate::driver::clock::unix_ms;
use crate::message::{Digest, RunId};
use crate::store::{Invocation, RunLock, Store, StoreError};

/// The most characters of a workflow's name: those of its step runs have a number behind it.
const MOST_NAME: usize = 58;

/// A workflow that can be begun, or gone on with.
pub(crate) struct WorkflowBegin {
    pub(super) definition: Arc<WorkflowDefinition>,
    pub(super) lock: RunLock,
    pub(super) run_id: RunId,
    pub(super) start: Start,
}

/// From where it is driven.
pub(super) enum Start {
    New {
        invocation: Option<Invocation>,
        started: WorkflowStarted,
    },
    Resumed {
        head: Digest,
        workflow: Box<Workflow>,
    },
}

/// A new workflow, locked for this process. Nothing is written yet.
///
/// # Errors
/// [`DriverError::Store`] where the name is taken, [`DriverError::WorkflowName`] where step runs could not be named after it.
pub(crate) fn new_workflow(
    store: &Store,
    definition: WorkflowDefinition,
    input: String,
    run_id: RunId,
    invocation: Option<Invocation>,
) -> Result<WorkflowBegin, DriverError> {
    if run_id.as_str().len() > MOST_NAME {
        return Err(DriverError::WorkflowName {
            run_id,
            most: MOST_NAME,
        });
    }
    let lock = store.lock_run(&run_id).map_err(|fault| match fault {
        StoreError::RunLocked { run_id, .. } => StoreError::RunExists { run_id },
        other => other,
    })?;
    let started = WorkflowStarted {
        definition_hash: definition.definition_hash(),
        input,
        run_id: run_id.clone(),
        started_unix_ms: unix_ms(),
    };
    Ok(WorkflowBegin {
        definition: Arc::new(definition),
        lock,
        run_id,
        start: Start::New {
            invocation,
            started,
        },
    })
}

/// An unfinished workflow of the store: locked for this process, and decided again up to where its transcript ends.
pub(crate) struct ReopenedWorkflow {
    begin: WorkflowBegin,
    invocation: Option<Invocation>,
}

/// Locks an unfinished workflow, verifies it, and folds what is stored of it through a fresh machine. Nothing is written.
///
/// # Errors
/// [`DriverError`] where another process drives it, it cannot be read, or there is nothing to go on with.
pub(crate) fn reopen_workflow(
    store: &Store,
    run_id: &RunId,
) -> Result<ReopenedWorkflow, DriverError> {
    let lock = store.lock_run(run_id)?;
    let mut reader = store.reader()?;
    let invocation = reader.invocation(run_id)?;
    let verified = reader.verify_run(run_id, true)?;
    if let Some(flaw) = &verified.first_bad {
        return Err(DriverError::WorkflowDiffers {
            run_id: run_id.clone(),
            what: format!(
                "{}: expected {}, got {}",
                flaw.field, flaw.expected, flaw.actual
            ),
        });
    }
    let mut stored = reader.read_run(run_id)?;
    if stored.row().outcome.is_some() {
        lock.discard();
        return Err(DriverError::RunEnded {
            run_id: run_id.clone(),
        });
    }
    let definition = Arc::new(stored.definition()?);
    let mut fold = WorkflowFold::new(Arc::clone(&definition));
    let differs = |what: String| DriverError::WorkflowDiffers {
        run_id: run_id.clone(),
        what,
    };
    let mut head = Digest::ZERO;
    while let Some(entry) = stored.next_of_workflow() {
        let entry = entry?;
        let action: WorkflowAction = entry
            .decode_action()
            .map_err(|flaw| differs(flaw.to_string()))?;
        let event: Option<WorkflowEvent> = entry
            .decode_event()
            .map_err(|flaw| differs(flaw.to_string()))?;
        fold.take(&action, event.as_ref())
            .map_err(|fault| differs(fault.to_string()))?;
        head = entry.hash;
    }
    let workflow = fold.into_workflow();
    let workflow = workflow.ok_or_else(|| DriverError::NothingRecorded {
        run_id: run_id.clone(),
    })?;
    let start = Start::Resumed {
        head,
        workflow: Box::new(workflow),
    };
    Ok(ReopenedWorkflow {
        begin: WorkflowBegin {
            definition,
            lock,
            run_id: run_id.clone(),
            start,
        },
        invocation,
    })
}

impl ReopenedWorkflow {
    /// How it was asked for, where that was recorded.
    pub(crate) const fn invocation(&self) -> Option<&Invocation> {
        self.invocation.as_ref()
    }

    /// Goes on with it under the file as it is now.
    ///
    /// # Errors
    /// [`DriverError::WorkflowChanged`] where that is another workflow.
    pub(crate) fn under(self, now: &WorkflowDefinition) -> Result<WorkflowBegin, DriverError> {
        if *self.begin.definition == *now {
            return Ok(self.begin);
        }
        let file = self.begin.definition.file_digest != now.file_digest;
        Err(DriverError::WorkflowChanged {
            run_id: self.begin.run_id,
            what: if file { "its file" } else { "an agent's file" },
        })
    }
}
