//! A run of the store that has no end yet, resumed as one of many.

use std::sync::Arc;

use super::one_run::{drive, end_of, guarded, refused_end_of};
use super::result::RunEnd;
use super::worker::Worker;
use super::workflow_run::{ListedWorkflow, end_of_workflow};
use crate::contract_file::ContractFile;
use crate::drive::ended::Ended;
use crate::drive::follower::Follower;
use crate::drive::unanswered::waits_unanswered;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use monolith_core::message::RunId;
use monolith_core::transcript::TranscriptKind;
use monolith_host::driver::{DriverError, Prepared, Reopened};
use monolith_host::store::StoreError;

/// Resumes a run. `sets` are changes of the file's values, after those that the run was begun with.
pub(super) async fn resume(
    place: &str,
    run_id: RunId,
    sets: Vec<String>,
    live: Follower,
    worker: Worker,
) -> RunEnd {
    let common = Arc::clone(&worker.common);
    let is_workflow = common.store.reader();
    let is_workflow = is_workflow.and_then(|reader| reader.is_workflow(&run_id));
    if matches!(is_workflow, Ok(true)) {
        if !sets.is_empty() {
            let fault = StoreError::OtherKind {
                asked: TranscriptKind::Run,
                kind: TranscriptKind::Workflow,
                run_id,
            };
            return end_of(&common, place, Err(ServiceError::from(fault).into()));
        }
        let listed = ListedWorkflow::Recorded(run_id);
        return end_of_workflow(place, listed, live, worker).await;
    }
    let reopened = match worker.reopen(run_id.clone()).await {
        Ok(reopened) => reopened,
        Err(DriverError::Store(fault @ StoreError::RunLocked { .. })) => {
            return RunEnd::Skipped(format!("{place}: {fault}"));
        }
        // Another process has brought it to its end meanwhile; or it is not known whether the one above has ended.
        Err(fault @ (DriverError::RunEnded { .. } | DriverError::CallerNotHere { .. })) => {
            return RunEnd::Skipped(format!("{place}: {fault}"));
        }
        Err(fault) => return end_of(&common, place, Err(ServiceError::from(fault).into())),
    };
    // Boxed: what is open for long should take no more than it needs.
    let ready = Box::pin(ready(run_id, reopened, sets, &worker, &live));
    let prepared = match guarded(&live, ready).await {
        Ok(prepared) => prepared,
        Err(broken) => return refused_end_of(&common, place, broken),
    };
    let driven = Box::pin(resumed(prepared, worker, &live));
    let driven = guarded(&live, driven).await;
    end_of(&common, place, driven)
}

/// The run as it is to be driven on; `None` if it is left as it is.
async fn ready(
    run_id: RunId,
    reopened: Reopened,
    sets: Vec<String>,
    worker: &Worker,
    live: &Follower,
) -> Result<Option<Prepared>, ServiceError> {
    let service = worker.common.service();
    let left = !reopened.is_orphan()
        && tokio::task::block_in_place(|| waits_unanswered(service, live, &run_id, &reopened));
    if let Some(first) = service.first_of(&run_id)? {
        live.originating_from(first);
    }
    live.recall(reopened.contract(), reopened.entries())?;
    if left {
        // Another process could only record that it came and went.
        return Ok(None);
    }
    Box::pin(prepared((run_id, reopened), sets, worker, live)).await
}

async fn resumed(
    prepared: Option<Prepared>,
    worker: Worker,
    live: &Follower,
) -> Result<Ended, ServiceError> {
    let Some(prepared) = prepared else {
        // It is recorded, so it stays as it is and can be resumed.
        let left = live.take_view().map(Ended::left);
        return left.ok_or_else(|| DriverError::Cancelled.into());
    };
    // Its future is large.
    Box::pin(drive(worker, prepared, live)).await
}

/// `None` if the process was asked to end meanwhile.
async fn prepared(
    (run_id, reopened): (RunId, Reopened),
    sets: Vec<String>,
    worker: &Worker,
    live: &Follower,
) -> Result<Option<Prepared>, ServiceError> {
    if reopened.is_orphan() {
        return Ok(Some(worker.prepare_end(reopened)));
    }
    let service = worker.common.service();
    let begun = reopened.invocation().cloned();
    let file = ContractFile::of_run(service, begun, None, sets);
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let spec = file.read(service)?;
    let request = file.request(service, spec, worker.common.key.clone());
    live.keeps_snapshots(service, request.spec.sessions_dir.as_deref())?;
    match Box::pin(worker.prepare_resume(reopened, request)).await {
        Ok(prepared) => Ok(Some(prepared)),
        Err(DriverError::Cancelled) => Ok(None),
        Err(fault) => Err(file.located(fault)),
    }
}
