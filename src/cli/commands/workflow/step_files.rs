//! What the steps of a workflow run under, and what they came to. Drives nothing.

use crate::agent::{
    MAX_OUTPUT_BYTES, MAX_REASON_BYTES, StepFailure, StepInput, StepOrder, StepRun,
};
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::source::Source;
use crate::contract::{ContractSpec, WorkflowSpec, tool_spec};
use crate::driver::{DriverError, Environment, RunRequest, StepFiles};
use crate::message::{RunId, char_prefix};
use crate::store::Store;
use crate::telemetry::{AgentResult, failed_calls};

use super::tool_result::ToolResult;

/// The file of a workflow, and the store that its steps are in.
pub(super) struct Files {
    pub(super) app: App,
    /// What its step runs are brought up in.
    pub(super) environment: Environment,
    pub(super) file: ContractFile,
    pub(super) spec: WorkflowSpec,
    pub(super) store: Store,
    pub(super) workflow: RunId,
}

impl Files {
    /// The request of a step run.
    fn request_of(&self, input: &StepInput) -> Result<RunRequest, CliError> {
        let key = self.app.redaction_key()?;
        let contract = || self.spec.contract.clone().unwrap_or_default();
        let spec = match input {
            StepInput::Prompt(text) => ContractSpec {
                task: Some(text.clone()),
                ..contract()
            },
            StepInput::Tool { arguments, tool } => {
                tool_spec(&contract(), (tool, arguments), MAX_OUTPUT_BYTES as u64)
            }
            StepInput::Delegate { agent, task, .. } => {
                let mut file = self.file.agent_beside(&self.app, agent);
                let mut spec = file.read(&self.app)?;
                spec.task = Some(task.clone());
                let spec = file.with_abilities(&self.app, spec)?;
                let request = file.request(&self.app, spec, key);
                return Ok(RunRequest {
                    environment: self.environment.clone(),
                    invocation: Some(file.invocation()),
                    ..request
                });
            }
        };
        Ok(RunRequest {
            environment: self.environment.clone(),
            ..self.file.request(&self.app, spec, key)
        })
    }

    fn read(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, CliError> {
        let source = Source::Run(run_id.clone(), self.store.reader()?);
        let (run, view) = source.fold(None)?;
        let result = AgentResult::of_run(&run, &view);
        let (Some(outcome), Some(head)) = (result.outcome, result.head) else {
            let run_id = run_id.clone();
            return Err(DriverError::NothingRecorded { run_id }.into());
        };
        let is_call = matches!(order.input, StepInput::Tool { .. });
        let output = result.report_text().to_owned();
        let (failure, output) = if let Some(why) = &result.error {
            // The call says more than what its run came to.
            let call = is_call.then(|| failed_calls(&view)).flatten();
            let why = call.unwrap_or_else(|| why.clone());
            (Some((StepFailure::Outcome, why)), output)
        } else if is_call {
            let ToolResult { failure, text } = ToolResult::of(&self.store, run_id, &view)?;
            (failure, text)
        } else if output.len() > MAX_OUTPUT_BYTES {
            let reason = format!(
                "its report has {} bytes; a step may come to at most {MAX_OUTPUT_BYTES}",
                output.len()
            );
            (Some((StepFailure::OutputSize, reason)), String::new())
        } else {
            (None, output)
        };
        let (failure, reason) = failure.unzip();
        Ok(StepRun {
            failure,
            head,
            outcome,
            output,
            reason: reason.map(|reason| char_prefix(&reason, MAX_REASON_BYTES).to_owned()),
            run_id: run_id.clone(),
        })
    }
}

impl StepFiles for Files {
    fn environment(&self) -> Environment {
        self.environment.clone()
    }

    fn request(&self, order: &StepOrder) -> Result<RunRequest, String> {
        if let StepInput::Delegate {
            agent,
            agent_digest,
            ..
        } = &order.input
        {
            let digest = self.file.agent_digest(&self.app, agent);
            if digest.map_err(|fault| fault.to_string())? != *agent_digest {
                return Err(format!("{agent} has changed since the workflow was begun"));
            }
        }
        self.request_of(&order.input)
            .map_err(|fault| fault.summary())
    }

    fn ended(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, DriverError> {
        self.read(order, run_id).map_err(|fault| match fault {
            CliError::Driver(fault) => fault,
            // A disk that is full or busy says nothing about the evidence.
            CliError::Store(fault) => fault.into(),
            fault => DriverError::WorkflowDiffers {
                run_id: run_id.clone(),
                what: fault.summary(),
            },
        })
    }
}
