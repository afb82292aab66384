//! The files that must be trusted before a contract file is used, and who trusts them. Asks no one itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::beyond::FoundContract;
use crate::contract_file::ContractFile;
use crate::contract_file::known::Reading;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::service::Service;
use crate::trust::{AgentBelow, ReadContract, file_trust};
use monolith_core::contract::{ContractSpec, FileTrust, Work, WorkflowSpec};
use monolith_host::config::{Layers, place};
use monolith_host::driver::decide_files;

/// Who trusts a contract file.
#[derive(Clone, Debug)]
pub(super) enum Trust {
    /// The caller who is asked: it was found and not named.
    Found,
    /// The caller who named it. Layers that were found are asked about all the same.
    Named,
    /// A run was begun with it: these files must be as they were then.
    Recorded(Vec<FileTrust>),
    /// It was judged with the file that names it.
    Judged,
    /// Like `Recorded`, for a resumed run: its files must be among these, unchanged since the run began.
    Among(Vec<FileTrust>),
}

impl ContractFile {
    /// Judges the files that must be trusted where it holds this text, and leaves them in `spec`.
    pub fn judge_trust(
        &self,
        service: &Service,
        text: &str,
        spec: &mut ContractSpec,
    ) -> Result<(), ServiceError> {
        if self.reading == Reading::Definition {
            return Ok(());
        }
        let below = match self.trust {
            Trust::Found => self.agents_below(service, spec)?,
            _ => self.readable_below(service, spec)?,
        };
        let named = self.decide(service, (text, Some(spec)), &below);
        let files = self.files_of(text, spec, &below)?;
        let read = self.as_read(text, Some(spec), &below, &files);
        self.judge(service, &read)?;
        if let (Trust::Named | Trust::Recorded(_), Some(replaced)) =
            (&self.trust, service.environment.replaced(&named))
        {
            let all = self.all_files(text, spec, &below)?;
            self.as_read(text, Some(spec), &below, &all)
                .with_replaced(replaced)
                .judge(service)?;
        }
        service.environment.accept(&named);
        spec.files = files;
        Ok(())
    }

    /// Takes over the files that decide what it and its agents start, as they are now. Returns their paths.
    fn decide(
        &self,
        service: &Service,
        (text, spec): (&str, Option<&ContractSpec>),
        below: &[AgentBelow],
    ) -> BTreeSet<PathBuf> {
        let own = spec.map(|spec| (spec, self.folder()));
        let agents = below.iter().map(|agent| (&agent.spec, &*agent.folder));
        let mut named = BTreeSet::new();
        for (spec, folder) in own.into_iter().chain(agents) {
            named.extend(decide_files(spec, folder, &service.environment));
        }
        named.extend(self.sources(text));
        named.extend(below.iter().flat_map(|agent| agent.sources.clone()));
        named
    }

    /// The files that `monolith trust` trusts: the contract, its agents, and the layers that they take from.
    pub fn all_files(
        &self,
        text: &str,
        spec: &ContractSpec,
        below: &[AgentBelow],
    ) -> Result<Vec<FileTrust>, ServiceError> {
        let mut files = vec![self.own_trust(text, spec)?];
        files.extend(below.iter().map(AgentBelow::trust));
        Ok(with_layers(files, spec, below))
    }

    /// The file itself with its trust hash, where it holds this text.
    pub fn own_trust(&self, text: &str, spec: &ContractSpec) -> Result<FileTrust, ServiceError> {
        let digest = self.digest_of(text)?;
        Ok(file_trust((&self.path, self.folder()), digest, spec))
    }

    /// The found layers that it takes something from.
    pub(super) fn used_layers(&self, layers: &Layers, spec: &ContractSpec) -> Vec<FileTrust> {
        let workspace = spec.tools.workspace.as_deref().unwrap_or(".");
        layers.used_found(&self.folder().join(workspace))
    }

    /// The files of a contract that must be trusted: found layers, and of a contract that was found, itself and its agents, if it reaches
    /// beyond its folder.
    fn files_of(
        &self,
        text: &str,
        spec: &ContractSpec,
        below: &[AgentBelow],
    ) -> Result<Vec<FileTrust>, ServiceError> {
        let own = place(&self.path);
        let is_whole = match &self.trust {
            Trust::Found => {
                let found = self.as_found(text, spec, below);
                let mut specs = found.specs.iter();
                specs.any(|(spec, _)| !spec.files.is_empty()) || found.needs_trust()
            }
            Trust::Recorded(files) | Trust::Among(files) => {
                files.iter().any(|file| file.path == own)
            }
            Trust::Named | Trust::Judged => false,
        };
        if is_whole {
            return self.all_files(text, spec, below);
        }
        Ok(with_layers(Vec::new(), spec, below))
    }

