//! A request for a run, and the same once its files are read, each once and before a tool server starts: files behind providers, and variables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::backends::{Addresses, Keys, backends};
use super::confinement_decision::decided;
use super::guard::Guard;
use super::reach::Reach;
use super::servers::{ServersToStart, server_specs};
use super::sources::Sources;
use super::tokenizers::Tokenizers;
use super::unmet::{
    missing_windows, servers_without_variables, unknown_servers, unsendable, unset_variables,
};
use crate::driver::{DriverError, Environment};
use crate::inference::Backend;
use crate::store::Invocation;
use crate::tools::ServerSpec;
use monolith_core::contract::{
    ContractDraft, ContractFactory, ContractSpec, ExecutionContract, FactoryError,
};
use monolith_core::message::{RunId, ServerConfinement};
use monolith_core::session::RedactionKey;

/// A request for a run.
///
/// ```
/// use monolith_core::contract::ContractSpec;
/// use monolith_host::driver::{Environment, RunRequest};
/// use monolith_core::session::RedactionKey;
///
/// let text = std::fs::read_to_string("../../contracts/demo.yaml")?;
/// let spec = ContractSpec::parse("demo.yaml", &text, &[])?;
/// let environment = Environment::new(|name| std::env::var(name).ok());
/// let request = RunRequest::new(spec, "../../contracts", environment, RedactionKey::new([7; 32]));
/// assert!(request.spec.task.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunRequest {
    /// The keys of the contract's author, task included.
    pub spec: ContractSpec,
    /// The contract file's folder: scripts and the workspace are found from here.
    pub contract_dir: PathBuf,
    /// The source of variables.
    pub environment: Environment,
    /// The key that the salt of the run is made from.
    pub redaction_key: RedactionKey,
    /// The invocation, recorded for a resume.
    pub invocation: Option<Invocation>,
    /// The run's name; a random one where none is given.
    pub run_id: Option<RunId>,
}

impl RunRequest {
    /// Requests a run of that contract under a random name, without a recorded invocation.
    pub fn new(
        spec: ContractSpec,
        contract_dir: impl Into<PathBuf>,
        environment: Environment,
        redaction_key: RedactionKey,
    ) -> Self {
        Self {
            spec,
            contract_dir: contract_dir.into(),
            environment,
            redaction_key,
            invocation: None,
            run_id: None,
        }
    }

    /// Returns the request in another environment.
    #[must_use]
    pub fn in_environment(self, environment: Environment) -> Self {
        Self {
            environment,
            ..self
        }
    }

    /// Returns the request under that name.
    #[must_use]
    pub fn named(self, run_id: RunId) -> Self {
        Self {
            run_id: Some(run_id),
            ..self
        }
    }
}

/// A request whose files are read. A purpose calls each step below at most once.
pub(super) struct ReadRequest<'r> {
    /// As the values of the file see it.
    environment: Environment,
    /// The file's folder.
    folder: &'r Path,
    pub(super) sources: Sources,
    pub(super) spec: &'r ContractSpec,
}

impl<'r> ReadRequest<'r> {
    /// Reads the file of every scripted and embedded provider that a target names.
    pub(super) async fn read(
        request: &'r RunRequest,
        cancel: &CancellationToken,
    ) -> Result<Self, DriverError> {
        let spec = &request.spec;
        let environment = request.environment.over(spec);
        let sources = Sources::read(spec, &request.contract_dir, &environment, cancel).await?;
        Ok(Self {
            environment,
            folder: &request.contract_dir,
            sources,
            spec,
        })
    }

    /// Decides on the confinement of every program that is to be started; sorted by server.
    ///
    /// # Errors
    /// [`ConfinementError::Untried`](crate::driver::ConfinementError::Untried).
    pub(super) async fn confinement(
        &self,
        which: ServersToStart,
    ) -> Result<Vec<ServerConfinement>, DriverError> {
        let servers = which != ServersToStart::Builtin;
        decided(self.spec, servers, &self.environment).await
    }

    /// Returns the start specification of each server to start.
    pub(super) fn servers(
        &self,
        which: ServersToStart,
    ) -> Result<BTreeMap<String, ServerSpec>, DriverError> {
        server_specs(self.spec, self.folder, &self.environment, which)
    }

    /// Like `servers`, but skips servers that need an unset variable, and returns their names.
    pub(super) fn possible_servers(
        &self,
    ) -> Result<(BTreeMap<String, ServerSpec>, Vec<String>), DriverError> {
        let without = servers_without_variables(self.spec, &self.environment);
        let mut spec = self.spec.clone();
        let servers = &mut spec.tools.servers;
        servers.retain(|name, _| !without.contains(name));
        let all = ServersToStart::All;
        let servers = server_specs(&spec, self.folder, &self.environment, all)?;
        Ok((servers, without))
    }

    /// Returns the things that the file names or needs and nothing supplies, as far as known without tool servers.
    pub(super) fn unmet(&self, draft: Option<&ContractDraft>) -> Vec<DriverError> {
        let mut faults = unknown_servers(self.spec);
        faults.extend(unset_variables(self.spec, &self.environment));
        if let Some(draft) = draft {
            faults.extend(missing_windows(self.spec, draft));
        }
        let terms = draft.map(|draft| &**draft);
        faults.extend(unsendable(self.spec, &self.environment, terms));
        faults
    }

    /// The contract as far as it is known without tool servers.
    pub(super) fn draft(&self) -> Result<ContractDraft, FactoryError> {
        let targets = self.sources.capabilities(self.spec);
        ContractFactory::draft(self.spec, &targets)
    }

    /// Returns the guard that keeps secrets out of the record.
    pub(super) fn guard(&self, draft: Option<&ContractDraft>) -> Result<Guard, DriverError> {
        Guard::of(self.spec, &self.environment, draft)
    }

    /// Returns the token counters.
    pub(super) async fn tokenizers(
        &self,
        name: Option<String>,
        draft: Option<&ContractDraft>,
        cancel: &CancellationToken,
    ) -> Result<Tokenizers, DriverError> {
        Tokenizers::ready(name, &self.sources, draft, &self.environment, cancel).await
    }

    /// Returns the reason why the model of an embedded provider cannot be used, by provider.
    pub(super) fn model_faults(&self, contract: &ExecutionContract) -> BTreeMap<String, String> {
        self.sources.model_faults(contract, &self.environment)
    }

    /// Resolves the addresses of providers that are in variables.
    pub(super) fn addresses(&self) -> Result<Addresses, DriverError> {
        Addresses::resolve(self.spec, &self.environment)
    }

    /// Returns the reach of the file's run; tools see that folder.
    pub(super) fn reach(&self, contract: &ExecutionContract, workspace: &Path) -> Reach {
        let files = self.sources.files();
        Reach::of(self.spec, contract, &self.environment, workspace, files)
    }

    /// Returns the backend of each target.
    pub(super) fn backends(
        self,
        contract: &ExecutionContract,
        addresses: &Addresses,
        with_keys: bool,
        answered: &[usize],
    ) -> Result<Vec<Arc<Backend>>, DriverError> {
        let (spec, environment) = (self.spec, &self.environment);
        let keys = Keys {
            addresses,
            environment,
            wanted: with_keys,
        };
        backends(spec, contract, self.sources, keys, answered)
    }
}
