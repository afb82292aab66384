//! Runs that begin under the contracts of a folder or a list.

use std::sync::Arc;

use super::fleet::Source;
use super::line::RunLine;
use super::lines::{Lines, ListedRun};
use super::one_run::{RunEnd, drive, end_of, guarded, refused};
use super::terms::Terms;
use crate::cli::commands::drive::{Ended, Live};
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::secrets;
use crate::driver::{Job, Prepared, Worker};

/// Runs that begin, and what is the same for all of them.
#[derive(Debug)]
pub(in crate::cli) struct NewRuns {
    pub(in crate::cli) lines: Lines,
    pub(in crate::cli) terms: Arc<Terms>,
}

/// One run of a list.
#[derive(Debug)]
pub(in crate::cli) struct NewRun {
    listed: ListedRun,
    terms: Arc<Terms>,
}

impl Source for NewRuns {
    type Job = NewRun;

    async fn next(&mut self) -> Option<NewRun> {
        let listed = self.lines.next().await?;
        let terms = Arc::clone(&self.terms);
        Some(NewRun { listed, terms })
    }

    fn has_more(&mut self) -> bool {
        self.lines.has_more()
    }

    fn left(&self) -> Option<usize> {
        self.lines.left()
    }
}

impl Job for NewRun {
    type End = RunEnd;

    async fn run(self, worker: Worker) -> RunEnd {
        // What the file of one run keeps secret need not be known once that run has ended.
        secrets::scoped(self.begin(worker)).await
    }
}

impl NewRun {
    async fn begin(self, worker: Worker) -> RunEnd {
        let Self { listed, terms } = self;
        let line = match listed.line {
            Ok(line) => line,
            Err(rule) => return refused(&listed.place, &rule),
        };
        let following = Live::among_many(terms.app.screen, terms.accounts.clone());
        // Boxed: what is open for long should take no more than it needs.
        let driven = Box::pin(begun(line, &terms, worker, &following));
        let driven = guarded(&following, driven).await;
        end_of(&listed.place, driven)
    }
}

async fn begun(
    line: RunLine,
    terms: &Terms,
    worker: Worker,
    following: &Live,
) -> Result<Ended, CliError> {
    let prepared = Box::pin(prepared(line, terms, &worker)).await?;
    drive(worker, prepared, following, terms.leaving).await
}

async fn prepared(line: RunLine, terms: &Terms, worker: &Worker) -> Result<Prepared, CliError> {
    let app = &terms.app;
    let sets = terms.sets.iter().chain(&line.set).cloned().collect();
    let file = ContractFile::given(app, line.contract, sets);
    let mut spec = file.read(app)?;
    if let Some(task) = line.task.or_else(|| terms.task.clone()) {
        spec.task = Some(task);
    }
    let mut request = file.request(app, spec, terms.key.clone());
    request.invocation = Some(file.invocation());
    request.run_id = line.run_id;
    let prepared = worker.prepare(request).await;
    prepared.map_err(|fault| file.located(fault))
}
