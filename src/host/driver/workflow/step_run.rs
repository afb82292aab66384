//! One step as a separate run: begun, resumed, or read if sealed. Does not know what follows from its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use monolith_core::agent::{
    MAX_REASON_BYTES, StepInput, StepOrder, StepResult, StepRun, WorkflowDraft,
};
use monolith_core::kernel::ParentRun;
use monolith_core::message::{ObjectText, RunId, ToolInvocation, char_prefix};
use monolith_core::session::Control;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::driver::bring_up::prepare_step;
use crate::driver::child_state::{ChildLink, ChildState, UpAgain, child_state, up_again};
use crate::driver::tasks::blocking;
use crate::driver::waiting::WaitingReport;
use crate::driver::{DriverError, Environment, Observer, Prepared, Reopened, RunRequest, drive};
use crate::store::Store;

/// The terms for all step runs of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct StepTerms {
    /// Maximum time for a step run to end.
    pub grace: Duration,
    /// Maximum number of open model requests in this process, if limited.
    pub max_inferences: Option<usize>,
}

/// A step run, and all that it needs.
pub(super) struct StepTask {
    /// Its control channel.
    pub(super) control: mpsc::Sender<Control>,
    pub(super) controls: mpsc::Receiver<Control>,
    pub(super) files: Arc<dyn StepFiles>,
    pub(super) observer: Box<dyn Observer>,
    pub(super) order: StepOrder,
    /// The workflow, and its entry that begins the step.
    pub(super) parent: ParentRun,
    pub(super) store: Store,
    pub(super) terms: StepTerms,
    /// The report of its run about waiting for a person.
    pub(super) waiting: WaitingReport,
    /// True if an earlier process may have begun it.
    pub(super) was_begun: bool,
}

/// The result of a step run.
pub(super) enum StepRunEnd {
    /// It is over.
    Ended(Box<StepOrder>, StepResult),
    /// It was left, and another process can resume it.
    Left,
}

impl StepTask {
    /// Runs the step, whatever of it has happened before: nothing of it happens twice.
    pub(super) async fn run(mut self) -> Result<StepRunEnd, DriverError> {
        let run_id = match self.parent.run_id.step(self.order.number) {
            Ok(run_id) => run_id,
            Err(fault) => return Ok(self.not_begun(&fault.to_string())),
        };
        let link = ChildLink {
            call: None,
            child: run_id.clone(),
            parent: self.parent.run_id.clone(),
            was_begun: self.was_begun,
        };
        let environment = self.files.environment();
        let prepared = match child_state(&self.store, &environment, link.clone()).await? {
            ChildState::NameTaken => {
                let rule = format!("the name {run_id} is taken by a run of another origin");
                return Ok(self.not_begun(&rule));
            }
            ChildState::Ended(recorded) => {
                self.observer
                    .recorded(&recorded.contract, &recorded.entries);
                drop(recorded);
                return read_result(self.files, self.order, run_id).await;
            }
            ChildState::Open(open) => match Box::pin(self.resumed(*open, link)).await? {
                UpAgain::Up { prepared, .. } => Some(*prepared),
                UpAgain::Left => None,
                UpAgain::Ended(_) => return read_result(self.files, self.order, run_id).await,
            },
            ChildState::Absent => match Box::pin(self.begun(&run_id)).await? {
                Begun::Prepared(prepared) => Some(*prepared),
                Begun::Left => None,
                Begun::Not(reason) => return Ok(self.not_begun(&reason)),
            },
        };
        let Some(prepared) = prepared else {
            return Ok(StepRunEnd::Left);
        };
        let Self {
            controls,
            files,
            mut observer,
            order,
            store,
            terms,
            waiting,
            ..
        } = self;
        let mut prepared = prepared.with_grace(terms.grace).that_reports(waiting);
        if let Some(most) = terms.max_inferences {
            prepared = prepared.with_max_inferences(most);
        }
        // Its futures are large, and a workflow holds many of them.
        let driving = drive(prepared, &store, controls, observer.as_mut());
        let finished = Box::pin(driving).await?;
        if finished.run.outcome().is_none() {
            return Ok(StepRunEnd::Left);
        }
        read_result(files, order, run_id).await
    }

