//! Drives a run: sets up what its loop needs, and takes it down again. Decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::bring_up::{Resumption, Start};
use super::clock::RunClock;
use super::delegating::Children;
use super::host::Host;
use super::observer::{Finished, Observer};
use super::perform::{RequestSlots, Tools};
use super::queues::Queues;
use super::recorder::Recorder;
use super::shared::RunServers;
use super::waiting::Waiting;
use super::{DriverError, Prepared};
use crate::store::{Binding, Invocation, KeptFiles, NewRun, RunLock, Store, StoreError};
use crate::tools::{Clock as _, RunFiles};
use monolith_core::kernel::RunStarted;
use monolith_core::message::{Digest, RunId, Scrubber, TokenCounter};
use monolith_core::session::{Control, Input, Session, SessionError};

/// Drives a prepared run to its end, or until it is suspended and nothing of it is in flight any more.
///
/// # Errors
/// [`DriverError::Store`] where the transcript cannot be written: then nothing was begun after the last durable entry.
///
/// # Examples
/// ```
/// use monolith_core::kernel::{EntryDraft, Run};
/// use monolith_core::transcript::SealedEntry;
/// use monolith_host::driver::{Observer, drive, prepare};
/// use monolith_host::store::{Durability, Store};
/// use tokio::sync::mpsc;
/// use tokio_util::sync::CancellationToken;
/// # use monolith_core::contract::ContractSpec;
/// # use monolith_core::message::RunId;
/// # use monolith_core::session::{Control, RedactionKey};
/// # use monolith_host::driver::{Environment, RunRequest, NoObserver};
///
/// struct States(Vec<String>);
///
/// impl Observer for States {
///     fn entry(&mut self, draft: &EntryDraft, _: &SealedEntry, _: &Run) {
///         self.0.push(draft.action.to.as_str().to_owned());
///     }
/// #   fn below(&mut self, _: &RunId, _: mpsc::Sender<Control>) -> Box<dyn Observer> { Box::new(NoObserver) }
/// }
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let text = std::fs::read_to_string("../../contracts/demo.yaml")?;
/// # let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// # let environment = Environment::new(|_| None);
/// # let key = RedactionKey::new([7; 32]);
/// # let request = RunRequest::new(spec, "../../contracts", environment, key);
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
            // No run exists that another process could resume.
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

/// A run that this process, and no other, drives from now on.
struct StartedRun<'s> {
    at_ms: u64,
    /// The first input of the session.
    first: Input,
    lock: RunLock,
    /// True if the run that delegated to it has ended.
    orphan: bool,
    recorder: Recorder<'s>,
    session: Session,
    started_unix_ms: u64,
}

impl<'s> StartedRun<'s> {
    fn new(
        store: &'s Store,
        invocation: Option<Invocation>,
        started: RunStarted,
        session: Session,
    ) -> Result<Self, DriverError> {
        let started_unix_ms = started.started_unix_ms;
        let run_id = started.run_id.clone();
        // Whether a process drives the run of that name now or not, the name is taken.
        let lock = store.lock_run(&run_id).map_err(|fault| match fault {
            StoreError::RunLocked { run_id, .. } => StoreError::RunExists { run_id },
            other => other,
        })?;
        // A run of an older tree would be taken for one of its agents; one below another run has a name that was looked at with that.
        let is_first = started
            .parent
            .as_ref()
            .is_none_or(|from| from.call.is_none());
        if is_first && !session.contract().agents.is_empty() {
            let taken = store.reader()?.named_below(&run_id)?.into_iter().next();
            if let Some(taken) = taken {
                lock.discard();
                return Err(DriverError::NameBelowTaken { run_id, taken });
            }
        }
        let new = NewRun {
            binding: Binding::Contract(Arc::clone(session.contract())),
            created_unix_ms: started_unix_ms,
            invocation,
            run_id,
        };
        Ok(Self {
            at_ms: 0,
            first: Input::Start(Box::new(started)),
            lock,
            orphan: false,
            recorder: Recorder::beginning(store, new),
            session,
            started_unix_ms,
        })
    }

    async fn resumed(
        store: &'s Store,
        run_id: &RunId,
        resumption: Resumption,
        (counter, scrubber): (Arc<dyn TokenCounter>, Arc<dyn Scrubber>),
    ) -> Result<Self, DriverError> {
        let Resumption {
            at_ms,
            first,
            head,
            lock,
            orphan,
            session,
            started_unix_ms,
        } = resumption;
        let handle = store.claim_run(run_id).await?;
        // Another process that does not know the lock has written since the run was read.
        if handle.chain().head() != head {
            let run_id = run_id.clone();
            return Err(StoreError::Fenced { run_id }.into());
        }
        Ok(Self {
            at_ms,
            first,
            lock,
            orphan,
            recorder: Recorder::going_on(store, handle),
            session: session.resume(counter, scrubber)?,
            started_unix_ms,
        })
    }
}
