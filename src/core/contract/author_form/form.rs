//! The file that gives a recorded contract again, with changes. Writes no file.

use super::settle::{AuthorFile, ChangedError, RecordedOffers, author_file, with_recorded_agents};
use crate::contract::{ContractFactory, ContractSpec, ExecutionContract, TargetCapability};
use crate::message::TokenCounters;

/// A file that gives a recorded contract again, and what bring-up found of its models.
#[derive(Debug)]
pub struct AuthorForm<'r> {
    found: Vec<TargetCapability>,
    name: String,
    recorded: &'r ExecutionContract,
    text: String,
}

/// A recorded contract with changes.
#[derive(Debug)]
pub struct Changed {
    pub contract: ExecutionContract,
    /// Servers that the recorded contract does not have so; sorted. They count as unavailable.
    pub unknown_servers: Vec<String>,
}

impl<'r> AuthorForm<'r> {
    /// The form of a recorded contract. `name` is what messages call it, `task` what the run was to do.
    ///
    /// # Errors
    /// [`ChangedError`] where this version makes no such contract.
    pub fn of(
        recorded: &'r ExecutionContract,
        name: &str,
        task: Option<&str>,
    ) -> Result<Self, ChangedError> {
        let AuthorFile { file, found } = author_file(recorded, name, task)?;
        Ok(Self {
            found,
            name: name.to_owned(),
            recorded,
            text: file.text(),
        })
    }

    /// The contract with changes, each `a.b=value` as of a contract file. No server is started: one that is reached as in the recorded
    /// contract offers what it offered then. What `tokenizers` lacks keeps the recorded counts.
    ///
    /// # Errors
    /// [`ChangedError`], as for a contract file.
    pub fn changed(
        &self,
        sets: &[String],
        tokenizers: &dyn TokenCounters,
    ) -> Result<Changed, ChangedError> {
        let mut spec = ContractSpec::parse(&self.name, &self.text, sets)?;
        // No key of a file names it, so no change does.
        spec.agent.clone_from(&self.recorded.agent);
        with_recorded_agents(&mut spec, self.recorded);
        let mut draft = ContractFactory::draft(&spec, &self.found_for(&spec))?;
        draft.decide(spec.task.as_deref())?;
        let offers = RecordedOffers::of(&draft.servers, self.recorded);
        let parent = self.recorded.parent_contract_hash;
        let contract = draft.complete(&offers.offered, parent, tokenizers)?;
        Ok(Changed {
            contract: contract.counted_as(self.recorded),
            unknown_servers: offers.unknown.into_iter().collect(),
        })
    }

    /// Returns what is known of each target's model; nothing for a model that is not the recorded target's.
    fn found_for(&self, spec: &ContractSpec) -> Vec<TargetCapability> {
        let known = self.recorded.targets.iter().zip(&self.found);
        let same = spec
            .targets
            .iter()
            .zip(known)
            .map(|(target, (was, found))| {
                let provider = spec.providers.get(&target.provider);
                let before = self.recorded.providers.get(&was.provider);
                let alike = target.provider == was.provider
                    && target.model == was.model
                    && provider.map(|p| (p.provider_type, p.file.as_ref()))
                        == before.map(|p| (p.provider_type, p.file.as_ref()));
                if alike {
                    found.clone()
                } else {
                    TargetCapability::default()
                }
            });
        same.collect()
    }
}
