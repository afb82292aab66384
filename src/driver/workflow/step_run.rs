//! One step as a run of its own: begun, gone on with, or read where it is sealed. Does not know what follows from its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::begin::flawed;
use super::host::StepFiles;
use crate::agent::{StepOrder, StepResult};
use crate::contract::ExecutionContract;
use crate::driver::blocking::blocking;
use crate::driver::bring_up::{prepare_resume, prepare_step, reopen_below};
use crate::driver::{DriverError, Observer, Prepared, Reopened, RunRequest, drive};
use crate::kernel::{CallOrder, EntryDraft, ParentRun, Run};
use crate::message::{InferenceSeq, RunId};
use crate::session::Control;
use crate::store::{Store, StoreError};
use crate::transcript::SealedEntry;

/// The most bytes that say why a step could not begin.
const MOST_REASON: usize = 2_048;

/// A step run, and all that it needs.
pub(super) struct StepTask {
    /// Where calls go that wait for a person.
    pub(super) asks: mpsc::UnboundedSender<Ask>,
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) files: Arc<dyn StepFiles>,
    pub(super) grace: Duration,
    pub(super) observer: Box<dyn Observer>,
    pub(super) order: StepOrder,
    /// The workflow, and its entry that begins the step.
    pub(super) parent: ParentRun,
    pub(super) store: Store,
}

/// A call that waits for a person: of a step run, or of a run below it.
pub(super) struct Ask {
    /// Where that run takes the answer.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) order: CallOrder,
    pub(super) run_id: RunId,
}

/// What became of a step run.
pub(super) enum StepEnd {
    /// It is over.
    Ended(Box<StepOrder>, StepResult),
    /// It was left, and another process can go on with it.
    Left,
}

/// What is in the store under the name of a step run.
enum Found {
    Nothing,
    Open(Box<(Reopened, RunRequest)>),
    Sealed(Arc<ExecutionContract>, Vec<SealedEntry>),
    Stranger,
}

impl StepTask {
    /// Runs the step, whatever of it has happened before: nothing of it happens twice.
    pub(super) async fn run(mut self) -> Result<StepEnd, DriverError> {
        let name = format!("{}.{}", self.parent.run_id, self.order.number);
        let run_id = match RunId::try_from(name) {
            Ok(run_id) => run_id,
            Err(fault) => return Ok(self.not_begun(&fault.to_string())),
        };
        let prepared = match self.found(&run_id).await? {
            Found::Stranger => {
                let rule = format!("the name {run_id} is taken by a run of another origin");
                return Ok(self.not_begun(&rule));
            }
            Found::Sealed(contract, entries) => {
                self.observer.recorded(&contract, &entries);
                return come_to(self.files, self.order, run_id).await;
            }
            Found::Open(open) => {
                let (reopened, request) = *open;
                self.resumed(reopened, request).await?
            }
            Found::Nothing => match self.begun(&run_id).await? {
                Begun::Prepared(prepared) => Some(*prepared),
                Begun::Left => None,
                Begun::Not(reason) => return Ok(self.not_begun(&reason)),
            },
        };
        let Some(prepared) = prepared else {
            return Ok(StepEnd::Left);
        };
        let Self {
            asks,
            control,
            controls,
            files,
            grace,
            observer,
            order,
            store,
            ..
        } = self;
        let mut watched = Watched {
            asks,
            control,
            observer,
            run_id: run_id.clone(),
        };
        // Its futures are large, and a workflow holds many of them.
        let driving = drive(prepared.with_grace(grace), &store, controls, &mut watched);
        let finished = Box::pin(driving).await?;
        if finished.run.outcome().is_none() {
            return Ok(StepEnd::Left);
        }
        come_to(files, order, run_id).await
    }

    /// Looks at the store, and reads what the step needs to go on or to be over.
    async fn found(&self, run_id: &RunId) -> Result<Found, DriverError> {
        let (files, store) = (Arc::clone(&self.files), self.store.clone());
        let (order, run_id) = (self.order.clone(), run_id.clone());
        let workflow = self.parent.run_id.clone();
        blocking(move || {
            let mut reader = store.reader()?;
            let sealed = match reader.read_run(&run_id) {
                Err(StoreError::NoSuchRun { .. }) => return Ok(Found::Nothing),
                run => run?.row().outcome.is_some(),
            };
            let lineage = reader.lineage(&run_id)?;
            if lineage.is_none_or(|found| found.parent.run_id != workflow) {
                return Ok(Found::Stranger);
            }
            if sealed {
                if let Some(flaw) = &reader.verify_run(&run_id, false)?.first_bad {
                    return Err(flawed(&run_id, flaw));
                }
                let stored = reader.read_run(&run_id)?;
                let contract = Arc::new(stored.contract()?);
                let entries = stored.collect::<Result<_, _>>()?;
                return Ok(Found::Sealed(contract, entries));
            }
            let request = files.request(&order);
            let request = request.map_err(|reason| DriverError::WorkflowDiffers {
                run_id: run_id.clone(),
                what: reason,
            })?;
            let reopened = reopen_below(&store, &run_id, &request.environment)?;
            Ok(Found::Open(Box::new((reopened, request))))
        })
        .await
    }

