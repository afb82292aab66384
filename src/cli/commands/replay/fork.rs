//! `monolith replay --fork-at`: a new run from an entry of a recorded one; and where a continuation begins.

use tokio_util::sync::CancellationToken;

use super::args::ReplayArgs;
use super::recorded;
use crate::commands::drive::LeavingArgs;
use crate::commands::drive::{Broken, Ended, Live, drive_to_the_end, report};
use crate::context::app::App;
use monolith_core::contract::{ExecutionContract, Label};
use monolith_core::message::RunId;
use monolith_core::replay::{Fork, ForkFault, ForkPoint, ReplayReport};
use monolith_host::driver;
use monolith_host::store::StoreError;
use monolith_service::begun_below::run_of_agent;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::source::Source;

/// `monolith replay --fork-at`: a new run begins with the conversation as of after entry `at`.
pub(crate) fn replay(app: &App, args: ReplayArgs, at: u64) -> Result<Exit, ServiceError> {
    let json = args.json;
    report(app, json, forked(app, args, at))
}

/// Where another run begins in a recorded one that verifies: with its contract, and the first run of its line where that is known.
pub(crate) fn fork_point(
    app: &App,
    run: &str,
    begin: impl FnOnce(ExecutionContract, RunId) -> Fork,
) -> Result<(ExecutionContract, ForkPoint, Option<RunId>), ServiceError> {
    if let Some(flaw) = recorded::evidence_flaw(app, run)? {
        return Err(ServiceError::Fork(ForkFault::DoesNotReplay {
            report: Box::new(ReplayReport::default().with_flaw(&flaw)),
            run: run.to_owned(),
        }));
    }
    let source = app.source(run)?;
    let is_stored = matches!(source, Source::Run(..));
    // The labels that a foreign transcript derives are a stranger's word.
    let is_own = match &source {
        Source::Run(run_id, reader) => !reader.again()?.read_run(run_id)?.row().is_imported(),
        Source::File(_) => false,
    };
    let fork = source.each_entry_with_blobs(begin, |fork, entry, blobs| fork.take(entry, blobs))?;
    let contract = fork.contract().clone();
    let finished = fork.finish();
    // One that a process drives is not to be gone on with by another.
    if let Err(ForkFault::NotEnded { run_id }) = &finished
        && is_stored
        && let Some(reader) = app.reader()?
        && let Some(driver) = reader.driver_of(run_id)?
    {
        return Err(ServiceError::Store(StoreError::RunLocked {
            run_id: run_id.clone(),
            holder: driver.pid,
        }));
    }
    let mut point = finished.map_err(ServiceError::Fork)?;
    if !is_own {
        point.labels = Label::every();
    }
    if let (Some(_), Some(mut reader)) = (&point.parent, app.reader()?) {
        driver::played_from_the_first(&mut reader, &contract, &mut point)?;
    }
    let first = match &point.parent {
        Some(parent) => app.first_of(&parent.run_id)?,
        None => Some(point.run_id.clone()),
    };
    Ok((contract, point, first))
}

fn forked(app: &App, args: ReplayArgs, at: u64) -> Result<Ended, Broken> {
    if let Some(found) = run_of_agent(app, &args.run)? {
        return Err(ServiceError::from(found.refused("fork")).into());
    }
    let begin = |contract, run_id| Fork::new(contract, run_id, at);
    let (_, point, first) = fork_point(app, &args.run, begin)?;
    let file = recorded::contract_file(app, &args, &app.source(&args.run)?, true)?;
    let mut request = file.request(app, app.read_contract(&file)?, app.redaction_key()?);
    request.run_id = args.run_id;
    request.invocation = Some(file.invocation(request.spec.files.clone()));
    let store = app.open_store(args.durability.into())?;
    let sessions = request.spec.sessions_dir.as_deref();
    let live = Live::accounting(app, sessions, args.durability.into())?;
    if let Some(first) = first {
        live.originating_from(first);
    }
    let task = args.task;
    let prepare =
        async |cancel: &CancellationToken| driver::prepare_fork(point, task, request, cancel).await;
    drive_to_the_end(None, &store, &live, LeavingArgs::default(), prepare)
}