    /// Resumes an open run.
    async fn resumed(&mut self, open: Reopened, link: ChildLink) -> Result<UpAgain, DriverError> {
        self.observer.recorded(open.contract(), open.entries());
        let (files, order) = (Arc::clone(&self.files), self.order.clone());
        let request = blocking(move || Ok::<_, DriverError>(files.request(&order))).await?;
        let request = request.map_err(|reason| DriverError::AgentUnreadable {
            reason,
            run_id: link.child.clone(),
        })?;
        let above = (&self.store, link);
        let cancel = CancellationToken::new();
        let up = up_again(open, request, above, &mut self.controls, &cancel);
        let up = Box::pin(up).await?;
        if let UpAgain::Up {
            is_to_stop: true, ..
        } = &up
        {
            // The queue was empty when it was up.
            drop(self.control.try_send(Control::Stop));
        }
        Ok(up)
    }

    async fn begun(&mut self, run_id: &RunId) -> Result<Begun, DriverError> {
        let (files, order) = (Arc::clone(&self.files), self.order.clone());
        let mut request =
            match blocking(move || Ok::<_, DriverError>(files.request(&order))).await? {
                Ok(request) => request,
                Err(reason) => return Ok(Begun::Not(reason)),
            };
        request.run_id = Some(run_id.clone());
        let cancel = CancellationToken::new();
        let (parent, labels) = (self.parent.clone(), self.order.labels.clone());
        let call = match call_of(&self.order) {
            Ok(call) => call,
            Err(reason) => return Ok(Begun::Not(reason)),
        };
        let preparing = prepare_step(parent, labels, call, request, &cancel);
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

    fn not_begun(self, reason: &str) -> StepRunEnd {
        let reason = char_prefix(reason, MAX_REASON_BYTES).to_owned();
        StepRunEnd::Ended(Box::new(self.order), StepResult::NotBegun(reason))
    }
}

/// The call of a step that asks no model; `None` for any other step.
fn call_of(order: &StepOrder) -> Result<Option<ToolInvocation>, String> {
    let StepInput::Tool { arguments, tool } = &order.input else {
        return Ok(None);
    };
    let arguments = ObjectText::parse(arguments.clone()).map_err(|fault| fault.to_string())?;
    Ok(Some(ToolInvocation {
        arguments,
        fault: None,
        id: "call_1".to_owned(),
        name: tool.clone(),
        raw_payload: None,
        source_model: String::new(),
    }))
}

/// Reads the result of a sealed step run.
async fn read_result(
    files: Arc<dyn StepFiles>,
    order: StepOrder,
    run_id: RunId,
) -> Result<StepRunEnd, DriverError> {
    let of = order.clone();
    let run = blocking(move || files.ended(&of, &run_id)).await?;
    Ok(StepRunEnd::Ended(Box::new(order), StepResult::Run(run)))
}

/// The result of beginning a step run.
enum Begun {
    Prepared(Box<Prepared>),
    Left,
    /// There is no run, and why.
    Not(String),
}

/// The host, for as long as one look at it takes: it is never held while something is waited for.
pub(super) fn locked<H>(host: &Mutex<H>) -> MutexGuard<'_, H> {
    host.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The files under which a workflow's steps run, and the steps' results. Separate threads read them.
pub trait StepFiles: Send + Sync {
    /// Returns the environment for step runs.
    fn environment(&self) -> Environment;

    /// Builds the request of a step run; its name is given later.
    ///
    /// # Errors
    /// Why it cannot be, for people: the step fails with it.
    fn request(&self, order: &StepOrder) -> Result<RunRequest, String>;

    /// Returns the result of a sealed step run.
    ///
    /// # Errors
    /// [`DriverError`] where it cannot be read: the workflow stays as it is.
    fn ended(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, DriverError>;
}

/// Who holds the files of a workflow, and follows it.
pub trait StepHost {
    /// Returns the files of its steps.
    fn files(&self) -> Arc<dyn StepFiles>;

    /// Who sees the entries of that step's run; what is recorded of it from before comes first. `control` is where the run is asked for
    /// something.
    fn observer(&self, order: &StepOrder, control: mpsc::Sender<Control>) -> Box<dyn Observer>;

    /// An entry has become durable.
    fn entry(&mut self, draft: &WorkflowDraft);

    /// A step has ended, before that is written down.
    fn step_ended(&mut self, order: &StepOrder, result: &StepResult) {
        let _ = (order, result);
    }
}
