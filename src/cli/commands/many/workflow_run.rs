//! A workflow of a list: driven, and what it comes to as one line. Does not know which line it was.

use crate::commands::drive::Watched;
use monolith_service::drive::follower::Follower;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::one_run::{RunEnd, end_of, fault_of_panic};
use super::run_result::{Ending, RunResult};
use super::terms::Terms;
use crate::commands::workflow::recorded_result;
use crate::commands::workflow::{ListedWorkflow, workflow_among_many};
use monolith_core::message::RunId;
use monolith_host::driver::{DriverError, Worker};
use monolith_host::store::{Store, StoreError};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::workflow::ended::WorkflowResult;
use monolith_service::workflow_entries::view_of;

/// Drives a workflow to its end, or until it is left; a panic in it is a fault of that workflow alone.
pub(super) async fn workflow_driven(
    terms: &Arc<Terms>,
    worker: Worker,
    listed: ListedWorkflow,
) -> Result<WorkflowResult, ServiceError> {
    let live = Follower::among_many(
        terms.accounts.clone(),
        Watched::among_many(terms.app.screen),
    );
    let driven = workflow_among_many(&terms.app, worker, listed, live, terms.leaving);
    // Boxed: what is open for long should take no more than it needs.
    let done = std::panic::AssertUnwindSafe(Box::pin(driven)).catch_unwind();
    done.await
        .unwrap_or_else(|payload| Err(fault_of_panic(&*payload)))
}

/// What it comes to as a line of results; `place` names it where it was not begun.
pub(super) fn workflow_end(
    terms: &Terms,
    place: &str,
    driven: Result<WorkflowResult, ServiceError>,
) -> RunEnd {
    match driven {
        Ok(result) => {
            let ending = if result.is_stopped() {
                Ending::Stopped
            } else {
                Ending::Own
            };
            RunEnd::Result(Box::new(RunResult::of_workflow(terms, &result, ending)))
        }
        Err(ServiceError::Driver(
            fault @ (DriverError::Store(StoreError::RunLocked { .. })
            | DriverError::RunEnded { .. }),
        )) => RunEnd::Skipped(format!("{place}: {fault}")),
        Err(fault) => end_of(terms, place, Err(fault.into())),
    }
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
    terms: &Terms,
    place: &str,
    (file, input): (&ContractFile, Option<&String>),
    (run_id, store): (&RunId, &Store),
) -> Option<RepeatedWorkflow> {
    let mut reader = store.reader().ok()?;
    if !reader.is_workflow(run_id).ok()? {
        return None;
    }
    let begun = reader.invocation(run_id).ok()??;
    if begun.contract_file != file.invocation(Vec::new()).contract_file {
        return None;
    }
    let given = match input {
        Some(input) => input.clone(),
        None => file
            .read_workflow(&terms.app)
            .ok()?
            .input
            .unwrap_or_default(),
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
    let end = match recorded_result(&terms.app, run_id) {
        Ok(Some(result)) => {
            let result = RunResult::of_workflow(terms, &result, Ending::Recorded);
            RunEnd::Result(Box::new(result))
        }
        Ok(None) => return None,
        Err(fault) => end_of(terms, place, Err(fault.into())),
    };
    Some(RepeatedWorkflow::Ended(end))
}
