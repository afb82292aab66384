//! The loop of a workflow: effects of the machine become step runs, and their ends become events. Decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::begin::{Start, WorkflowBegin};
use super::host::{StepHost, locked};
use super::record::WorkflowRecord;
use super::step_run::{StepEnd, StepTask, StepTerms};
use super::watched::Asked;
use crate::agent::{
    EndStep, StepOrder, Workflow, WorkflowDraft, WorkflowEffect, WorkflowEvent, WorkflowEventKind,
};
use crate::driver::DriverError;
use crate::driver::clock::{RunClock, sleep_until};
use crate::kernel::ParentRun;
use crate::message::{Digest, RunId};
use crate::session::Control;
use crate::store::{Store, StoreError};
use crate::tools::Clock as _;

/// How many controls may wait for a step run.
const QUEUE: usize = 16;

/// A workflow that was driven to its end, or left in good order.
pub(crate) struct WorkflowFinished {
    /// The hash of its last entry.
    pub(crate) head: Digest,
    /// The machine.
    pub(crate) workflow: Workflow,
}

/// Drives a workflow until it has ended, or is left.
///
/// Must be called inside a tokio runtime. Where the returned future is dropped, the step runs under way are left as they are.
///
/// # Errors
/// [`DriverError`] where the store cannot be written, or a step run that has begun cannot be gone on with. The workflow stays as it
/// is recorded.
pub(crate) async fn drive_workflow<H: StepHost + Send>(
    begin: WorkflowBegin,
    store: &Store,
    host: &Mutex<H>,
    control: mpsc::Receiver<Control>,
    terms: StepTerms,
) -> Result<WorkflowFinished, DriverError> {
    let WorkflowBegin {
        definition,
        lock,
        run_id,
        start,
    } = begin;
    let begins = !matches!(start, Start::Resumed { .. });
    let (workflow, first, record) = match start {
        Start::New {
            invocation,
            started,
        } => {
            let created = started.started_unix_ms;
            let record =
                WorkflowRecord::beginning(store, &definition, &run_id, created, invocation);
            let (workflow, effects) = Workflow::start(Arc::clone(&definition), started);
            (workflow, First::Effects(effects), record)
        }
        Start::Forked {
            drafts,
            invocation,
            workflow,
        } => {
            let created = workflow.started().started_unix_ms;
            let record =
                WorkflowRecord::beginning(store, &definition, &run_id, created, invocation);
            (*workflow, First::Fork(drafts), record)
        }
        Start::Resumed { head, workflow } => {
            let handle = store.claim_run(&run_id).await?;
            // Another process that does not know the lock has written since the workflow was read.
            if handle.chain().head() != head {
                return Err(StoreError::Fenced { run_id }.into());
            }
            let record = WorkflowRecord::going_on(store, handle);
            (*workflow, First::Resume, record)
        }
    };
    let (asks, asked) = mpsc::unbounded_channel();
    let mut driving = Driving {
        asks,
        clock: RunClock::starting_at(workflow.at_ms()),
        controls: BTreeMap::new(),
        host,
        left: false,
        record,
        run_id,
        steps: FuturesUnordered::new(),
        store,
        terms,
        workflow,
    };
    let driven = driving.until_done(first, control, asked).await;
    if let Err(fault) = driven {
        if begins && !driving.record.has_begun() {
            // There is no workflow that another process could go on with.
            lock.discard();
        }
        return Err(fault);
    }
    let finished = WorkflowFinished {
        head: driving.record.head(),
        workflow: driving.workflow,
    };
    if finished.workflow.outcome().is_some() {
        lock.discard();
    } else {
        drop(lock);
    }
    Ok(finished)
}

/// What a workflow begins with in this process.
enum First {
    Effects(Vec<WorkflowEffect>),
    Fork(Vec<WorkflowDraft>),
    Resume,
}

/// A step run to come.
type Running<'a> = BoxFuture<'a, (u64, Result<StepEnd, DriverError>)>;

struct Driving<'a, H> {
    asks: mpsc::UnboundedSender<Asked>,
    clock: RunClock,
    controls: BTreeMap<u64, mpsc::Sender<Control>>,
    host: &'a Mutex<H>,
    /// Whether nothing is begun any more, because another process goes on.
    left: bool,
    record: WorkflowRecord<'a>,
    run_id: RunId,
    steps: FuturesUnordered<Running<'a>>,
    store: &'a Store,
    terms: StepTerms,
    workflow: Workflow,
}

