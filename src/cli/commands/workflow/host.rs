//! What the steps of a workflow run under, and what they came to. Drives nothing.

use crate::agent::{
    MAX_OUTPUT_BYTES, StepFailure, StepInput, StepOrder, StepResult, StepRun, WorkflowDraft,
    WorkflowView,
};
use crate::cli::commands::drive::{Live, left_answer, refused_now};
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::contract::{ContractSpec, WorkflowSpec, tool_spec};
use crate::driver::{DriverError, Environment, Observer, RunRequest, StepHost};
use crate::kernel::CallOrder;
use crate::message::{Digest, Role, RunId};
use crate::session::Control;
use crate::store::Store;
use crate::telemetry::AgentResult;

/// The workflow's file, and where its progress is reported.
pub(super) struct Host<'a> {
    pub(super) app: &'a App,
    /// What its step runs are brought up in.
    pub(super) environment: Environment,
    pub(super) file: &'a ContractFile,
    /// Whether a line says of each step that it begins and ends.
    pub(super) is_watched: bool,
    pub(super) live: Live,
    pub(super) run_id: RunId,
    pub(super) spec: &'a WorkflowSpec,
    pub(super) store: &'a Store,
    pub(super) view: WorkflowView,
}

impl Host<'_> {
    /// The request of a step run.
    fn request_of(&self, input: &StepInput) -> Result<RunRequest, CliError> {
        let key = self.app.redaction_key()?;
        let contract = || self.spec.contract.clone().unwrap_or_default();
        let spec = match input {
            StepInput::Prompt(text) => ContractSpec {
                task: Some(text.clone()),
                ..contract()
            },
            StepInput::Tool { arguments, tool } => tool_spec(&contract(), tool, arguments),
            StepInput::Delegate { agent, task, .. } => {
                let mut file = self.file.agent_beside(self.app, agent);
                let mut spec = file.read(self.app)?;
                spec.task = Some(task.clone());
                let spec = file.with_abilities(self.app, spec)?;
                let request = file.request(self.app, spec, key);
                return Ok(RunRequest {
                    environment: self.environment.clone(),
                    invocation: Some(file.invocation()),
                    ..request
                });
            }
        };
        Ok(RunRequest {
            environment: self.environment.clone(),
            ..self.file.request(self.app, spec, key)
        })
    }

    fn read(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, CliError> {
        let reader = self.store.reader()?;
        let (run, view) = Source::Run(run_id.clone(), reader).fold(None)?;
        let result = AgentResult::of_run(&run, &view);
        let (Some(outcome), Some(head)) = (view.outcome(), view.head()) else {
            let run_id = run_id.clone();
            return Err(DriverError::NothingRecorded { run_id }.into());
        };
        let is_call = matches!(order.input, StepInput::Tool { .. });
        let used = view.counters();
        let refused = is_call && (used.executed_ok == 0 || used.executed_ok < used.executed);
        let output = if is_call {
            let mut said = run.conversation().iter().rev();
            let result = said.find(|message| message.role == Role::Tool);
            result.map(|message| message.content.clone())
        } else {
            None
        };
        let output = output.unwrap_or_else(|| result.report_text().to_owned());
        let (failure, output) = if !outcome.class.is_success() {
            (Some(StepFailure::Outcome), output)
        } else if refused {
            (Some(StepFailure::Tool), output)
        } else if output.len() > MAX_OUTPUT_BYTES {
            (Some(StepFailure::OutputSize), String::new())
        } else {
            (None, output)
        };
        Ok(StepRun {
            failure,
            head,
            outcome,
            output,
            run_id: run_id.clone(),
        })
    }
}

impl StepHost for Host<'_> {
    fn request(&self, order: &StepOrder) -> Result<RunRequest, String> {
        if let StepInput::Delegate {
            agent,
            agent_digest,
            ..
        } = &order.input
        {
            let text = self.file.agent_beside(self.app, agent).text();
            let text = text.map_err(|fault| fault.to_string())?;
            if Digest::of(text.as_bytes()) != *agent_digest {
                return Err(format!("{agent} has changed since the workflow was begun"));
            }
        }
        self.request_of(&order.input)
            .map_err(|fault| fault.summary())
    }

    fn ended(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, DriverError> {
        self.read(order, run_id)
            .map_err(|fault| DriverError::WorkflowDiffers {
                run_id: run_id.clone(),
                what: fault.summary(),
            })
    }

    fn observer(&self, order: &StepOrder) -> Box<dyn Observer> {
        let path = format!("{}:{}", self.spec.definition.id, order.step);
        Box::new(self.live.follow_step(self.run_id.clone(), path))
    }

    fn answer(&self, order: &CallOrder, run_id: &RunId) -> Option<Control> {
        let left = left_answer(&self.live, self.store, order, run_id);
        left.or_else(|| refused_now(order))
    }

    fn entry(&mut self, draft: &WorkflowDraft) {
        self.view.take(&draft.action, draft.event.as_ref());
        let (screen, event) = (self.app.screen, draft.event.as_ref());
        if !self.is_watched {
            return;
        }
        let time = |at_ms| crate::cli::ui::numbers::seconds(at_ms);
        let at = event.map_or(self.view.at_ms, |event| event.at_ms);
        for begun in &draft.action.begun {
            let undoes = begun.compensates.map(|of| format!(", undoes {of}"));
            let undoes = undoes.unwrap_or_default();
            let (number, place) = (begun.number, line(&begun.place));
            screen.note(&format!(
                "{}  step {number} begins: {place}{undoes}",
                time(at)
            ));
        }
    }

    fn step_ended(&mut self, order: &StepOrder, result: &StepResult) {
        if !self.is_watched {
            return;
        }
        let how = match result {
            StepResult::Run(run) => run.outcome.to_string(),
            StepResult::NotBegun(reason) => line(reason),
        };
        let (number, place) = (order.number, line(&order.place));
        let text = format!("        step {number} ended: {place}   {how}");
        self.app.screen.note(&text);
    }
}