    /// The same as a contract that was found, where it holds this text.
    pub fn as_found<'c>(
        &'c self,
        text: &str,
        spec: &'c ContractSpec,
        below: &'c [AgentBelow],
    ) -> FoundContract<'c> {
        let agents = below.iter().map(|agent| (&agent.spec, &*agent.folder));
        let included = below.iter().flat_map(|agent| agent.sources.clone());
        FoundContract {
            folder: self.folder(),
            sources: self.sources(text).into_iter().chain(included).collect(),
            specs: agents.chain([(spec, self.folder())]).collect(),
        }
    }

    fn judge(&self, service: &Service, read: &ReadContract<'_>) -> Result<(), ServiceError> {
        match &self.trust {
            Trust::Judged => Ok(()),
            Trust::Recorded(recorded) => self.are_as_recorded(recorded, read.files),
            Trust::Among(recorded) => self.are_among(recorded, read.files),
            Trust::Found | Trust::Named => read.judge(service),
        }
    }

    /// As it was read.
    pub fn as_read<'c>(
        &'c self,
        text: &'c str,
        spec: Option<&'c ContractSpec>,
        below: &'c [AgentBelow],
        files: &'c [FileTrust],
    ) -> ReadContract<'c> {
        ReadContract {
            below,
            files,
            folder: self.folder(),
            name: &self.name,
            path: &self.path,
            replaced: None,
            spec,
            text,
        }
    }

    /// Refuses files that are not those that a run was begun with.
    fn are_as_recorded(
        &self,
        recorded: &[FileTrust],
        files: &[FileTrust],
    ) -> Result<(), ServiceError> {
        self.are_among(files, recorded)?;
        self.are_among(recorded, files)
    }

    /// Refuses files that are not among those.
    fn are_among(&self, known: &[FileTrust], files: &[FileTrust]) -> Result<(), ServiceError> {
        let Some(changed) = files.iter().find(|file| !known.contains(file)) else {
            return Ok(());
        };
        Err(ContractFault::ChangedSince {
            contract: self.name.clone(),
            path: changed.path.clone(),
        }
        .into())
    }

    /// The file of an agent that a step delegates to, whose files must be among those that the workflow was begun with.
    pub(crate) fn among(self, files: &[FileTrust]) -> Self {
        Self {
            trust: Trust::Among(files.to_vec()),
            ..self
        }
    }

    /// Refuses a workflow whose layers are not those that it was begun with.
    pub(crate) fn is_as_begun(
        &self,
        service: &Service,
        files: &[FileTrust],
    ) -> Result<(), ServiceError> {
        if files.is_empty() {
            return Ok(());
        }
        let own = self.read_workflow(service)?.contract.unwrap_or_default();
        self.are_among(files, &own.files)
    }

    /// Judges the layers that a workflow and the agents of its steps take from, and reads all of them. The files, to be recorded.
    pub fn judge_workflow(
        &self,
        service: &Service,
        workflow: &WorkflowSpec,
    ) -> Result<Vec<FileTrust>, ServiceError> {
        let below = self.agents_of_workflow(service, workflow);
        let own = workflow.contract.clone().unwrap_or_default();
        let files = with_layers(Vec::new(), &own, &below);
        let contract = workflow.contract.as_ref().map(|own| ContractSpec {
            task: Some(String::new()),
            ..own.clone()
        });
        let text = self.text()?;
        service.environment.guard_file(&self.path);
        let named = self.decide(service, (&text, contract.as_ref()), &below);
        let read = self.as_read(&text, contract.as_ref(), &below, &files);
        self.judge(service, &read)?;
        if let Some(replaced) = service.environment.replaced(&named) {
            let all = self.all_files(&text, &own, &below)?;
            self.as_read(&text, contract.as_ref(), &below, &all)
                .with_replaced(replaced)
                .judge(service)?;
        }
        service.environment.accept(&named);
        Ok(files)
    }

    /// The agents that the steps of a workflow delegate to, and theirs. The step of one that cannot be read says why.
    pub fn agents_of_workflow(
        &self,
        service: &Service,
        workflow: &WorkflowSpec,
    ) -> Vec<AgentBelow> {
        let mut below: Vec<AgentBelow> = Vec::new();
        for step in workflow.definition.all_steps() {
            let Work::Delegate(delegate) = &step.work else {
                continue;
            };
            let file = self.agent_beside(service, &delegate.agent);
            let read = || -> Result<_, ServiceError> {
                let text = file.text()?;
                let spec = file.parse(service, &text)?;
                let deeper = file.readable_below(service, &spec)?;
                let digest = file.digest_of(&text)?;
                Ok((digest, spec, deeper, file.sources(&text), text))
            };
            let Ok((digest, spec, deeper, sources, text)) = read() else {
                continue;
            };
            below.extend(deeper);
            below.push(AgentBelow {
                digest,
                folder: file.folder().to_owned(),
                name: Path::new(&delegate.agent).to_owned(),
                path: file.path,
                sources,
                spec,
                text,
            });
        }
        below.sort_by(|a, b| a.path.cmp(&b.path));
        below.dedup_by(|a, b| a.path == b.path);
        below
    }
}

/// Adds the layers of a contract and its agents to `files`; each file once, sorted.
fn with_layers(
    mut files: Vec<FileTrust>,
    spec: &ContractSpec,
    below: &[AgentBelow],
) -> Vec<FileTrust> {
    files.extend(spec.files.iter().cloned());
    files.extend(below.iter().flat_map(|agent| agent.spec.files.clone()));
    files.sort();
    files.dedup();
    files
}
