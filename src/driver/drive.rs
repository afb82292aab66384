use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::clock::RunClock;
use super::perform::{self, Answer, InferenceAnswer};
use super::recorder::Recorder;
use super::{DriverError, Prepared};
use crate::adapter::{Adapter, Decoded, RequestEncoder, RequestShape};
use crate::contract::ExecutionContract;
use crate::inference::Backend;
use crate::kernel::{
    Effect, EntryDraft, Event, EventKind, InferRequest, InferenceFailed, InferenceReturned,
    Interrupter, Run, ToolReturned,
};
use crate::message::{Digest, RunId};
use crate::store::Store;
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
        servers,
        started,
        validators,
    } = prepared;
    let servers = Arc::new(servers);
    let run_id = started.run_id.clone();
    let started_unix_ms = started.started_unix_ms;
    let workers = Workers::new(
        backends,
        Arc::clone(&contract),
        Arc::clone(&servers),
        &run_id,
    );
    let driven = match workers {
        Ok(mut workers) => {
            let begun = begin(store, &run_id, &contract, started_unix_ms).await;
            match begun {
                Ok(recorder) => {
                    let (run, effects) = Run::start(contract, validators, started);
                    let driven = workers
                        .until_finished(run, effects, recorder, &mut control, observer)
                        .await;
                    workers.shut_down().await;
                    driven
                }
                Err(fault) => Err(fault),
            }
        }
        Err(fault) => Err(fault),
    };
    // Every task has ended, so this is the last handle.
    if let Ok(servers) = Arc::try_unwrap(servers) {
        servers.close().await;
    }
    let (run, head, entries, elapsed_ms) = driven?;
    Ok(Finished {
        run,
        run_id,
        head,
        entries,
        started_unix_ms,
        elapsed_ms,
    })
}

async fn begin<'s>(
    store: &'s Store,
    run_id: &RunId,
    contract: &ExecutionContract,
    started_unix_ms: u64,
) -> Result<Recorder<'s>, DriverError> {
    let handle = store.create_run(run_id, contract, started_unix_ms).await?;
    Ok(Recorder::new(store, handle, contract.checkpoint_every))
}

/// Everything that performs effects, and what it needs for it.
struct Workers {
    adapters: Vec<(Adapter, RequestEncoder)>,
    backends: Vec<Arc<Backend>>,
    cancel: CancellationToken,
    clock: RunClock,
    contract: Arc<ExecutionContract>,
    run_id: RunId,
    servers: Option<Arc<ToolServers>>,
    tasks: JoinSet<Answer>,
}

impl Workers {
    fn new(
        backends: Vec<Arc<Backend>>,
        contract: Arc<ExecutionContract>,
        servers: Arc<ToolServers>,
        run_id: &RunId,
    ) -> Result<Self, DriverError> {
        let adapters = (0..contract.targets.len())
            .map(|target| {
                let adapter = Adapter::of_target(&contract, target)?;
                Ok((adapter, RequestEncoder::new(&contract, target)?))
            })
            .collect::<Result<_, DriverError>>()?;
        Ok(Self {
            adapters,
            backends,
            cancel: CancellationToken::new(),
            clock: RunClock::starting_at(0),
            contract,
            run_id: run_id.clone(),
            servers: Some(servers),
            tasks: JoinSet::new(),
        })
    }

