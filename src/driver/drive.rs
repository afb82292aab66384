use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bring_up::Start;
use super::clock::RunClock;
use super::perform::{self, Answer};
use super::queues::Queues;
use super::recorder::Recorder;
use super::redaction::Redactor;
use super::tasks::{Ended, Performed, Tasks};
use super::{DriverError, Prepared};
use crate::adapter::{Adapter, RequestEncoder};
use crate::contract::ExecutionContract;
use crate::inference::Backend;
use crate::kernel::{
    Approval, Effect, EntryDraft, Event, EventKind, Interrupter, Run, ToolReturned,
};
use crate::message::{Digest, RunId, TokenCounter, ToolOutcome};
use crate::store::{NewRun, RunLock, Store, StoreError};
use crate::tools::{Clock, ToolServers};
use crate::transcript::SealedEntry;

/// What somebody outside asks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Come to an end; a second one is an abort.
    Stop,
    /// End now.
    Abort,
    /// End now: the process is being ended.
    Shutdown,
    /// A person allows the call that waits for it.
    Approve(Approval),
    /// A person refuses it.
    Deny(Approval),
}

/// Sees a run's entries, each once, after it has become durable.
pub trait Observer: Send {
    /// One entry, and the run after the step that wrote it.
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run);
}

/// A run that has ended.
pub struct Finished {
    /// The machine in TERMINATE.
    pub run: Run,
    /// The name of the run.
    pub run_id: RunId,
    /// The hash of the last entry.
    pub head: Digest,
    /// How many entries there are.
    pub entries: u64,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// Drives a prepared run to its end.
///
/// # Errors
/// [`DriverError::Store`] where the transcript cannot be written: then nothing was begun after the last durable entry.
pub async fn drive(
    prepared: Prepared,
    store: &Store,
    mut control: mpsc::Receiver<Control>,
    observer: &mut dyn Observer,
) -> Result<Finished, DriverError> {
    let Prepared {
        backends,
        contract,
        counter,
        redactor,
        run_id,
        servers,
        start,
    } = prepared;
    let begun = match Begun::begin(start, store, &run_id, &contract).await {
        Ok(begun) => begun,
        Err(fault) => {
            servers.close().await;
            return Err(fault);
        }
    };
    let Begun {
        at_ms,
        lock,
        started_unix_ms,
        stretch,
    } = begun;
    let servers = Arc::new(servers);
    let guarded = (contract, counter, redactor);
    let times = (at_ms, started_unix_ms);
    let workers = Workers::new(backends, guarded, Arc::clone(&servers), &run_id, times);
    let driven = match workers {
        Ok(mut workers) => {
            let driven = workers
                .until_finished(stretch, &mut control, observer)
                .await;
            workers.shut_down().await;
            driven
        }
        Err(fault) => Err(fault),
    };
    // Every task has ended, so this is the last handle.
    if let Ok(servers) = Arc::try_unwrap(servers) {
        servers.close().await;
    }
    // A run that is cut off here keeps its lock until its tools are down.
    let (run, head, entries, elapsed_ms) = driven?;
    lock.discard();
    Ok(Finished {
        run,
        run_id,
        head,
        entries,
        started_unix_ms,
        elapsed_ms,
    })
}

/// A run that this process, and no other, drives from now on.
struct Begun<'s> {
    at_ms: u64,
    lock: RunLock,
    started_unix_ms: u64,
    stretch: Stretch<'s>,
}

/// What the loop begins with.
struct Stretch<'s> {
    effects: Vec<Effect>,
    /// Events that stand before everything that happens from now on.
    given: VecDeque<EventKind>,
    recorder: Recorder<'s>,
    run: Run,
}

