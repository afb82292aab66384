//! The contract files of agents that a contract file may delegate to: each is read as a command reads its own. Runs none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::agent::Placeholders;
use crate::as_typed::as_typed;
use crate::contract_file::known::Reading;
use crate::contract_file::trust::Trust;
use crate::contract_file::{ContractFile, paths_of};
use crate::error::ServiceError;
use crate::error::agent::AgentFault;
use crate::service::Service;
use crate::trust::AgentBelow;
use monolith_core::contract::{
    AGENT_SET, AgentDefinition, ContractSpec, FORMAT, KNOBS, PROMPT_SET,
};
use monolith_core::message::Digest;
use monolith_host::driver::ParentFile;
use monolith_host::store::Invocation;

/// Maximum number of agent files below one file.
const MOST_BELOW: usize = 256;
/// Keys of front matter that an override changes for every agent, beside the [`KNOBS`] (001 §8).
const OF_EVERY_AGENT: [&str; 2] = ["models", "tools"];

impl ContractFile {
    /// Reads the definition of an agent whose file this one names.
    pub(super) fn definition(
        &self,
        service: &Service,
        file: &str,
    ) -> Result<Option<AgentDefinition>, Vec<String>> {
        if self.reading == Reading::Definition {
            return Ok(None);
        }
        let delegate = Self {
            reading: Reading::Definition,
            ..self.delegate(file)
        };
        if delegate.is_workflow() {
            let name = delegate.name.display();
            return Err(vec![format!(
                "{name} is a workflow, and agents are contract files, `.ai` files and profiles"
            )]);
        }
        let read = || {
            let spec = delegate.read(service)?;
            let below = delegate.digests_below(service, &spec)?;
            Ok(AgentDefinition::of(&spec, below))
        };
        read().map_err(|fault| faults_of(&fault))
    }

    /// The digests of the agents below this one, by their files as they are found from its folder: what a caller holds them to.
    pub(crate) fn digests_below(
        &self,
        service: &Service,
        spec: &ContractSpec,
    ) -> Result<BTreeMap<String, Digest>, ServiceError> {
        // One that cannot be read is its caller's fault, and is named there; it cannot be called as long as it has no digest.
        let readable = self.readable_below(service, spec)?;
        let below = readable.into_iter().map(|agent| {
            let path = agent.path.strip_prefix(self.folder());
            let path = path.unwrap_or(&agent.path);
            (path.display().to_string(), agent.digest)
        });
        Ok(below.collect())
    }

    /// The files of agents below this one, each once: those that it names, those that they name, and so on. `spec` is what it says.
    pub fn agents_below(
        &self,
        service: &Service,
        spec: &ContractSpec,
    ) -> Result<Vec<AgentBelow>, ServiceError> {
        self.walk_below(service, spec, Err)
    }

    /// The same without those that cannot be read.
    pub(super) fn readable_below(
        &self,
        service: &Service,
        spec: &ContractSpec,
    ) -> Result<Vec<AgentBelow>, ServiceError> {
        self.walk_below(service, spec, |_| Ok(()))
    }

