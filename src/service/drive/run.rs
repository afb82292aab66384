//! One run, started or resumed and driven to its end. Answers that other processes leave in the store are taken on the way.

use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::approvers::{Approvers, Asker, LOOK_EVERY};
use super::ended::{Broken, Ended};
use super::follower::Follower;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::error::advice::Advice as _;
use crate::service::Service;
use monolith_core::contract::ContractSpec;
use monolith_core::message::{AgentMessage, RunId};
use monolith_core::session::Control;
use monolith_core::view::RunView;
use monolith_host::driver::{self, DriverError, Prepared, RunRequest, Waiting};
use monolith_host::store::{Durability, Store};
use monolith_host::telemetry::AgentResult;

/// A run to start. The contract was read, and its files are trusted.
#[derive(Debug)]
pub struct Start {
    /// Durability of the run's entries.
    pub durability: Durability,
    /// The file of the contract.
    pub file: ContractFile,
    /// Name of the run; a random one if `None`.
    pub run_id: Option<RunId>,
    /// Messages that stand before the task.
    pub saved: Vec<AgentMessage>,
    /// The contract as it was read, with its task.
    pub spec: ContractSpec,
}

impl Start {
    /// Starts a run without earlier messages, under a random name, whose entries survive a loss of power.
    #[must_use]
    pub const fn new(file: ContractFile, spec: ContractSpec) -> Self {
        Self {
            durability: Durability::Full,
            file,
            run_id: None,
            saved: Vec::new(),
            spec,
        }
    }
}

/// The way in which a run is driven.
pub struct Conduct<'a> {
    /// Controls from the surface. One that comes before the run has started ends its preparation.
    pub asked: mpsc::Receiver<Control>,
    /// Asks a person at the surface; `None` where only answers in the store are taken.
    pub asker: Option<Box<dyn Asker + 'a>>,
    /// Follows the run.
    pub follower: &'a Follower,
    /// Time that calls in flight have after a suspension.
    pub grace: Duration,
    /// True if the run is left once all of it waits for a person.
    pub leaves_waiting: bool,
}

impl<'a> Conduct<'a> {
    /// Drives a run to its end. Answers to its calls are taken from the store, and calls in flight get no time after a suspension.
    #[must_use]
    pub fn unattended(follower: &'a Follower) -> Self {
        Self {
            asked: mpsc::channel(1).1,
            asker: None,
            follower,
            grace: Duration::ZERO,
            leaves_waiting: false,
        }
    }
}

/// Starts a run and drives it to its end.
pub async fn start(service: &Service, start: Start, conduct: Conduct<'_>) -> Result<Ended, Broken> {
    let origins = start.spec.origins.clone();
    let mut request = start
        .file
        .request(service, start.spec, service.redaction_key()?);
    // A store that the run refuses is not made.
    let found = fs::metadata(service.store_path()?);
    if found.map_or(0, |found| found.len()) == 0 {
        driver::judge_store(&request).map_err(ServiceError::from)?;
    }
    let store = service.open_store(start.durability)?;
    request.invocation = Some(start.file.invocation(request.spec.files.clone()));
    request.run_id = start.run_id;
    let request = conduct.follower.preparing(request);
    let cancel = CancellationToken::new();
    let preparing = prepared(start.saved, request, &cancel);
    match drive(preparing, &store, &cancel, conduct).await {
        Ok(ended) => Ok(ended.located(&start.file, &origins)),
        Err(broken) => Err(broken.located(&start.file)),
    }
}

async fn prepared(
    saved: Vec<AgentMessage>,
    request: RunRequest,
    cancel: &CancellationToken,
) -> Result<Prepared, DriverError> {
    if saved.is_empty() {
        return driver::prepare(request, cancel).await;
    }
    driver::prepare_loaded(saved, request, cancel).await
}

/// Drives a run that is being prepared to its end, or until it is left. `cancel` ends the preparation.
pub async fn drive(
    preparing: impl Future<Output = Result<Prepared, DriverError>>,
    store: &Store,
    cancel: &CancellationToken,
    conduct: Conduct<'_>,
) -> Result<Ended, Broken> {
    let follower = conduct.follower;
    // Its future is large.
    let driven = Box::pin(driven(preparing, store, cancel, conduct)).await;
    follower.rest();
    follower.left();
    match driven {
        Ok(Some(finished)) => Ok(finished_run(follower, &finished)),
        Ok(None) => abandoned(follower),
        Err(error) => Err(broken(follower, error.into())),
    }
}

