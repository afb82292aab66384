//! A workflow as one of many: begun, resumed, or reported as it is recorded.

use std::sync::Arc;

use super::one_run::end_of;
use super::result::{Ending, RunEnd};
use super::worker::{Common, Worker};
use crate::contract_file::ContractFile;
use crate::drive::follower::Follower;
use crate::error::ServiceError;
use crate::panics::caught_in;
use crate::workflow::drive::{Under, driven};
use crate::workflow::ended::WorkflowResult;
use crate::workflow::ready::Ready;
use crate::workflow::recorded::recorded_result;
use crate::workflow_entries::view_of;
use monolith_core::message::RunId;
use monolith_host::driver::{DriverError, StepTerms, blocking};
use monolith_host::store::StoreError;

/// A workflow to drive.
pub(super) enum ListedWorkflow {
    /// A new one: its file, its input, its name.
    New(Box<ContractFile>, Option<String>, Option<RunId>),
    /// One of the store.
    Recorded(RunId),
}

/// Drives a workflow to its end, or until it is left; a panic in it is a fault of that workflow alone. `place` names it where it was not begun.
pub(super) async fn end_of_workflow(
    place: &str,
    listed: ListedWorkflow,
    live: Follower,
    worker: Worker,
) -> RunEnd {
    let common = Arc::clone(&worker.common);
    // Boxed: what is open for long should take no more than it needs.
    match caught_in(Box::pin(driven_among_many(worker, listed, live))).await {
        Ok(result) => {
            let ending = if result.is_stopped() {
                Ending::Stopped
            } else {
                Ending::Own
            };
            RunEnd::Workflow(Box::new(result), ending)
        }
        Err(ServiceError::Driver(
            fault @ (DriverError::Store(StoreError::RunLocked { .. })
            | DriverError::RunEnded { .. }),
        )) => RunEnd::Skipped(format!("{place}: {fault}")),
        Err(fault) => end_of(&common, place, Err(fault.into())),
    }
}

/// One that waits for a person who has not answered stays as it is.
async fn driven_among_many(
    mut worker: Worker,
    listed: ListedWorkflow,
    live: Follower,
) -> Result<WorkflowResult, ServiceError> {
    let common = Arc::clone(&worker.common);
    let service = common.service();
    let ready = match listed {
        ListedWorkflow::New(file, input, run_id) => {
            Box::pin(Ready::new(service, &common.store, *file, (input, run_id))).await?
        }
        ListedWorkflow::Recorded(run_id) => {
            let common = Arc::clone(&common);
            let reopen = move || Ready::resumed_or_left(common.service(), &common.store, &run_id);
            match blocking(reopen).await? {
                Ok(ready) => ready,
                Err(left) => return Ok(left),
            }
        }
    };
    let sessions = ready.file.sessions_of_steps(service, &ready.spec)?;
    let under = Under {
        environment: worker.environment(),
        is_watched: false,
        live,
        sessions: sessions.clone(),
        terms: StepTerms {
            grace: common.terms.grace,
            max_inferences: Some(common.terms.limits.max_inferences),
        },
    };
    let definition = ready.spec.definition.clone();
    let controls = worker.begin();
    let result = driven(service, &common.store, ready, under, controls).await?;
    let common = Arc::clone(&common);
    blocking(move || {
        let surface = &common.terms.surface;
        surface.keep_steps(&definition, &result, &sessions)?;
        Ok(result)
    })
    .await
}

/// A workflow that an earlier list began under the same file with the same input.
pub(super) enum RepeatedWorkflow {
    /// It has ended so.
    Ended(RunEnd),
    /// It has no end, and no process drives it.
    Open(RunId),
}

/// The workflow of a line that is in the store already; `None` if the line is to begin one, or is refused where it would.
pub(super) fn repeated_workflow(
    common: &Common,
    place: &str,
    (file, input): (&ContractFile, Option<&String>),
    run_id: &RunId,
) -> Option<RepeatedWorkflow> {
    let service = common.service();
    let mut reader = common.store.reader().ok()?;
    if !reader.is_workflow(run_id).ok()? {
        return None;
    }
    let begun = reader.invocation(run_id).ok()??;
    if begun.contract_file != file.invocation(Vec::new()).contract_file {
        return None;
    }
    let given = match input {
        Some(input) => input.clone(),
        None => file.read_workflow(service).ok()?.input.unwrap_or_default(),
    };
    let view = view_of(&mut reader, run_id).ok()?;
    if view.started?.input != given {
        return None;
    }
    if view.outcome.is_none() {
        return match reader.driver_of(run_id).ok()? {
            Some(_) => None,
            None => Some(RepeatedWorkflow::Open(run_id.clone())),
        };
    }
    let end = match recorded_result(service, run_id).transpose()? {
        Ok(result) => RunEnd::Workflow(Box::new(result), Ending::Recorded),
        Err(fault) => end_of(common, place, Err(fault.into())),
    };
    Some(RepeatedWorkflow::Ended(end))
}
