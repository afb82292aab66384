//! The loop of a workflow: effects of the machine become step runs, and their ends become events. Decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::begin::{Start, WorkflowBegin};
use super::step_run::{StepHost, StepRunEnd, StepTask, StepTerms, locked};
use crate::driver::DriverError;
use crate::driver::clock::{RunClock, sleep_until};
use crate::driver::waiting::{Waiting, WaitingReport};
use crate::store::{Binding, MachineRecord, Store, StoreError};
use crate::tools::Clock as _;
use monolith_core::agent::{
    EndStep, StepOrder, Workflow, WorkflowDraft, WorkflowEffect, WorkflowEvent, WorkflowEventKind,
};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::session::Control;
use monolith_core::transcript::Chain;

/// Maximum number of pending controls of a step run.
const QUEUE: usize = 16;

/// A workflow that was driven to its end, or left in good order.
pub struct WorkflowFinished {
    /// The hash of its last entry.
    pub head: Digest,
    /// The machine.
    pub workflow: Workflow,
}

/// Drives a workflow until it has ended, or is left.
///
/// Must be called inside a tokio runtime. Where the returned future is dropped, the step runs under way are left as they are.
///
/// # Errors
/// [`DriverError`] if the store cannot be written, or a step run that has begun cannot be resumed. Work in flight in the other
/// step runs may still end, as if the process were asked to leave. The workflow is suspended if that can be recorded.
pub async fn drive_workflow<H: StepHost + Send>(
    begin: WorkflowBegin,
    store: &Store,
    host: &Mutex<H>,
    mut control: mpsc::Receiver<Control>,
    (terms, report): (StepTerms, WaitingReport),
) -> Result<WorkflowFinished, DriverError> {
    let WorkflowBegin {
        definition,
        lock,
        run_id,
        start,
    } = begin;
    let begins = !matches!(start, Start::Resumed { .. });
    let recorded = match &start {
        Start::Resumed { workflow, .. } => workflow.last_number(),
        Start::New { .. } | Start::Forked { .. } => 0,
    };
    let (workflow, first, record) = match start {
        Start::New {
            invocation,
            started,
        } => {
            let created = started.started_unix_ms;
            let binding = Binding::Workflow(Arc::clone(&definition));
            let record = MachineRecord::beginning(store, binding, &run_id, created, invocation);
            let (workflow, effects) = Workflow::start(Arc::clone(&definition), started);
            (workflow, Initial::Effects(effects), record)
        }
        Start::Forked {
            drafts,
            invocation,
            workflow,
        } => {
            let created = workflow.started().started_unix_ms;
            let binding = Binding::Workflow(Arc::clone(&definition));
            let record = MachineRecord::beginning(store, binding, &run_id, created, invocation);
            (*workflow, Initial::Fork(drafts), record)
        }
        Start::Resumed { head, workflow } => {
            let handle = store.claim_run(&run_id).await?;
            // Another process that does not know the lock has written since the workflow was read.
            if handle.chain().head() != head {
                return Err(StoreError::Fenced { run_id }.into());
            }
            let record = MachineRecord::resumed(store, handle);
            (*workflow, Initial::Resume, record)
        }
    };
    // A server of its contract starts once for all of its steps.
    let kept = locked(host).files().environment().keep_servers();
    let mut driving = Driving {
        clock: RunClock::starting_at(workflow.at_ms()),
        controls: BTreeMap::new(),
        fault: None,
        host,
        left: false,
        record,
        recorded,
        report,
        run_id,
        steps: FuturesUnordered::new(),
        store,
        terms,
        waiting: Waiting::default(),
        workflow,
    };
    let driven = driving.until_done(first, &mut control).await;
    if driven.is_err() {
        driving.abandon(&mut control).await;
    }
    kept.end().await;
    if let Err(fault) = driven {
        if begins && !driving.record.has_begun() {
            // No workflow exists that another process could resume.
            lock.discard();
        }
        return Err(driving.fault.take().unwrap_or(fault));
    }
    if let Some(fault) = driving.fault {
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

/// The first work of a workflow in this process.
enum Initial {
    Effects(Vec<WorkflowEffect>),
    Fork(Vec<WorkflowDraft>),
    Resume,
}

/// A step run to come.
type Running<'a> = BoxFuture<'a, (u64, Result<StepRunEnd, DriverError>)>;

struct Driving<'a, H> {
    clock: RunClock,
    controls: BTreeMap<u64, mpsc::Sender<Control>>,
    /// The first fault of a step run that cannot be resumed.
    fault: Option<DriverError>,
    host: &'a Mutex<H>,
    /// Set once nothing more is begun, because another process takes over.
    left: bool,
    record: MachineRecord<'a>,
    /// The number of the last step that an earlier process had begun.
    recorded: u64,
    /// The report on whether all work under way waits.
    report: WaitingReport,
    run_id: RunId,
    steps: FuturesUnordered<Running<'a>>,
    store: &'a Store,
    terms: StepTerms,
    /// The steps that do nothing, with the runs below them, but wait for a person.
    waiting: Waiting,
    workflow: Workflow,
}

impl<H: StepHost + Send> Driving<'_, H> {
    async fn until_done(
        &mut self,
        first: Initial,
        control: &mut mpsc::Receiver<Control>,
    ) -> Result<(), DriverError> {
        match first {
            Initial::Effects(effects) => self.perform(effects).await?,
            Initial::Fork(drafts) => {
                self.append(&drafts).await?;
                self.happened(WorkflowEventKind::Resumed).await?;
            }
            Initial::Resume => self.happened(WorkflowEventKind::Resumed).await?,
        }
        let mut open = true;
        loop {
            if self.workflow.outcome().is_some() || (self.left && self.steps.is_empty()) {
                return Ok(());
            }
            let steps = self.controls.len();
            self.report.set(self.waiting.of_all(steps));
            let due = self.workflow.next_deadline();
            let due = due.and_then(|at_ms| self.clock.instant_of(at_ms));
            tokio::select! {
                biased;
                wanted = control.recv(), if open => match wanted {
                    // Asked twice, they are left at once.
                    Some(Control::Suspend) if self.left => self.send_all(&Control::Suspend),
                    Some(Control::Suspend) => self.leave().await?,
                    Some(Control::Stop) => self.happened(WorkflowEventKind::StopRequested).await?,
                    Some(wanted) => {
                        self.happened(WorkflowEventKind::Interrupted).await?;
                        if wanted == Control::Abort {
                            // The steps were asked to end; their tool servers are not waited for.
                            self.send_all(&Control::Abort);
                        }
                    }
                    None => open = false,
                },
                () = self.waiting.changed() => {}
                () = sleep_until(due) => self.happened(WorkflowEventKind::TimerFired).await?,
                Some((number, end)) = self.steps.next() => {
                    self.controls.remove(&number);
                    match end {
                        Ok(StepRunEnd::Left) => self.leave().await?,
                        Ok(StepRunEnd::Ended(order, result)) => {
                            locked(self.host).step_ended(&order, &result);
                            let result = Box::new(result);
                            self.happened(WorkflowEventKind::StepEnded { number, result }).await?;
                        }
                        Err(fault) => {
                            self.fault.get_or_insert(fault);
                            self.leave().await?;
                        }
                    }
                }
            }
        }
    }

    /// Begins nothing more, and lets the step runs be left.
    async fn leave(&mut self) -> Result<(), DriverError> {
        if !std::mem::replace(&mut self.left, true) {
            self.happened(WorkflowEventKind::Suspended).await?;
            self.send_all(&Control::Suspend);
        }
        Ok(())
    }

    /// Leaves the step runs where nothing of the workflow can be recorded any more: what is in flight in them may still end.
    async fn abandon(&mut self, control: &mut mpsc::Receiver<Control>) {
        self.send_all(&Control::Suspend);
        loop {
            tokio::select! {
                biased;
                Some(_) = control.recv() => self.send_all(&Control::Suspend),
                ended = self.steps.next() => if ended.is_none() {
                    return;
                }
            }
        }
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
                    self.append(&drafts).await?;
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

    /// Appends the entries of one step as one batch. When this returns, they are durable.
    async fn append(&mut self, drafts: &[WorkflowDraft]) -> Result<(), StoreError> {
        let seal = |chain: &mut Chain| {
            let entries = drafts.iter().map(|draft| draft.seal(chain));
            entries.collect::<Vec<_>>()
        };
        self.record.append(seal).await
    }

    fn begin(&mut self, order: StepOrder) {
        let number = order.number;
        let (control, controls) = mpsc::channel(QUEUE);
        self.controls.insert(number, control.clone());
        let (files, observer) = {
            let host = locked(self.host);
            (host.files(), host.observer(&order, control.clone()))
        };
        let task = StepTask {
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
            waiting: self.waiting.report_of(number),
            was_begun: number <= self.recorded,
        };
        let running = async move { (number, Box::pin(task.run()).await) };
        self.steps.push(Box::pin(running));
    }

    fn send_all(&self, control: &Control) {
        for number in self.controls.keys() {
            self.send(*number, control.clone());
        }
    }

    fn send(&self, number: u64, control: Control) {
        if let Some(step) = self.controls.get(&number) {
            // At most one answer of a person waits there: what else fills the queue ends the step already.
            drop(step.try_send(control));
        }
    }
}
