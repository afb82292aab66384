//! A run that begins within or after a recorded one: a fork, or a continuation of its conversation.

use tokio_util::sync::CancellationToken;

use super::ended::{Broken, Ended};
use super::run::{Conduct, drive};
use crate::begun_below::run_of_agent;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::service::Service;
use crate::source::Source;
use crate::verify::report::own_report;
use monolith_core::contract::{ContractSpec, ExecutionContract, Label};
use monolith_core::message::{Digest, RunId};
use monolith_core::replay::{Fork, ForkFault, ForkPoint, ReplayReport};
use monolith_host::driver::{self, Continuation, RunRequest};
use monolith_host::store::{Durability, StoreError};

/// A new run from an entry of a recorded one.
#[derive(Debug)]
pub struct ForkRun {
    /// Number of the entry after which it begins.
    pub at: u64,
    /// Durability of the run's entries.
    pub durability: Durability,
    /// The file of its contract.
    pub file: ContractFile,
    /// The recorded run.
    pub run: String,
    /// Name of the new run; a random one if `None`.
    pub run_id: Option<RunId>,
    /// The contract as it was read.
    pub spec: ContractSpec,
    /// The task; that of the recorded run if `None`.
    pub task: Option<String>,
}

/// Refuses a fork of a run that an agent's call began.
pub fn judge_fork(service: &Service, run: &str) -> Result<(), ServiceError> {
    match run_of_agent(service, run)? {
        Some(found) => Err(found.refused("fork").into()),
        None => Ok(()),
    }
}

/// Forks a run and drives the new one to its end.
pub async fn fork(
    service: &Service,
    forked: ForkRun,
    conduct: Conduct<'_>,
) -> Result<Ended, Broken> {
    judge_fork(service, &forked.run)?;
    let begin = |contract, run_id| Fork::new(contract, run_id, forked.at);
    let (_, point, first) = fork_point(service, &forked.run, begin)?;
    let sessions = forked.spec.sessions_dir.clone();
    let request = requested(service, &forked.file, forked.spec, forked.run_id)?;
    let store = service.open_store(forked.durability)?;
    let follower = conduct.follower;
    follower.keeps_snapshots(service, sessions.as_deref())?;
    if let Some(first) = first {
        follower.originating_from(first);
    }
    let request = follower.preparing(request);
    let cancel = CancellationToken::new();
    let preparing = driver::prepare_fork(point, forked.task, request, &cancel);
    let driven = drive(preparing, &store, &cancel, conduct).await;
    driven.map_err(|broken| broken.located(&forked.file))
}

/// A run that continues the conversation of an ended one.
#[derive(Debug)]
pub struct Next {
    /// Durability of the run's entries.
    pub durability: Durability,
    /// The file of its contract.
    pub file: ContractFile,
    /// The person's message.
    pub message: String,
    /// Name of the new run; a random one if `None`.
    pub run_id: Option<RunId>,
    /// True if the file must give the contract of the other run.
    pub same_contract: bool,
    /// The contract as it was read.
    pub spec: ContractSpec,
    /// A note for the person once the run is ready to begin.
    pub note: Option<String>,
    /// The request without the changes that the caller makes now, where it makes some.
    pub without_changes: Option<Box<RunRequest>>,
    /// Advice where the file has changed since.
    pub way_on: String,
}

/// The place in an ended run at which a continuation begins.
#[derive(Debug)]
pub struct ContinuedFrom {
    contract: ExecutionContract,
    first: Option<RunId>,
    /// The conversation so far, and where it ends.
    pub point: ForkPoint,
}

impl ContinuedFrom {
    /// Finds the end of a run that is to be continued. `head` is its last entry, where that is known: a run of its name that ends otherwise
    /// is another run.
    pub fn end_of(
        service: &Service,
        run: &str,
        head: Option<Digest>,
    ) -> Result<Self, ServiceError> {
        let (contract, point, first) = fork_point(service, run, Fork::at_end)?;
        if head.is_some_and(|head| head != point.head) {
            let run = run.to_owned();
            return Err(InputFault::AnotherRun { run }.into());
        }
        Ok(Self {
            contract,
            first,
            point,
        })
    }

    /// Returns the contract of the ended run.
    #[must_use]
    pub const fn contract(&self) -> &ExecutionContract {
        &self.contract
    }
}

/// Continues an ended run and drives the new one to its end.
pub async fn continue_run(
    service: &Service,
    from: ContinuedFrom,
    next: Next,
    conduct: Conduct<'_>,
) -> Result<Ended, Broken> {
    let follower = conduct.follower;
    follower.keeps_snapshots(service, next.spec.sessions_dir.as_deref())?;
    let request = requested(service, &next.file, next.spec, next.run_id)?;
    let continuation = Continuation {
        contract: from.contract,
        message: next.message,
        point: from.point,
        same_contract: next.same_contract,
        without_changes: next.without_changes,
    };
    let store = service.open_store(next.durability)?;
    if let Some(first) = from.first {
        follower.originating_from(first);
    }
    let request = follower.preparing(request);
    let cancel = CancellationToken::new();
    let preparing = async {
        let prepared = driver::prepare_continuation(continuation, request, &cancel).await?;
        if let Some(note) = &next.note {
            follower.note(note);
        }
        Ok(prepared)
    };
    let driven = drive(preparing, &store, &cancel, conduct).await;
    driven.map_err(|broken| broken.located_as_changed(&next.file, &service.cwd, &next.way_on))
}

fn requested(
    service: &Service,
    file: &ContractFile,
    spec: ContractSpec,
    run_id: Option<RunId>,
) -> Result<RunRequest, ServiceError> {
    let mut request = file.request(service, spec, service.redaction_key()?);
    request.run_id = run_id;
    request.invocation = Some(file.invocation(request.spec.files.clone()));
    Ok(request)
}

/// Returns the point at which another run begins in a recorded one that verifies, its contract, and the first run of its line.
pub fn fork_point(
    service: &Service,
    run: &str,
    begin: impl FnOnce(ExecutionContract, RunId) -> Fork,
) -> Result<(ExecutionContract, ForkPoint, Option<RunId>), ServiceError> {
    if let Some(flaw) = own_report(service, run)?.first_bad {
        return Err(ServiceError::Fork(ForkFault::DoesNotReplay {
            report: Box::new(ReplayReport::default().with_flaw(&flaw)),
            run: run.to_owned(),
        }));
    }
    let source = service.source(run)?;
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
        && let Some(reader) = service.reader()?
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
    if let (Some(_), Some(mut reader)) = (&point.parent, service.reader()?) {
        driver::played_from_the_first(&mut reader, &contract, &mut point)?;
    }
    let first = match &point.parent {
        Some(parent) => service.first_of(&parent.run_id)?,
        None => Some(point.run_id.clone()),
    };
    Ok((contract, point, first))
}