impl<'s> Begun<'s> {
    async fn begin(
        start: Start,
        store: &'s Store,
        run_id: &RunId,
        contract: &Arc<ExecutionContract>,
    ) -> Result<Self, DriverError> {
        match start {
            Start::New {
                invocation,
                started,
                validators,
            } => {
                let lock = store.lock_run(run_id)?;
                let started_unix_ms = started.started_unix_ms;
                let recorder = Recorder::beginning(
                    store,
                    NewRun {
                        contract: Arc::clone(contract),
                        created_unix_ms: started_unix_ms,
                        invocation,
                        run_id: run_id.clone(),
                    },
                    contract.checkpoint_every,
                );
                let (run, effects) = Run::start(Arc::clone(contract), validators, *started);
                Ok(Self {
                    at_ms: 0,
                    lock,
                    started_unix_ms,
                    stretch: Stretch {
                        effects,
                        given: VecDeque::new(),
                        recorder,
                        run,
                    },
                })
            }
            Start::Again(resumption) => {
                let handle = store.claim_run(run_id).await?;
                // Somebody who does not know the lock has written since the run was read.
                if handle.chain().head() != resumption.head {
                    let run_id = run_id.clone();
                    return Err(StoreError::Fenced { run_id }.into());
                }
                let given = resumption.events().collect();
                Ok(Self {
                    at_ms: resumption.at_ms,
                    lock: resumption.lock,
                    started_unix_ms: resumption.started_unix_ms,
                    stretch: Stretch {
                        effects: Vec::new(),
                        given,
                        recorder: Recorder::going_on(store, handle, contract.checkpoint_every),
                        run: resumption.run,
                    },
                })
            }
        }
    }
}

/// The next event that was given in advance. What the machine does not wait for any more is not lost.
fn next_given(given: &mut VecDeque<EventKind>, run: &Run) -> Option<EventKind> {
    while let Some(event) = given.pop_front() {
        match &event {
            EventKind::EffectLost(lost) if !run.unresolved().contains(lost) => {}
            _ => return Some(event),
        }
    }
    None
}

/// Everything that performs effects, and what it needs for it.
struct Workers {
    adapters: Vec<(Adapter, RequestEncoder)>,
    backends: Vec<Arc<Backend>>,
    cancel: CancellationToken,
    clock: RunClock,
    contract: Arc<ExecutionContract>,
    counter: Arc<dyn TokenCounter>,
    queues: Arc<Queues>,
    redactor: Arc<Redactor>,
    run_id: RunId,
    servers: Option<Arc<ToolServers>>,
    started_unix_ms: u64,
    /// Whole results of the step under way, of which a summary may be asked for.
    summable: BTreeMap<Digest, Vec<u8>>,
    tasks: Tasks,
}

mod asking;

use asking::inference_event;

impl Workers {
    fn new(
        backends: Vec<Arc<Backend>>,
        (contract, counter, redactor): (
            Arc<ExecutionContract>,
            Arc<dyn TokenCounter>,
            Arc<Redactor>,
        ),
        servers: Arc<ToolServers>,
        run_id: &RunId,
        (at_ms, started_unix_ms): (u64, u64),
    ) -> Result<Self, DriverError> {
        let adapters = (0..contract.targets.len())
            .map(|target| {
                let adapter = Adapter::of_target(&contract, target)?;
                let encoder = RequestEncoder::new(&contract, target)?;
                Ok((adapter, encoder.begun_at(started_unix_ms)))
            })
            .collect::<Result<_, DriverError>>()?;
        Ok(Self {
            adapters,
            backends,
            cancel: CancellationToken::new(),
            clock: RunClock::starting_at(at_ms),
            queues: Arc::new(Queues::of(&contract)),
            contract,
            counter,
            redactor,
            run_id: run_id.clone(),
            servers: Some(servers),
            started_unix_ms,
            summable: BTreeMap::new(),
            tasks: Tasks::default(),
        })
    }

    /// The loop: do what the machine says, wait for what happens next, tell the machine.
    async fn until_finished(
        &mut self,
        stretch: Stretch<'_>,
        control: &mut mpsc::Receiver<Control>,
        observer: &mut dyn Observer,
    ) -> Result<(Run, Digest, u64, u64), DriverError> {
        let Stretch {
            mut effects,
            mut given,
            mut recorder,
            mut run,
        } = stretch;
        let mut control_open = true;
        loop {
            let finished = self
                .perform(std::mem::take(&mut effects), &run, &mut recorder, observer)
                .await?;
            if finished {
                let elapsed_ms = self.clock.run_ms();
                return Ok((run, recorder.head(), recorder.length(), elapsed_ms));
            }
            if let Some(event) = next_given(&mut given, &run) {
                let at_ms = self.clock.run_ms();
                effects = run.step(Event { at_ms, event });
                continue;
            }
            let deadline = run.next_deadline();
            let event = tokio::select! {
                biased;
                asked = control.recv(), if control_open => match asked {
                    Some(Control::Stop) => {
                        self.queues.stop();
                        EventKind::StopRequested
                    }
                    Some(Control::Abort) => EventKind::Interrupted(Interrupter::Abort),
                    Some(Control::Shutdown) => EventKind::Interrupted(Interrupter::Shutdown),
                    Some(Control::Approve(approval)) => EventKind::ApprovalGiven(approval),
                    Some(Control::Deny(approval)) => EventKind::ApprovalDenied(approval),
                    None => {
                        control_open = false;
                        continue;
                    }
                },
                Some(ended) = self.tasks.next() => match ended {
                    Ended::Answered(answer) => self.event_of(*answer, &run, &mut recorder),
                    Ended::Panicked(event) => event,
                },
                () = sleep_until(&self.clock, deadline) => EventKind::TimerFired,
            };
            effects = run.step(Event {
                at_ms: self.clock.run_ms(),
                event,
            });
        }
    }