    /// The loop: do what the machine says, wait for what happens next, tell the machine.
    async fn until_finished(
        &mut self,
        mut run: Run,
        mut effects: Vec<Effect>,
        mut recorder: Recorder<'_>,
        control: &mut mpsc::Receiver<Control>,
        observer: &mut dyn Observer,
    ) -> Result<(Run, Digest, u64, u64), DriverError> {
        let mut control_open = true;
        loop {
            let finished = self
                .perform(std::mem::take(&mut effects), &run, &mut recorder, observer)
                .await?;
            if finished {
                let elapsed_ms = self.clock.run_ms();
                return Ok((run, recorder.head(), recorder.length(), elapsed_ms));
            }
            let deadline = run.next_deadline();
            let event = tokio::select! {
                biased;
                asked = control.recv(), if control_open => match asked {
                    Some(Control::Stop) => EventKind::StopRequested,
                    Some(Control::Abort) => EventKind::Interrupted(Interrupter::Abort),
                    Some(Control::Shutdown) => EventKind::Interrupted(Interrupter::Shutdown),
                    None => {
                        control_open = false;
                        continue;
                    }
                },
                Some(joined) = self.tasks.join_next() => match joined {
                    Ok(answer) => Self::event_of(answer, &run, &mut recorder),
                    // A task only ends without an answer where it was cancelled or panicked. Either way its effect has no
                    // result, and the run cannot wait for one.
                    Err(_) => EventKind::Interrupted(Interrupter::Shutdown),
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
                    let backends = self.backends.clone();
                    self.tasks
                        .spawn(perform::probe(backends, self.cancel.child_token()));
                }
                Effect::Infer(request) => self.infer(request, run),
                Effect::Execute(order) => {
                    if let Some(servers) = &self.servers {
                        self.tasks.spawn(perform::call(
                            Arc::clone(servers),
                            Arc::clone(&self.contract),
                            self.run_id.clone(),
                            self.clock,
                            order,
                            self.cancel.child_token(),
                        ));
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

    fn infer(&mut self, request: InferRequest, run: &Run) {
        let backend = self.backends.get(request.target).cloned();
        let adapter = self.adapters.get_mut(request.target);
        // The machine's target is an index of the contract's targets, and there is one of each for every target.
        if let (Some(backend), Some((adapter, encoder))) = (backend, adapter) {
            let body = encoder.encode(run.conversation(), &RequestShape::from(&request));
            self.tasks.spawn(perform::infer(
                backend,
                *adapter,
                Arc::clone(&self.contract),
                request,
                body,
                self.cancel.child_token(),
            ));
        }
    }

    /// Turns a task's answer into the event that it is, and keeps the bytes that the event names.
    fn event_of(answer: Answer, run: &Run, recorder: &mut Recorder<'_>) -> EventKind {
        match answer {
            Answer::Probed(probed) => EventKind::Probed(probed),
            Answer::Inference(answer) => inference_event(answer, run, recorder),
            Answer::Call {
                blobs,
                order,
                outcome,
            } => {
                for blob in blobs {
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
        while self.tasks.join_next().await.is_some() {}
        self.servers = None;
    }
}

async fn sleep_until(clock: &RunClock, deadline: Option<u64>) {
    match deadline {
        Some(at_ms) => tokio::time::sleep_until(clock.instant_of(at_ms)).await,
        None => std::future::pending().await,
    }
}

fn inference_event(answer: InferenceAnswer, run: &Run, recorder: &mut Recorder<'_>) -> EventKind {
    let raw_hash = (!answer.raw.is_empty()).then(|| Digest::of(&answer.raw));
    let (mut fault, usage) = match answer.response {
        Ok(Decoded::Message(result)) => {
            let usage = result.usage_or_estimate(answer.expected_tokens);
            let admitted = run.admit(*result);
            recorder.keep(answer.raw);
            if let Some(text) = admitted.withheld {
                recorder.keep(text.into_bytes());
            }
            return EventKind::InferenceReturned(Box::new(InferenceReturned {
                gate_breached: false,
                gated: admitted.gated,
                inference: answer.inference,
                request_hash: answer.request_hash,
                result: admitted.result,
                usage,
            }));
        }
        Ok(Decoded::Fault { fault, usage }) => (fault, usage),
        Err(fault) => (fault.into_provider_fault(), None),
    };
    fault.raw_hash = raw_hash;
    if raw_hash.is_some() {
        recorder.keep(answer.raw);
    }
    EventKind::InferenceFailed(InferenceFailed {
        fault,
        gated: raw_hash.is_some() && run.holds_back(),
        inference: answer.inference,
        request_hash: Some(answer.request_hash),
        usage,
    })
}
