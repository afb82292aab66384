//! A file that is a workflow's: its definition, and the files that its steps delegate to. Runs nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::contract_file::ContractFile;
use crate::contract_file::trust::Trust;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::secrets;
use crate::service::Service;
use monolith_core::contract::{SpecErrors, StepId, Work, WorkflowSpec};
use monolith_core::message::Digest;

impl ContractFile {
    /// True if it holds a workflow. A file that cannot be read is none: reading it as a contract says why.
    pub fn is_workflow(&self) -> bool {
        let text = self.text().ok().filter(|_| self.prompt.is_none());
        text.is_some_and(|text| WorkflowSpec::is_one(&text))
    }

    /// Returns the error for a text that is no contract: if it is a workflow, its keys are not the problem.
    pub(super) fn not_read(&self, text: &str, errors: SpecErrors) -> ServiceError {
        if WorkflowSpec::is_one(text) {
            let path = self.name.clone();
            ContractFault::Workflow { path }.into()
        } else {
            errors.into()
        }
    }

    /// Reads the workflow, with the digests of the agents that its steps delegate to.
    pub fn read_workflow(&self, service: &Service) -> Result<WorkflowSpec, ServiceError> {
        let text = self.text()?;
        let layers = self.layers(service)?;
        let name = self.name.display().to_string();
        let mut spec = WorkflowSpec::parse(&name, &text, &layers)?;
        if let Some(contract) = &mut spec.contract {
            contract.layer_values = layers.stated_values();
            // Where snapshots of its steps go is taken from a layer, too.
            if service.sessions_dir.is_none() {
                self.sessions_dir(&layers, contract)?;
            }
            contract.files = self.used_layers(&layers, contract);
            secrets::learn(contract, &service.environment);
        }
        let steps = spec.definition.all_steps().into_iter();
        let delegates = steps.filter_map(|step| match &step.work {
            Work::Delegate(delegate) => Some((step.id.clone(), delegate.agent.clone())),
            _ => None,
        });
        let delegates: Vec<(StepId, String)> = delegates.collect();
        spec.with_agents(&mut |agent| {
            self.agent_digest(service, agent).map_err(|fault| {
                let of = delegates.iter().filter(|(_, file)| file == agent);
                let faults =
                    of.map(|(step, file)| format!("step `{step}`, {file}: {}", fault.summary()));
                let (faults, path) = (faults.collect(), self.name.clone());
                ContractFault::Steps { faults, path }.into()
            })
        })
    }

    /// The folder of snapshots of each step, where the layers of its contract name one: of a step that delegates, those of that file.
    pub fn sessions_of_steps(
        &self,
        service: &Service,
        spec: &WorkflowSpec,
    ) -> Result<BTreeMap<StepId, PathBuf>, ServiceError> {
        let layers = self.layers(service)?;
        let own = spec.contract.as_ref();
        let own = own.map(|contract| self.sessions_dir(&layers, contract));
        let own = own.transpose()?.flatten();
        let mut folders = BTreeMap::new();
        for step in spec.definition.all_steps() {
            let folder = match &step.work {
                Work::Delegate(delegate) => self.sessions_of_agent(service, &delegate.agent),
                _ => own.clone(),
            };
            folders.extend(folder.map(|folder| (step.id.clone(), folder)));
        }
        Ok(folders)
    }

    /// The same of a file that a step delegates to. One that does not read has none: its step says why.
    fn sessions_of_agent(&self, service: &Service, agent: &str) -> Option<PathBuf> {
        let file = self.agent_beside(service, agent);
        let layers = file.layers(service).ok()?;
        // Mostly none is named, and then the file need not be read.
        layers.sessions_dir().ok()??;
        file.parse(service, &file.text().ok()?).ok()?.sessions_dir
    }

    /// The file of an agent that a step delegates to: relative paths begin in the folder of the workflow.
    pub(crate) fn agent_beside(&self, service: &Service, agent: &str) -> Self {
        let path = self.folder().join(Path::new(agent));
        Self {
            base_dir: self.base_dir.clone(),
            config: self.config.clone(),
            recorded: self.recorded.clone(),
            // It is judged with the workflow.
            trust: Trust::Judged,
            ..Self::given(service, path, Vec::new())
        }
    }

    /// Returns the digest of an agent's file next to it: of the text, with everything included.
    pub(crate) fn agent_digest(
        &self,
        service: &Service,
        agent: &str,
    ) -> Result<Digest, ServiceError> {
        let file = self.agent_beside(service, agent);
        file.digest_of(&file.text()?)
    }
}