    /// Performs one step's effects in their order; true where the run is over.
    async fn perform(
        &mut self,
        effects: Vec<Effect>,
        run: &Run,
        recorder: &mut Recorder<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool, DriverError> {
        for effect in effects {
            match effect {
                Effect::Append(drafts) => {
                    let sealed = recorder.append(&drafts).await?;
                    for (draft, sealed) in drafts.iter().zip(&sealed) {
                        observer.entry(draft, sealed, run);
                    }
                }
                Effect::Probe => {
                    let (backends, redactor) = (self.backends.clone(), Arc::clone(&self.redactor));
                    let probe = Performed::Probe(backends.len());
                    let cancel = self.cancel.child_token();
                    self.tasks
                        .spawn(probe, perform::probe(backends, redactor, cancel));
                }
                Effect::Infer(request) => self.infer(request, run),
                Effect::Summarise(asked) => self.summarise(asked)?,
                Effect::Execute(order) => {
                    if let Some(servers) = &self.servers {
                        let call = Performed::Call(order.call);
                        let origin = self.contract.tool(&order.invocation.name);
                        let origin = origin.map_or_else(String::new, |tool| tool.origin.clone());
                        let cancel = self.cancel.child_token();
                        let unstarted = order.clone();
                        let calling = perform::call(
                            Arc::clone(servers),
                            (Arc::clone(&self.contract), Arc::clone(&self.counter)),
                            Arc::clone(&self.redactor),
                            self.run_id.clone(),
                            self.clock,
                            order,
                            cancel.clone(),
                        );
                        let queues = Arc::clone(&self.queues);
                        self.tasks.spawn(call, async move {
                            match queues.slot(&origin, &cancel).await {
                                Some(slot) => {
                                    let answer = calling.await;
                                    drop(slot);
                                    answer
                                }
                                None => Answer::Call {
                                    blobs: Vec::new(),
                                    order: unstarted,
                                    outcome: ToolOutcome::Cancelled,
                                },
                            }
                        });
                    }
                }
                // Nothing to do but to wait: the run's own deadline wakes it.
                Effect::Wait { .. } | Effect::AwaitApproval(_) => {}
                Effect::Cancel => {
                    self.cancel.cancel();
                    self.cancel = CancellationToken::new();
                }
                Effect::Finish(_) => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Turns a task's answer into the event that it is, and keeps the bytes that the event names.
    fn event_of(&mut self, answer: Answer, run: &Run, recorder: &mut Recorder<'_>) -> EventKind {
        match answer {
            Answer::Probed(probed) => EventKind::Probed(probed),
            Answer::Inference(answer) => {
                inference_event(answer, run, self.counter.as_ref(), recorder)
            }
            Answer::Call {
                blobs,
                order,
                outcome,
            } => {
                self.summable.clear();
                let full = match &outcome {
                    ToolOutcome::Returned(envelope) => envelope.full,
                    _ => None,
                };
                let full = full.filter(|_| self.contract.summarizer().is_some());
                for blob in blobs {
                    if let Some(hash) = full
                        && Digest::of(&blob) == hash
                    {
                        self.summable.insert(hash, blob.clone());
                    }
                    recorder.keep(blob);
                }
                EventKind::ToolReturned(Box::new(ToolReturned {
                    call: order.call,
                    outcome,
                }))
            }
        }
    }

    /// Ends every task that is still running.
    async fn shut_down(&mut self) {
        self.cancel.cancel();
        self.tasks.all().await;
        self.servers = None;
    }
}

async fn sleep_until(clock: &RunClock, deadline: Option<u64>) {
    match deadline {
        Some(at_ms) => tokio::time::sleep_until(clock.instant_of(at_ms)).await,
        None => std::future::pending().await,
    }
}
