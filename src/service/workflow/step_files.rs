//! The files and settings that the steps of a workflow run under. Drives nothing.

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::service::Service;
use crate::workflow::step_result::step_run;
use monolith_core::agent::{MAX_OUTPUT_BYTES, StepInput, StepOrder, StepRun};
use monolith_core::contract::{ContractSpec, FileTrust, WorkflowSpec, tool_spec};
use monolith_core::message::RunId;
use monolith_host::driver::{DriverError, Environment, RunRequest, StepFiles};
use monolith_host::store::Store;

/// The file of a workflow, and the store that its steps are in.
pub struct Files {
    /// Settings that the steps are read with.
    pub service: Service,
    /// The environment that brings up its step runs.
    pub environment: Environment,
    /// File of the workflow.
    pub file: ContractFile,
    /// Document of the author.
    pub spec: WorkflowSpec,
    /// Store of the runs.
    pub store: Store,
    /// The files that the workflow was begun with.
    pub trusted: Vec<FileTrust>,
    /// Name of the workflow run.
    pub workflow: RunId,
}

impl Files {
    /// The request of a step run.
    fn request_of(&self, input: &StepInput) -> Result<RunRequest, ServiceError> {
        let key = self.service.redaction_key()?;
        let contract = || self.spec.contract.clone().unwrap_or_default();
        let spec = match input {
            StepInput::Prompt(text) => ContractSpec {
                task: Some(text.clone()),
                ..contract()
            },
            StepInput::Tool { tool, .. } => tool_spec(&contract(), tool, MAX_OUTPUT_BYTES as u64),
            StepInput::Delegate { agent, task, .. } => {
                let file = self.file.agent_beside(&self.service, agent);
                let mut file = file.among(&self.trusted);
                let mut spec = file.read(&self.service)?;
                spec.task = Some(task.clone());
                let spec = file.with_abilities(&self.service, spec)?;
                let files = spec.files.clone();
                let request = file.request(&self.service, spec, key);
                let mut request = request.in_environment(self.environment.clone());
                request.invocation = Some(file.invocation(files));
                return Ok(request);
            }
        };
        self.file.is_as_begun(&self.service, &self.trusted)?;
        let request = self.file.request(&self.service, spec, key);
        Ok(request.in_environment(self.environment.clone()))
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
            let digest = self.file.agent_digest(&self.service, agent);
            if digest.map_err(|fault| fault.to_string())? != *agent_digest {
                return Err(format!("{agent} has changed since the workflow was begun"));
            }
        }
        self.request_of(&order.input)
            .map_err(|fault| fault.summary())
    }

    fn ended(&self, order: &StepOrder, run_id: &RunId) -> Result<StepRun, DriverError> {
        let is_call = matches!(order.input, StepInput::Tool { .. });
        let read = || step_run(&self.store.reader()?, is_call, run_id);
        read().map_err(|fault| match fault {
            ServiceError::Driver(fault) => fault,
            // A disk that is full or busy says nothing about the evidence.
            ServiceError::Store(fault) => fault.into(),
            fault => DriverError::WorkflowDiffers {
                run_id: run_id.clone(),
                what: fault.summary(),
            },
        })
    }
}
