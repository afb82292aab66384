//! One step as a run of its own: begun, gone on with, or read where it is sealed. Does not know what follows from its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::begin::flawed;
use super::host::StepFiles;
use super::watched::{Asked, Watched};
use crate::agent::{StepOrder, StepResult};
use crate::contract::ExecutionContract;
use crate::driver::blocking::blocking;
use crate::driver::bring_up::{prepare_resume, prepare_step, reopen_below};
use crate::driver::known_child::not_deleted;
use crate::driver::{DriverError, Observer, Prepared, Reopened, RunRequest, drive};
use crate::kernel::ParentRun;
use crate::message::RunId;
use crate::session::Control;
use crate::store::{Store, StoreError};
use crate::transcript::SealedEntry;

/// The most bytes that say why a step could not begin.
const MOST_REASON: usize = 2_048;

/// What all step runs of a workflow are driven under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepTerms {
    /// How long a step run that is to end may take.
    pub(crate) grace: Duration,
    /// How many requests to models of this process may be open at once, where that is limited.
    pub(crate) max_inferences: Option<usize>,
}

/// A step run, and all that it needs.
pub(super) struct StepTask {
    /// Where calls go that wait for a person.
    pub(super) asks: mpsc::UnboundedSender<Asked>,
    /// Where it is asked for something.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) files: Arc<dyn StepFiles>,
    pub(super) observer: Box<dyn Observer>,
    pub(super) order: StepOrder,
    /// The workflow, and its entry that begins the step.
    pub(super) parent: ParentRun,
    pub(super) store: Store,
    pub(super) terms: StepTerms,
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
            observer,
            order,
            store,
            terms,
            ..
        } = self;
        let mut watched = Watched {
            asks,
            control,
            observer,
            run_id: run_id.clone(),
        };
        let mut prepared = prepared.with_grace(terms.grace);
        if let Some(most) = terms.max_inferences {
            prepared = prepared.with_max_inferences(most);
        }
        // Its futures are large, and a workflow holds many of them.
        let driving = drive(prepared, &store, controls, &mut watched);
        let finished = Box::pin(driving).await?;
        if finished.run.outcome().is_none() {
            return Ok(StepEnd::Left);
        }
        come_to(files, order, run_id).await
    }

    /// Looks at the store, and reads what the step needs to go on or to be over.
    fn found(&self, run_id: &RunId) -> impl Future<Output = Result<Found, DriverError>> + use<> {
        let (files, store) = (Arc::clone(&self.files), self.store.clone());
        let (order, run_id) = (self.order.clone(), run_id.clone());
        let workflow = self.parent.run_id.clone();
        blocking(move || {
            let mut reader = store.reader()?;
            let sealed = match reader.read_run(&run_id) {
                Err(StoreError::NoSuchRun { .. }) => {
                    not_deleted(&store, &run_id, &workflow)?;
                    return Ok(Found::Nothing);
                }
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
    }

    /// Goes on with an open run; none where the workflow is left meanwhile. Every other control that comes is the run's.
    async fn resumed(
        &mut self,
        reopened: Reopened,
        request: RunRequest,
    ) -> Result<Option<Prepared>, DriverError> {
        self.observer
            .recorded(reopened.contract(), reopened.entries());
        let path = request.invocation.as_ref();
        let path = path.map(|begun| begun.contract_file.clone());
        let cancel = CancellationToken::new();
        let mut preparing = pin!(prepare_resume(reopened, request, &cancel));
        let mut asked = Vec::new();
        let prepared = loop {
            tokio::select! {
                biased;
                prepared = &mut preparing => break prepared.map_err(|fault| fault.of_file(path))?,
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
