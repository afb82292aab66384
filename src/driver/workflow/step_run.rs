//! One step as a run of its own: begun, gone on with, or read where it is sealed. Does not know what follows from its end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::host::{StepHost, locked};
use super::watched::{Asked, Watched};
use crate::agent::{StepOrder, StepResult};
use crate::driver::bring_up::{prepare_resume, prepare_step, reopen_below};
use crate::driver::known_child::not_deleted;
use crate::driver::{DriverError, Observer, Prepared, drive};
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
pub(super) struct StepTask<'a, H> {
    /// Where calls go that wait for a person.
    pub(super) asks: mpsc::Sender<Asked>,
    /// Where it is asked for something.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) host: &'a Mutex<H>,
    pub(super) order: StepOrder,
    /// The workflow, and its entry that begins the step.
    pub(super) parent: ParentRun,
    pub(super) store: &'a Store,
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
    Open,
    Sealed,
    Stranger,
}

impl<H: StepHost + Send> StepTask<'_, H> {
    /// Runs the step, whatever of it has happened before: nothing of it happens twice.
    pub(super) async fn run(mut self) -> Result<StepEnd, DriverError> {
        let name = format!("{}.{}", self.parent.run_id, self.order.number);
        let run_id = match RunId::try_from(name) {
            Ok(run_id) => run_id,
            Err(fault) => return Ok(self.not_begun(&fault.to_string())),
        };
        let mut observer = locked(self.host).observer(&self.order);
        let prepared = match self.found(&run_id)? {
            Found::Stranger => {
                let rule = format!("the name {run_id} is taken by a run of another origin");
                return Ok(self.not_begun(&rule));
            }
            Found::Sealed => return self.ended(&run_id, observer.as_mut()),
            Found::Open => self.resumed(&run_id, observer.as_mut()).await?,
            Found::Nothing => match self.begun(&run_id).await {
                Ok(prepared) => Some(prepared),
                Err(NotBegun::Left) => None,
                Err(NotBegun::Because(reason)) => return Ok(self.not_begun(&reason)),
            },
        };
        let Some(prepared) = prepared else {
            return Ok(StepEnd::Left);
        };
        let mut watched = Watched {
            asks: self.asks.clone(),
            control: self.control.clone(),
            observer,
            run_id: run_id.clone(),
        };
        let mut prepared = prepared.with_grace(self.terms.grace);
        if let Some(most) = self.terms.max_inferences {
            prepared = prepared.with_max_inferences(most);
        }
        // Its futures are large, and a workflow holds many of them.
        let driving = Box::pin(drive(prepared, self.store, self.controls, &mut watched));
        let finished = driving.await?;
        if finished.run.outcome().is_none() {
            return Ok(StepEnd::Left);
        }
        let run = locked(self.host).ended(&self.order, &run_id)?;
        Ok(StepEnd::Ended(Box::new(self.order), StepResult::Run(run)))
    }

    fn found(&self, run_id: &RunId) -> Result<Found, DriverError> {
        let mut reader = self.store.reader()?;
        let sealed = match reader.read_run(run_id) {
            Err(StoreError::NoSuchRun { .. }) => {
                not_deleted(self.store, run_id, &self.parent.run_id)?;
                return Ok(Found::Nothing);
            }
            run => run?.row().outcome.is_some(),
        };
        let lineage = reader.lineage(run_id)?;
        let own = lineage.is_some_and(|found| found.parent.run_id == self.parent.run_id);
        Ok(match (own, sealed) {
            (false, _) => Found::Stranger,
            (true, true) => Found::Sealed,
            (true, false) => Found::Open,
        })
    }

    /// What a sealed run came to, once it is verified.
    fn ended(self, run_id: &RunId, observer: &mut dyn Observer) -> Result<StepEnd, DriverError> {
        let verified = self.store.reader()?.verify_run(run_id, false)?;
        if let Some(flaw) = verified.first_bad {
            return Err(DriverError::WorkflowDiffers {
                run_id: run_id.clone(),
                what: format!(
                    "{}: expected {}, got {}",
                    flaw.field, flaw.expected, flaw.actual
                ),
            });
        }
        let mut reader = self.store.reader()?;
        let stored = reader.read_run(run_id)?;
        let contract = Arc::new(stored.contract()?);
        let entries: Vec<SealedEntry> = stored.collect::<Result<_, _>>()?;
        observer.recorded(&contract, &entries);
        let run = locked(self.host).ended(&self.order, run_id)?;
        Ok(StepEnd::Ended(Box::new(self.order), StepResult::Run(run)))
    }

    /// Goes on with an open run; none where the workflow is left meanwhile.
    async fn resumed(
        &mut self,
        run_id: &RunId,
        observer: &mut dyn Observer,
    ) -> Result<Option<Prepared>, DriverError> {
        let request = locked(self.host).request(&self.order);
        let request = request.map_err(|reason| DriverError::WorkflowDiffers {
            run_id: run_id.clone(),
            what: reason,
        })?;
        let path = request.invocation.as_ref();
        let path = path.map(|begun| begun.contract_file.clone());
        let reopened = reopen_below(self.store, run_id, &request.environment)?;
        observer.recorded(reopened.contract(), reopened.entries());
        let cancel = CancellationToken::new();
        let preparing = prepare_resume(reopened, request, &cancel);
        tokio::select! {
            biased;
            prepared = preparing => prepared.map(Some).map_err(|fault| fault.of_file(path)),
            // It stays as it is.
            Some(_) = self.controls.recv() => Ok(None),
        }
    }

    async fn begun(&mut self, run_id: &RunId) -> Result<Prepared, NotBegun> {
        let request = locked(self.host).request(&self.order);
        let mut request = request.map_err(NotBegun::Because)?;
        request.run_id = Some(run_id.clone());
        let cancel = CancellationToken::new();
        let preparing = prepare_step(self.parent.clone(), request, &cancel);
        tokio::select! {
            biased;
            prepared = preparing => {
                prepared.map_err(|fault| NotBegun::Because(fault.to_string()))
            }
            Some(wanted) = self.controls.recv() => Err(match wanted {
                Control::Suspend => NotBegun::Left,
                _ => NotBegun::Because("the workflow stopped before it began".to_owned()),
            }),
        }
    }

    fn not_begun(self, reason: &str) -> StepEnd {
        let reason = crate::message::char_prefix(reason, MOST_REASON).to_owned();
        StepEnd::Ended(Box::new(self.order), StepResult::NotBegun(reason))
    }
}

/// Why a step run is not there.
enum NotBegun {
    Because(String),
    Left,
}