/// `None` if the process was asked to leave a recorded run while it was prepared: it stays as it is.
async fn driven(
    preparing: impl Future<Output = Result<Prepared, DriverError>>,
    store: &Store,
    cancel: &CancellationToken,
    mut conduct: Conduct<'_>,
) -> Result<Option<driver::Finished>, DriverError> {
    let follower = conduct.follower;
    let mut preparing = pin!(preparing);
    let mut is_left = false;
    let prepared = loop {
        tokio::select! {
            biased;
            prepared = &mut preparing => break prepared,
            Some(asked) = conduct.asked.recv() => {
                is_left |= asked == Control::Suspend;
                cancel.cancel();
            }
        }
    };
    let prepared = match prepared {
        Err(DriverError::Cancelled) if is_left && follower.has_begun() => return Ok(None),
        prepared => prepared?.with_grace(conduct.grace),
    };
    let (control, asked) = mpsc::channel(8);
    let (waiting, report) = Waiting::alone();
    follower.without_secrets(prepared.scrubber());
    let prepared = prepared.that_reports(report);
    let mut observer = follower.clone();
    let mut driving = pin!(driver::drive(prepared, store, asked, &mut observer));
    let mut approvers = Approvers::new(store, follower, conduct.asker, conduct.leaves_waiting);
    let mut tick = interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let ask = tokio::select! {
            biased;
            finished = &mut driving => return Ok(Some(finished?)),
            Some(asked) = conduct.asked.recv() => {
                follower.asked(&asked);
                Some(asked)
            }
            _ = tick.tick() => approvers.look(waiting.of_all(1)).await,
        };
        if let Some(ask) = ask {
            approvers.hand(ask, &control);
        }
    }
}

/// Returns the end of a run that was driven to its end, or suspended.
#[must_use]
pub fn finished_run(follower: &Follower, finished: &driver::Finished) -> Ended {
    follower.end(&finished.run);
    // A run that has ended has entries.
    let contract = || Arc::clone(finished.run.contract());
    let view = follower.take_view();
    let view = view.unwrap_or_else(|| RunView::new(contract()));
    match finished.run.outcome() {
        Some(_) => {
            let mut ended = Ended::of(&finished.run, view);
            ended.sessions_dir = follower.sessions_dir();
            ended
        }
        None => Ended::suspended(Some(&finished.run), view),
    }
}

/// Returns the end of a run that this process left at once.
pub fn abandoned(follower: &Follower) -> Result<Ended, Broken> {
    match follower.take_view() {
        Some(view) => Ok(Ended::suspended(None, view)),
        None => Err(ServiceError::from(DriverError::Cancelled).into()),
    }
}

/// Returns the end of a run that could not be driven on.
#[must_use]
pub fn broken(follower: &Follower, error: ServiceError) -> Broken {
    let result = follower.take_view().map(|view| {
        let exit = error.exit();
        AgentResult::cut_off(&view, exit.0, error.reason(), error.summary())
    });
    Broken {
        error,
        result: result.map(Box::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Recorded, Source};
    use monolith_core::kernel::{Effect, Fold, steps};
    use monolith_host::driver::Observer as _;

    fn golden() -> Recorded {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../replay/v1/core.valid_call.jsonl"
        );
        Source::File(golden.into()).load().unwrap()
    }

    #[test]
    fn whoever_follows_a_run_steps_no_machine_beside_that_of_the_run() {
        let (mut live, recorded) = (Follower::default(), golden());
        let mut own = Fold::new(Arc::new(recorded.contract.clone()));
        let mut events = 0;
        let taken = steps(|| {
            let mut sealed = recorded.entries.iter();
            for entry in &recorded.entries {
                let Some(event) = entry.decode_event().unwrap() else {
                    continue;
                };
                events += 1;
                for effect in own.take(event) {
                    let Effect::Append(drafts) = effect else {
                        continue;
                    };
                    for draft in &drafts {
                        live.entry(draft, sealed.next().unwrap(), own.run().unwrap());
                    }
                }
            }
            live.end(own.run().unwrap());
        });
        // The start of a run is no step.
        assert_eq!((events, taken), (5, 4));
        let view = live.take_view().unwrap();
        assert_eq!(view.departure(), None);
        assert!(view.outcome().is_some());
    }

    #[test]
    fn a_stop_that_came_too_late_is_reported_beside_the_success() {
        let recorded = golden();
        let contract = Arc::new(recorded.contract.clone());
        let mut own = Fold::new(Arc::clone(&contract));
        for entry in &recorded.entries {
            if let Some(event) = entry.decode_event().unwrap() {
                drop(own.take(event));
            }
        }
        let live = Follower::default();
        live.recall(&contract, &recorded.entries).unwrap();
        let ended = Ended::of(own.run().unwrap(), live.take_view().unwrap());
        assert_eq!(ended.flaw(), None);
        let stopped = Ended {
            stopped: true,
            ..ended
        };
        let said = "the run had come to its end before it could be stopped";
        assert_eq!(stopped.flaw().as_deref(), Some(said));
    }
}