impl<H: StepHost + Send> Driving<'_, H> {
    async fn until_done(
        &mut self,
        first: First,
        mut control: mpsc::Receiver<Control>,
        mut asked: mpsc::UnboundedReceiver<Asked>,
    ) -> Result<(), DriverError> {
        match first {
            First::Effects(effects) => self.perform(effects).await?,
            First::Fork(drafts) => {
                self.record.append(&drafts).await?;
                self.happened(WorkflowEventKind::Resumed).await?;
            }
            First::Resume => self.happened(WorkflowEventKind::Resumed).await?,
        }
        let mut open = true;
        loop {
            if self.workflow.outcome().is_some() || (self.left && self.steps.is_empty()) {
                return Ok(());
            }
            let due = self.workflow.next_deadline();
            let due = due.and_then(|at_ms| self.clock.instant_of(at_ms));
            tokio::select! {
                biased;
                wanted = control.recv(), if open => match wanted {
                    Some(Control::Suspend) => self.leave().await?,
                    Some(Control::Stop) => self.happened(WorkflowEventKind::StopRequested).await?,
                    Some(_) => self.happened(WorkflowEventKind::Interrupted).await?,
                    None => open = false,
                },
                Some(Asked { control, order, run_id }) = asked.recv() => {
                    let answer = locked(self.host).answer(&order, &run_id);
                    match answer {
                        // A full queue holds enough that ends it already.
                        Some(answer) => drop(control.try_send(answer)),
                        // A person has time: another process goes on once the answer is there.
                        None => self.leave().await?,
                    }
                }
                () = sleep_until(due) => self.happened(WorkflowEventKind::TimerFired).await?,
                Some((number, end)) = self.steps.next() => {
                    self.controls.remove(&number);
                    match end? {
                        StepEnd::Left => self.leave().await?,
                        StepEnd::Ended(order, result) => {
                            locked(self.host).step_ended(&order, &result);
                            let result = Box::new(result);
                            self.happened(WorkflowEventKind::StepEnded { number, result }).await?;
                        }
                    }
                }
            }
        }
    }

    /// Begins nothing more, and lets the step runs be left; asked again, at once.
    async fn leave(&mut self) -> Result<(), DriverError> {
        if !std::mem::replace(&mut self.left, true) {
            self.happened(WorkflowEventKind::Suspended).await?;
        }
        let numbers: Vec<u64> = self.controls.keys().copied().collect();
        for number in numbers {
            self.send(number, Control::Suspend);
        }
        Ok(())
    }

    async fn happened(&mut self, event: WorkflowEventKind) -> Result<(), DriverError> {
        let at_ms = self.clock.run_ms();
        let effects = self.workflow.step(WorkflowEvent { at_ms, event });
        self.perform(effects).await
    }

    async fn perform(&mut self, effects: Vec<WorkflowEffect>) -> Result<(), DriverError> {
        for effect in effects {
            match effect {
                WorkflowEffect::Append(drafts) => {
                    self.record.append(&drafts).await?;
                    for draft in &drafts {
                        locked(self.host).entry(draft);
                    }
                }
                WorkflowEffect::Begin(order) => self.begin(*order),
                WorkflowEffect::End { number, how } => {
                    let control = match how {
                        EndStep::Stop => Control::Stop,
                        EndStep::Now => Control::Parent,
                    };
                    self.send(number, control);
                }
                WorkflowEffect::Finish(_) => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, order: StepOrder) {
        let number = order.number;
        let (control, controls) = mpsc::channel(QUEUE);
        self.controls.insert(number, control.clone());
        let (files, observer) = {
            let host = locked(self.host);
            (host.files(), host.observer(&order))
        };
        let task = StepTask {
            asks: self.asks.clone(),
            control,
            controls,
            files,
            observer,
            order,
            parent: ParentRun {
                call: None,
                head: self.record.head(),
                run_id: self.run_id.clone(),
            },
            store: self.store.clone(),
            terms: self.terms,
        };
        let running = async move { (number, Box::pin(task.run()).await) };
        self.steps.push(Box::pin(running));
    }

    fn send(&self, number: u64, control: Control) {
        if let Some(step) = self.controls.get(&number) {
            // At most one answer of a person waits there: what else fills the queue ends the step already.
            drop(step.try_send(control));
        }
    }
}
