//! Runs of the store that have no end yet, gone on with.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fleet::Source;
use super::new_run::Terms;
use super::one_run::{RunEnd, drive, end_of, guarded};
use crate::cli::commands::drive::{Ended, Live};
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::{CliError, ContractFault};
use crate::driver::{DriverError, Job, Reopened, Slot};
use crate::message::RunId;
use crate::store::StoreError;

/// Runs that are gone on with, and what is the same for all of them.
#[derive(Debug)]
pub(in crate::cli) struct RecordedRuns {
    pub(in crate::cli) runs: VecDeque<RunId>,
    pub(in crate::cli) terms: Arc<Terms>,
}

/// One of them.
#[derive(Debug)]
pub(in crate::cli) struct RecordedRun {
    run_id: RunId,
    terms: Arc<Terms>,
}

impl Source for RecordedRuns {
    type Job = RecordedRun;

    async fn next(&mut self) -> Option<RecordedRun> {
        let run_id = self.runs.pop_front()?;
        let terms = Arc::clone(&self.terms);
        Some(RecordedRun { run_id, terms })
    }

    fn left(&self) -> Option<usize> {
        Some(self.runs.len())
    }
}

impl Job for RecordedRun {
    type End = RunEnd;

    async fn run(self, slot: Slot) -> RunEnd {
        let Self { run_id, terms } = self;
        let place = format!("run {run_id}");
        let reopened = match slot.reopen(&run_id, terms.app.environment.clone()) {
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
        let live = Live::among_many(terms.app.screen, terms.accounts.clone());
        let driven = guarded(&live, resumed(run_id, reopened, &terms, slot, &live)).await;
        end_of(&place, driven)
    }
}

async fn resumed(
    run_id: RunId,
    reopened: Reopened,
    terms: &Terms,
    slot: Slot,
    live: &Live,
) -> Result<Ended, CliError> {
    let app = &terms.app;
    let begun = reopened.invocation().cloned();
    let first = app.first_of(&run_id)?;
    let file = ContractFile::of_run(app, begun, None, terms.sets.clone());
    let file = file.ok_or(ContractFault::NoContractFile { run_id })?;
    let request = file.request(app, file.read(app)?, terms.key.clone());
    if let Some(first) = first {
        live.originating_from(first);
    }
    live.recall(reopened.contract(), reopened.entries())?;
    let prepared = slot.prepare_resume(reopened, request).await;
    let prepared = match prepared {
        Ok(prepared) => prepared,
        // It is recorded, so it stays as it is and can be resumed.
        Err(DriverError::Cancelled) => {
            let view = live.take_view();
            let left = view.map(Ended::left);
            return left.ok_or_else(|| DriverError::Cancelled.into());
        }
        Err(fault) => return Err(file.located(fault)),
    };
    drive(slot, prepared, live, terms.leaving).await
}