    /// Goes on with an open run; none where the workflow is left meanwhile. Every other control that comes is the run's.
    async fn resumed(
        &mut self,
        reopened: Reopened,
        request: RunRequest,
    ) -> Result<Option<Prepared>, DriverError> {
        self.observer
            .recorded(reopened.contract(), reopened.entries());
        let cancel = CancellationToken::new();
        let mut preparing = pin!(prepare_resume(reopened, request, &cancel));
        let mut asked = Vec::new();
        let prepared = loop {
            tokio::select! {
                biased;
                prepared = &mut preparing => break prepared?,
                Some(control) = self.controls.recv() => match control {
                    // It stays as it is.
                    Control::Suspend => return Ok(None),
                    control => asked.push(control),
                }
            }
        };
        for control in asked {
            // As many were taken out of the queue.
            drop(self.control.try_send(control));
        }
        Ok(Some(prepared))
    }

    async fn begun(&mut self, run_id: &RunId) -> Result<Begun, DriverError> {
        let (files, order) = (Arc::clone(&self.files), self.order.clone());
        let mut request = match blocking(move || Ok(files.request(&order))).await? {
            Ok(request) => request,
            Err(reason) => return Ok(Begun::Not(reason)),
        };
        request.run_id = Some(run_id.clone());
        let cancel = CancellationToken::new();
        let preparing = prepare_step(self.parent.clone(), request, &cancel);
        Ok(tokio::select! {
            biased;
            prepared = preparing => match prepared {
                Ok(prepared) => Begun::Prepared(Box::new(prepared)),
                Err(fault) => Begun::Not(fault.to_string()),
            },
            Some(wanted) = self.controls.recv() => match wanted {
                Control::Suspend => Begun::Left,
                _ => Begun::Not("the workflow stopped before it began".to_owned()),
            },
        })
    }

    fn not_begun(self, reason: &str) -> StepEnd {
        let reason = crate::message::char_prefix(reason, MOST_REASON).to_owned();
        StepEnd::Ended(Box::new(self.order), StepResult::NotBegun(reason))
    }
}

/// What a step run that is sealed came to.
async fn come_to(
    files: Arc<dyn StepFiles>,
    order: StepOrder,
    run_id: RunId,
) -> Result<StepEnd, DriverError> {
    let of = order.clone();
    let run = blocking(move || files.ended(&of, &run_id)).await?;
    Ok(StepEnd::Ended(Box::new(order), StepResult::Run(run)))
}

/// What became of a step run that was to begin.
enum Begun {
    Prepared(Box<Prepared>),
    Left,
    /// There is no run, and why.
    Not(String),
}

/// Follows a run of a step, and reports where it waits for a person.
struct Watched {
    asks: mpsc::UnboundedSender<Ask>,
    control: mpsc::Sender<Control>,
    observer: Box<dyn Observer>,
    run_id: RunId,
}

impl Observer for Watched {
    fn entry(&mut self, draft: &EntryDraft, sealed: &SealedEntry, run: &Run) {
        self.observer.entry(draft, sealed, run);
        if let Some(order) = run.awaited() {
            // The workflow ends before its steps do only where it is dropped with them.
            drop(self.asks.send(Ask {
                control: self.control.clone(),
                order,
                run_id: self.run_id.clone(),
            }));
        }
    }

    fn below(&mut self, run_id: &RunId, control: mpsc::Sender<Control>) -> Box<dyn Observer> {
        Box::new(Self {
            asks: self.asks.clone(),
            control: control.clone(),
            observer: self.observer.below(run_id, control),
            run_id: run_id.clone(),
        })
    }

    fn recorded(&mut self, contract: &Arc<ExecutionContract>, entries: &[SealedEntry]) {
        self.observer.recorded(contract, entries);
    }

    fn text(&mut self, inference: InferenceSeq, text: &str) {
        self.observer.text(inference, text);
    }
}
