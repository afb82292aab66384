//! Runs of the store that have no end yet, gone on with.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fleet::Source;
use super::one_run::{RunEnd, drive, end_of, guarded};
use super::terms::Terms;
use crate::cli::commands::drive::{Ended, Live};
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, ContractFault};
use crate::cli::context::secrets;
use crate::driver::{DriverError, Job, Prepared, Reopened, Worker};
use crate::message::RunId;
use crate::store::{DamagedRow, StoreError};

/// Runs that are gone on with, and what is the same for all of them.
#[derive(Debug)]
pub(in crate::cli) struct RecordedRuns {
    /// Or rows that cannot be read as one.
    pub(in crate::cli) runs: VecDeque<Result<RunId, DamagedRow>>,
    pub(in crate::cli) terms: Arc<Terms>,
}

/// One of them.
#[derive(Debug)]
pub(in crate::cli) struct RecordedRun {
    run: Result<RunId, DamagedRow>,
    terms: Arc<Terms>,
}

impl Source for RecordedRuns {
    type Job = RecordedRun;

    async fn next(&mut self) -> Option<RecordedRun> {
        let run = self.runs.pop_front()?;
        let terms = Arc::clone(&self.terms);
        Some(RecordedRun { run, terms })
    }

    fn has_more(&mut self) -> bool {
        !self.runs.is_empty()
    }

    fn left(&self) -> Option<usize> {
        Some(self.runs.len())
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
        let Self { run, terms } = self;
        let run_id = match run {
            Ok(run_id) => run_id,
            Err(DamagedRow { run, fault }) => {
                return end_of(&format!("run {run}"), Err(CliError::from(fault).into()));
            }
        };
        let place = format!("run {run_id}");
        let environment = terms.app.environment.clone();
        let reopened = match worker.reopen(run_id.clone(), environment).await {
            Ok(reopened) => reopened,
            Err(DriverError::Store(fault @ StoreError::RunLocked { .. })) => {
                return RunEnd::Skipped(format!("{place}: {fault}"));
            }
            // Another process has brought it to its end meanwhile.
            Err(fault @ DriverError::RunEnded { .. }) => {
                return RunEnd::Skipped(format!("{place}: {fault}"));
            }
            Err(fault) => return end_of(&place, Err(CliError::from(fault).into())),
        };
        let following = Live::among_many(terms.app.screen, terms.accounts.clone());
        // Boxed: what is open for long should take no more than it needs.
        let driven = Box::pin(resumed(run_id, reopened, &terms, worker, &following));
        let driven = guarded(&following, driven).await;
        end_of(&place, driven)
    }
}

async fn resumed(
    run_id: RunId,
    reopened: Reopened,
    terms: &Terms,
    worker: Worker,
    following: &Live,
) -> Result<Ended, CliError> {
    let prepared = Box::pin(prepared(run_id, reopened, terms, &worker, following)).await?;
    let Some(prepared) = prepared else {
        // It is recorded, so it stays as it is and can be resumed.
        let left = following.take_view().map(Ended::left);
        return left.ok_or_else(|| DriverError::Cancelled.into());
    };
    drive(worker, prepared, following, terms.leaving).await
}

/// None if the process was asked to end meanwhile.
async fn prepared(
    run_id: RunId,
    reopened: Reopened,
    terms: &Terms,
    worker: &Worker,
    following: &Live,
) -> Result<Option<Prepared>, CliError> {
    let app = &terms.app;
    let begun = reopened.invocation().cloned();
    let first = app.first_of(&run_id)?;
    let file = ContractFile::of_run(app, begun, None, terms.sets.clone());
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let request = file.request(app, file.read(app)?, terms.key.clone());
    if let Some(first) = first {
        following.originating_from(first);
    }
    following.recall(reopened.contract(), reopened.entries())?;
    match worker.prepare_resume(reopened, request).await {
        Ok(prepared) => Ok(Some(prepared)),
        Err(DriverError::Cancelled) => Ok(None),
        Err(fault) => Err(file.located(fault)),
    }
}
