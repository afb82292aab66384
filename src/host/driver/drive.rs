//! Drives a run: sets up what its loop needs, and takes it down again. Decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::bring_up::Start;
use super::children::Children;
use super::clock::RunClock;
use super::finished::Finished;
use super::host::Host;
use super::observer::Observer;
use super::perform::{RequestSlots, Tools};
use super::queues::Queues;
use super::run_servers::RunServers;
use super::started_run::StartedRun;
use super::waiting::Waiting;
use super::{DriverError, Prepared};
use crate::store::{KeptFiles, Store};
use crate::tools::{Clock as _, RunFiles};
use monolith_core::message::{Digest, Scrubber};
use monolith_core::session::{Control, Session, SessionError};

/// Drives a prepared run to its end, or until it is suspended and nothing of it is in flight any more.
///
/// # Errors
/// [`DriverError::Store`] where the transcript cannot be written: then nothing was begun after the last durable entry.
///
/// # Examples
/// ```
/// use monolith::{Durability, EntryDraft, Observer, Run, SealedEntry, Store, drive, prepare};
/// use tokio::sync::mpsc;
/// use tokio_util::sync::CancellationToken;
/// # use monolith::{ContractSpec, Control, Environment, RedactionKey, RunId, RunRequest, Unobserved};
///
/// struct States(Vec<String>);
///
/// impl Observer for States {
///     fn entry(&mut self, draft: &EntryDraft, _: &SealedEntry, _: &Run) {
///         self.0.push(draft.action.to.as_str().to_owned());
///     }
/// #   fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> { Box::new(Unobserved) }
/// }
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let text = std::fs::read_to_string("contracts/demo.yaml")?;
/// # let request = RunRequest {
/// #     spec: ContractSpec::parse("demo.yaml", &text, &[])?,
/// #     contract_dir: "contracts".into(),
/// #     environment: Environment::new(|_| None),
/// #     redaction_key: RedactionKey::new([7; 32]),
/// #     invocation: None,
/// #     run_id: None,
/// # };
/// let folder = tempfile::tempdir()?;
/// let store = Store::open(&folder.path().join("runs.db"), Durability::Normal)?;
/// let prepared = prepare(request, &CancellationToken::new()).await?;
/// let (_control, controls) = mpsc::channel(1); // `Control::Stop` and its like go in here
/// let mut states = States(Vec::new());
/// let finished = drive(prepared, &store, controls, &mut states).await?;
///
/// assert_eq!(finished.entries, states.0.len() as u64);
/// assert_eq!(states.0.last().map(String::as_str), Some("TERMINATE"));
/// assert!(finished.run.outcome().is_some_and(|end| end.class.is_success()));
/// assert!(store.reader()?.verify_run(&finished.run_id, false)?.holds());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn drive(
    prepared: Prepared,
    store: &Store,
    mut control: mpsc::Receiver<Control>,
    observer: &mut dyn Observer,
) -> Result<Finished, DriverError> {
    let Prepared {
        below,
        backends,
        contract,
        counter,
        grace,
        max_inferences,
        redactor,
        run_id,
        servers,
        shared,
        start,
        waiting,
    } = prepared;
    let scrubber: Arc<dyn Scrubber> = redactor;
    let started_run = match start {
        Start::New {
            invocation,
            started,
        } => Session::new(contract, counter, Arc::clone(&scrubber))
            .map_err(DriverError::from)
            .and_then(|session| StartedRun::new(store, invocation, *started, session)),
        Start::Resume(resumption) => {
            StartedRun::resumed(
                store,
                &run_id,
                *resumption,
                (counter, Arc::clone(&scrubber)),
            )
            .await
        }
    };
    let started_run = match started_run {
        Ok(started_run) => started_run,
        Err(fault) => {
            servers.close().await;
            return Err(fault);
        }
    };
    let StartedRun {
        at_ms,
        first,
        lock,
        orphan,
        recorder,
        session,
        started_unix_ms,
    } = started_run;
    let servers = RunServers::new(servers, &shared, below.is_some());
    let clock = RunClock::starting_at(at_ms);
    let mut host = Host::new(
        backends,
        grace,
        Tools {
            clock: clock.clone(),
            contract: Arc::clone(session.contract()),
            files: Some(Arc::new(RunFiles::new(Arc::new(KeptFiles::of(
                store.path(),
                &run_id,
            ))))),
            queues: Arc::new(Queues::of(session.contract(), &shared)),
            scrubber,
            servers: servers.own(),
        },
        RequestSlots::of(&shared, max_inferences),
        recorder,
        session,
        (
            Children {
                below,
                controls: BTreeMap::new(),
                drive: boxed,
                max_inferences,
                orphan,
                run_id: run_id.clone(),
                store: store.clone(),
                waiting: Waiting::default(),
            },
            waiting,
        ),
    );
    let driven = host
        .until_done((first, orphan), &mut control, observer)
        .await;
    let elapsed_ms = clock.run_ms();
    let has_begun = host.recorder.has_begun();
    let (session, at_once) = host.shut_down(&mut control).await;
    tokio::select! {
        biased;
        // What is dropped is killed.
        () = asked_at_once(at_once, &mut control) => {}
        () = servers.close() => {}
    }
    // A run that is cut off here keeps its lock until its tools are down.
    if let Err(fault) = driven {
        if !has_begun {
            // There is no run that another process could go on with.
            lock.discard();
        }
        return Err(fault);
    }
    if session.run().is_some_and(|run| run.outcome().is_some()) {
        lock.discard();
    } else {
        // Suspended: the process that resumes it takes the lock.
        drop(lock);
    }
    let entries = session.entries();
    let head = session.head().unwrap_or(Digest::ZERO);
    let run = session.into_run().ok_or(SessionError::NotStarted)?;
    Ok(Finished {
        run,
        run_id,
        head,
        entries,
        started_unix_ms,
        elapsed_ms,
    })
}

/// Waits until the run is asked to end at once, if it was not asked before.
async fn asked_at_once(asked: bool, control: &mut mpsc::Receiver<Control>) {
    if asked {
        return;
    }
    while let Some(wanted) = control.recv().await {
        if wanted == Control::Abort {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// The same, of a size that is known: runs below a run are driven by it, to any depth.
fn boxed<'a>(
    prepared: Prepared,
    store: &'a Store,
    control: mpsc::Receiver<Control>,
    observer: &'a mut dyn Observer,
) -> BoxFuture<'a, Result<Finished, DriverError>> {
    Box::pin(drive(prepared, store, control, observer))
}
