//! Runs of the store that have no end yet, gone on with.

use crate::commands::drive::Watched;
use monolith_service::drive::ended::Ended;
use monolith_service::drive::follower::Follower;
use monolith_service::drive::unanswered::waits_unanswered;
use std::collections::VecDeque;
use std::sync::Arc;

use super::fleet::Source;
use super::one_run::{RunEnd, drive, end_of, guarded, refused_end_of};
use super::terms::Terms;
use super::workflow_run::{workflow_driven, workflow_end};
use crate::commands::workflow::ListedWorkflow;
use monolith_core::message::RunId;
use monolith_host::driver::{DriverError, Job, Prepared, Reopened, Worker};
use monolith_host::store::{DamagedRow, StoreError};
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::secrets;
use monolith_service::text::numbers::counted;

/// Runs that are gone on with, and what is the same for all of them.
#[derive(Debug)]
pub(crate) struct RecordedRuns {
    /// Or rows that cannot be read as one.
    pub(crate) runs: VecDeque<Result<RunId, DamagedRow>>,
    pub(crate) terms: Arc<Terms>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct RecordedRun {
    run: Result<RunId, DamagedRow>,
    /// Changes of the file's values, after those that the run was begun with.
    sets: Vec<String>,
    terms: Arc<Terms>,
}

impl RecordedRun {
    /// A run that a line of a list begins again.
    pub(super) const fn repeated(run_id: RunId, sets: Vec<String>, terms: Arc<Terms>) -> Self {
        Self {
            run: Ok(run_id),
            sets,
            terms,
        }
    }
}

impl Source for RecordedRuns {
    type Job = RecordedRun;

    async fn next(&mut self) -> Option<RecordedRun> {
        let run = self.runs.pop_front()?;
        let terms = Arc::clone(&self.terms);
        Some(RecordedRun {
            run,
            sets: terms.sets.clone(),
            terms,
        })
    }

    fn has_more(&mut self) -> bool {
        !self.runs.is_empty()
    }

    fn left(&self) -> Option<usize> {
        Some(self.runs.len())
    }

    fn rest(&self, has_more: bool) -> Option<String> {
        let app = &self.terms.app;
        has_more.then(|| {
            let (left, resume) = (counted(self.runs.len(), "run"), app.hint("resume --all"));
            format!("not gone on with: {left}; {resume} does")
        })
    }
}

impl Job for RecordedRun {
    type End = RunEnd;

    async fn run(self, worker: Worker) -> RunEnd {
        secrets::scoped(self.resume(worker)).await
    }
}

impl RecordedRun {
    async fn resume(self, worker: Worker) -> RunEnd {
        let Self { run, sets, terms } = self;
        let run_id = match run {
            Ok(run_id) => run_id,
            Err(DamagedRow { run, fault }) => {
                let broken = ServiceError::from(fault).into();
                return end_of(&terms, &format!("run {run}"), Err(broken));
            }
        };
        let place = format!("run {run_id}");
        let is_workflow = worker.store().reader();
        let is_workflow = is_workflow.and_then(|reader| reader.is_workflow(&run_id));
        if matches!(is_workflow, Ok(true)) {
            if !sets.is_empty() {
                let fault = StoreError::IsWorkflow { run_id };
                return end_of(&terms, &place, Err(ServiceError::from(fault).into()));
            }
            let listed = ListedWorkflow::Recorded(run_id);
            let driven = workflow_driven(&terms, worker, listed).await;
            return workflow_end(&terms, &place, driven);
        }
        let environment = terms.app.environment.clone();
        let reopened = match worker.reopen(run_id.clone(), environment).await {
            Ok(reopened) => reopened,
            Err(DriverError::Store(fault @ StoreError::RunLocked { .. })) => {
                return RunEnd::Skipped(format!("{place}: {fault}"));
            }
            // Another process has brought it to its end meanwhile; or it is not known whether the one above has ended.
            Err(fault @ (DriverError::RunEnded { .. } | DriverError::CallerNotHere { .. })) => {
                return RunEnd::Skipped(format!("{place}: {fault}"));
            }
            Err(fault) => return end_of(&terms, &place, Err(ServiceError::from(fault).into())),
        };
        let following = Follower::among_many(
            terms.accounts.clone(),
            Watched::among_many(terms.app.screen),
        );
        // Boxed: what is open for long should take no more than it needs.
        let ready = Box::pin(ready(run_id, reopened, sets, &terms, &worker, &following));
        let prepared = match guarded(&following, ready).await {
            Ok(prepared) => prepared,
            Err(broken) => return refused_end_of(&terms, &place, broken),
        };
        let driven = Box::pin(resumed(prepared, &terms, worker, &following));
        let driven = guarded(&following, driven).await;
        end_of(&terms, &place, driven)
    }
}

/// The run as it is to be driven on; `None` if it is left as it is.
async fn ready(
    run_id: RunId,
    reopened: Reopened,
    sets: Vec<String>,
    terms: &Terms,
    worker: &Worker,
    following: &Follower,
) -> Result<Option<Prepared>, ServiceError> {
    let orphan = reopened.is_orphan();
    let left = !orphan
        && tokio::task::block_in_place(|| {
            let app = &terms.app;
            waits_unanswered(app, following, &run_id, &reopened)
        });
    recall(&run_id, &reopened, terms, following)?;
    if left {
        // Another process could only record that it came and went.
        return Ok(None);
    }
    Box::pin(prepared((run_id, reopened), sets, terms, worker, following)).await
}

async fn resumed(
    prepared: Option<Prepared>,
    terms: &Terms,
    worker: Worker,
    following: &Follower,
) -> Result<Ended, ServiceError> {
    let Some(prepared) = prepared else {
        // It is recorded, so it stays as it is and can be resumed.
        let left = following.take_view().map(Ended::left);
        return left.ok_or_else(|| DriverError::Cancelled.into());
    };
    // Its future is large.
    Box::pin(drive(worker, prepared, following, terms.leaving)).await
}

/// Takes in what is recorded of the run.
fn recall(
    run_id: &RunId,
    reopened: &Reopened,
    terms: &Terms,
    following: &Follower,
) -> Result<(), ServiceError> {
    if let Some(first) = terms.app.first_of(run_id)? {
        following.originating_from(first);
    }
    following.recall(reopened.contract(), reopened.entries())
}

/// None if the process was asked to end meanwhile.
async fn prepared(
    (run_id, reopened): (RunId, Reopened),
    sets: Vec<String>,
    terms: &Terms,
    worker: &Worker,
    following: &Follower,
) -> Result<Option<Prepared>, ServiceError> {
    let app = &terms.app;
    if reopened.is_orphan() {
        return Ok(Some(worker.prepare_end(
            reopened,
            &app.environment,
            &terms.key,
        )));
    }
    let begun = reopened.invocation().cloned();
    let file = ContractFile::of_run(app, begun, None, sets);
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let request = file.request(app, app.read_contract(&file)?, terms.key.clone());
    following.keeps_snapshots(app, request.spec.sessions_dir.as_deref())?;
    match worker.prepare_resume(reopened, request).await {
        Ok(prepared) => Ok(Some(prepared)),
        Err(DriverError::Cancelled) => Ok(None),
        Err(fault) => Err(file.located(fault)),
    }
}
