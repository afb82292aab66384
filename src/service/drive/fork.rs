//! A run that begins within or after a recorded one: a fork, or a continuation of its conversation.

use tokio_util::sync::CancellationToken;

use super::ended::{Broken, Ended};
use super::run::{Conduct, drive};
use crate::begun_below::run_of_agent;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::remedy::proof_rule;
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

/// A message that continues the conversation of an ended run in a new one.
#[derive(Clone, Debug)]
pub struct Next {
    /// Durability of the run's entries.
    pub durability: Durability,
    /// The file of its contract.
    pub file: ContractFile,
    /// Last entry of the ended run, where that is known: a run of its name that ends otherwise is another run.
    pub head: Option<Digest>,
    /// The person's message.
    pub message: String,
    /// Full name of the ended run.
    pub run: String,
    /// Name of the new run; a random one if `None`.
    pub run_id: Option<RunId>,
    /// True if the file must give the contract of the ended run.
    pub same_contract: bool,
    /// True if a note says first what the contract of the ended run demands of each run.
    pub states_proof: bool,
    /// The file without the changes that the caller makes now, where it makes some.
    pub without_changes: Option<ContractFile>,
    /// Advice where the file has changed since.
    pub way_on: String,
}

/// A continuation of an ended run that was found and verified.
#[derive(Debug)]
pub struct ContinuedRun {
    /// Contract of the ended run.
    contract: ExecutionContract,
    /// First run of the line of forks.
    first: Option<RunId>,
    /// The message.
    pub next: Next,
    /// The conversation so far, and where it ends.
    pub point: ForkPoint,
    /// The contract of the new run as it was read.
    pub spec: ContractSpec,
}

impl ContinuedRun {
    /// Finds the end of the run that is to be continued, and reads the file.
    pub fn of(service: &Service, next: Next) -> Result<Self, ServiceError> {
        let (contract, point, first) = fork_point(service, &next.run, Fork::at_end)?;
        if next.head.is_some_and(|head| head != point.head) {
            let run = next.run;
            return Err(InputFault::AnotherRun { run }.into());
        }
        let spec = next.file.read(service)?;
        Ok(Self {
            contract,
            first,
            next,
            point,
            spec,
        })
    }

    /// Drives the new run to its end.
    pub async fn drive(self, service: &Service, conduct: Conduct<'_>) -> Result<Ended, Broken> {
        let (follower, next) = (conduct.follower, self.next);
        follower.keeps_snapshots(service, self.spec.sessions_dir.as_deref())?;
        let rule = proof_rule(&self.contract).filter(|_| next.states_proof);
        let request = requested(service, &next.file, self.spec, next.run_id)?;
        // If the file cannot be read without the changes, those are part of what it was.
        let without_changes = next.without_changes.and_then(|file| {
            let (spec, key) = (file.read(service).ok()?, service.redaction_key().ok()?);
            Some(Box::new(file.request(service, spec, key)))
        });
        let continuation = Continuation {
            contract: self.contract,
            message: next.message,
            point: self.point,
            same_contract: next.same_contract,
            without_changes,
        };
        let store = service.open_store(next.durability)?;
        if let Some(first) = self.first {
            follower.originating_from(first);
        }
        let request = follower.preparing(request);
        let cancel = CancellationToken::new();
        let preparing = async {
            let prepared = driver::prepare_continuation(continuation, request, &cancel).await?;
            if let Some(rule) = &rule {
                follower.note(&format!("note: {rule}"));
            }
            Ok(prepared)
        };
        let driven = drive(preparing, &store, &cancel, conduct).await;
        driven.map_err(|broken| broken.located_as_changed(&next.file, &service.cwd, &next.way_on))
    }
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
    // Another process must not continue one that a process drives.
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