    /// Walks those files; `fault` gets the error of a file, and ends the walk or continues without that file.
    fn walk_below(
        &self,
        service: &Service,
        spec: &ContractSpec,
        fault: impl Fn(ServiceError) -> Result<(), ServiceError>,
    ) -> Result<Vec<AgentBelow>, ServiceError> {
        let mut found: Vec<AgentBelow> = Vec::new();
        let named = |file: &Self, spec: &ContractSpec| {
            let files = spec.agents.iter().map(|agent| file.delegate(&agent.file));
            files.collect::<Vec<_>>()
        };
        let mut seen = BTreeSet::from([settled(&self.path)]);
        let mut open = named(self, spec);
        while let Some(file) = open.pop() {
            if !seen.insert(settled(&file.path)) {
                continue;
            }
            if seen.len() > MOST_BELOW {
                let path = self.name.clone();
                return Err(AgentFault::TooManyBelow {
                    path,
                    most: MOST_BELOW,
                }
                .into());
            }
            let read = || {
                let text = file.text()?;
                let spec = file.parse(service, &text)?;
                Ok((spec, file.digest_of(&text)?, file.sources(&text), text))
            };
            let (spec, digest, sources, text) = match read() {
                Ok(read) => read,
                Err(unreadable) => {
                    fault(unreadable)?;
                    continue;
                }
            };
            open.extend(named(&file, &spec));
            found.push(AgentBelow {
                digest,
                folder: file.folder().to_owned(),
                name: file.name,
                path: file.path,
                sources,
                spec,
                text,
            });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Returns the file of an agent that this one names. It is read for the same caller: with the layers of both folders, the
    /// same placeholder values, and the overrides that are for every agent (001 §8).
    pub(crate) fn delegate(&self, file: &str) -> Self {
        let sets = self.sets.iter().filter(|set| is_for_every_agent(set));
        Self {
            base_dir: self.base_dir.clone(),
            config: self.config.clone(),
            is_found: self.is_found,
            is_recorded: false,
            name: self.name.parent().unwrap_or(&self.name).join(file),
            path: self.folder().join(file),
            placeholders: self.placeholders.clone().for_agent(),
            prompt: None,
            // The agents of a file that is read for its definition alone are read so, too.
            reading: match self.reading {
                Reading::Definition => Reading::Definition,
                Reading::Command | Reading::Delegate => Reading::Delegate,
            },
            recorded: self.recorded.clone(),
            sets: sets.cloned().collect(),
            trust: Trust::Judged,
        }
    }

    /// The file of an agent that the contract file of a run names.
    pub(crate) fn delegate_of(service: &Service, parent: &ParentFile, file: &str) -> Self {
        let begun = parent.invocation.clone().unwrap_or_else(|| Invocation {
            base_dir: service.cwd.clone(),
            config: service.named_config(),
            contract_file: parent.folder.clone(),
            files: None,
            sets: Vec::new(),
        });
        let recorded = begun.files.as_deref().map(paths_of);
        let trust = begun.files.map_or(Trust::Judged, Trust::Among);
        let sets = begun.sets.iter().filter(|set| is_for_every_agent(set));
        let path = parent.path_of(file);
        Self {
            base_dir: begun.base_dir.clone(),
            config: begun.config.clone(),
            is_found: false,
            is_recorded: false,
            name: path.clone(),
            path,
            placeholders: Placeholders::now().for_agent(),
            prompt: None,
            reading: Reading::Delegate,
            recorded,
            sets: sets.cloned().collect(),
            trust,
        }
    }

    /// The file of an agent's run that was begun so.
    pub(crate) fn of_delegated_run(service: &Service, begun: Invocation) -> Option<Self> {
        let file = Self::of_run(service, Some(begun), None, Vec::new())?;
        Some(Self {
            placeholders: Placeholders::now().for_agent(),
            reading: Reading::Delegate,
            ..file
        })
    }
}

/// True if an override of one agent's file also applies to every agent below it. The form of the report applies to each file
/// alone.
fn is_for_every_agent(set: &str) -> bool {
    let key = set.split_once('=').map_or(set, |(key, _)| key);
    if let Some(name) = key.strip_prefix(PROMPT_SET) {
        return name != FORMAT;
    }
    key.strip_prefix(AGENT_SET).is_some_and(|key| {
        let first = key.split('.').next().unwrap_or(key);
        OF_EVERY_AGENT.contains(&first) || KNOBS.iter().any(|(knob, _)| *knob == first)
    })
}

/// Everything that is wrong with an agent's file, each with its place there.
fn faults_of(fault: &ServiceError) -> Vec<String> {
    let ServiceError::Spec(errors) = fault else {
        return vec![fault.summary()];
    };
    let lines = errors.errors.iter().map(|error| {
        let place = match &error.set {
            Some(set) => as_typed(set),
            None => format!("{}:{}:{}", errors.file, error.line, error.column),
        };
        let path = if error.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", error.path)
        };
        let help = error.help.as_ref();
        let help = help.map_or_else(String::new, |help| format!(" ({help})"));
        format!("{place}: {path}{}{help}", error.rule)
    });
    lines.collect()
}

/// The path as every way to the file comes to it.
fn settled(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
