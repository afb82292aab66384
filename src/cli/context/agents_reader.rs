//! Reads the files of agents that a run delegates to, as a command reads its contract file.

use super::app::App;
use super::contract_file::ContractFile;
use super::error::CliError;
use crate::contract::ContractSpec;
use crate::driver::{AgentReader, ParentFile, ReadAgent};
use crate::store::Invocation;

/// Reads files of agents where a command stands.
#[derive(Debug)]
pub(in crate::cli) struct AgentFilesReader(App);

impl AgentFilesReader {
    /// A reader for runs of that command.
    pub(in crate::cli) const fn new(app: App) -> Self {
        Self(app)
    }

    fn agent_of(&self, file: &ContractFile) -> Result<ReadAgent, String> {
        let read = || -> Result<ContractSpec, CliError> { file.read(&self.0) };
        let spec = read().map_err(|fault| fault.summary())?;
        let own = spec.own.as_ref();
        let digest = own.ok_or_else(|| "it has no text".to_owned())?.digest;
        Ok(ReadAgent {
            digest,
            folder: file.folder().to_owned(),
            invocation: Some(file.invocation()),
            spec,
        })
    }
}

impl AgentReader for AgentFilesReader {
    fn read(&self, file: &str, parent: &ParentFile) -> Result<ReadAgent, String> {
        self.agent_of(&ContractFile::delegate_of(&self.0, parent, file))
    }

    fn read_again(&self, begun: &Invocation) -> Result<ReadAgent, String> {
        let file = ContractFile::of_delegated_run(&self.0, begun.clone());
        self.agent_of(&file.ok_or_else(|| "no file is recorded with it".to_owned())?)
    }
}
