//! The agents that are registered: a file of the state folder for each, with the path and the hash of its profile.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::contract_file::ContractFile;
use crate::contract_file::agent::ChosenAgent;
use crate::error::ServiceError;
use crate::error::agent::AgentFault;
use crate::error::system::SystemFault;
use crate::service::Service;
use monolith_core::agent::{self, Registry, RegistryFault, Selection};
use monolith_core::contract::{AgentId, AgentProfile, suggest};
use monolith_core::message::Digest;
use monolith_host::store::{NewFile, open_regular, private_folder};

/// The `--agent` value that picks the agent for the task.
pub const AUTO: &str = "auto";
/// The folder, in the state folder.
const FOLDER: &str = "agents";
/// The suffix of an agent's file.
const ENDING: &str = ".json";
/// The format of such a file.
const FORMAT: &str = "monolith-agent/1";
/// Maximum bytes read of one file.
const MOST_BYTES: u64 = 64 << 10;
/// Maximum number of agents read.
const MOST_AGENTS: usize = 4_096;

/// Selects among the agents of a registry. Logs each sum of signals outside of 0 to 1 (INV-AGT-SEL-002).
#[must_use]
pub fn select(task: &str, registry: &Registry) -> Selection {
    let selection = agent::select(task, registry);
    let scores = selection.scores.iter().chain(&selection.unfit);
    for score in scores.filter(|score| score.is_clamped()) {
        tracing::error!(
            agent = score.agent.as_str(),
            confidence = %score.confidence,
            sum_hundredths = score.sum(),
            "the sum of the signals is not from 0 to 1"
        );
    }
    selection
}

/// The file of an agent.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    blake3: Digest,
    format: String,
    id: AgentId,
    path: PathBuf,
}

/// An agent that is registered.
#[derive(Debug)]
pub struct RegisteredAgent {
    /// The digest of its profile at registration.
    pub digest: Digest,
    /// Id of the agent.
    pub id: AgentId,
    /// Path of the file.
    pub path: PathBuf,
    /// Profile as it is now.
    pub profile: ProfileNow,
}

/// The current state of an agent's profile.
#[derive(Debug)]
pub enum ProfileNow {
    /// It is the one that was registered.
    AsRegistered(Box<AgentProfile>),
    /// It is another one.
    Changed,
    /// It is not there, or not valid here.
    Unusable(String),
}

impl ProfileNow {
    fn can_run(&self) -> bool {
        matches!(self, Self::AsRegistered(profile) if profile.enabled)
    }
}

/// The agents that are registered, in the order of their ids.
#[derive(Debug)]
pub struct Agents {
    all: Vec<RegisteredAgent>,
    folder: PathBuf,
}

impl Agents {
    /// Reads every agent and its profile.
    pub fn of(service: &Service) -> Result<Self, ServiceError> {
        let folder = service.own_state()?.join(FOLDER);
        let mut all = Vec::new();
        for path in records_in(&folder)? {
            let record = read_record(&path)?;
            let profile = now(service, &record);
            all.push(RegisteredAgent {
                digest: record.blake3,
                id: record.id,
                path: record.path,
                profile,
            });
        }
        all.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Self { all, folder })
    }

    /// Each of them.
    pub fn all(&self) -> &[RegisteredAgent] {
        &self.all
    }

    /// Returns the agents whose profile is as it was registered.
    pub fn registry(&self) -> Registry {
        let mut registry = Registry::default();
        for agent in &self.all {
            if let ProfileNow::AsRegistered(profile) = &agent.profile {
                // Two files of one name there are not.
                let _ = registry.create((**profile).clone());
            }
        }
        registry
    }

    /// Registers the profile of a file, whole and valid: a new id, or with `update` one that is there. Two processes that add the same id
    /// at once do not both succeed.
    pub fn add(
        &self,
        service: &Service,
        (path, profile): (&Path, &AgentProfile),
        update: bool,
    ) -> Result<(), ServiceError> {
        let id = &profile.id;
        if id.as_str() == AUTO {
            return Err(AgentFault::Reserved { id: id.clone() }.into());
        }
        service.ready_state()?;
        let place = self.record_of(id);
        let cannot = |fault: io::Error| SystemFault::CannotWrite {
            path: place.clone(),
            reason: fault.to_string(),
        };
        private_folder(&self.folder).map_err(cannot)?;
        if update && !place.exists() {
            let id = id.clone();
            return Err(AgentFault::Registry(RegistryFault::Unknown { id }).into());
        }
        let record = Record {
            blake3: profile.digest,
            format: FORMAT.to_owned(),
            id: id.clone(),
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        };
        let text = serde_json::to_string(&record).map_err(io::Error::from)?;
        let write = || {
            let mut new = NewFile::private(&place)?;
            new.file().write_all(format!("{text}\n").as_bytes())?;
            if update {
                new.replace()
            } else {
                new.take_name()
            }
        };
        match write() {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                let (fault, path) = (RegistryFault::Duplicate { id: id.clone() }, path.to_owned());
                Err(AgentFault::Registered { fault, path }.into())
            }
            written => Ok(written.map_err(cannot)?),
        }
    }

    /// Removes an agent. Its profile stays where it is.
    pub fn remove(&self, id: &AgentId) -> Result<(), ServiceError> {
        let path = self.record_of(id);
        match fs::remove_file(&path) {
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Err(self.unknown(id).into()),
            removed => Ok(removed.map_err(|fault| SystemFault::CannotWrite {
                path,
                reason: fault.to_string(),
            })?),
        }
    }

    /// The contract file of an agent, which must be as it was registered.
    pub fn contract_file(
        &self,
        service: &Service,
        chosen: &ChosenAgent,
        sets: Vec<String>,
    ) -> Result<ContractFile, ServiceError> {
        let id = chosen.id.clone();
        let agent = self.all.iter().find(|agent| agent.id == id);
        // What was selected where no agent fits is always there (INV-AGT-SEL-004): the built-in one, where the registered one cannot be run.
        let agent = agent.filter(|agent| chosen.selection.is_none() || agent.profile.can_run());
        let Some(agent) = agent else {
            if id.as_str() == AgentProfile::STANDARD {
                return ContractFile::standard_agent(service, sets).of_agent(chosen);
            }
            return Err(self.unknown(&id).into());
        };
        let path = agent.path.clone();
        match &agent.profile {
            ProfileNow::AsRegistered(profile) if profile.enabled => {
                ContractFile::given(service, path, sets).of_agent(chosen)
            }
            ProfileNow::AsRegistered(_) => Err(AgentFault::Disabled { id }.into()),
            ProfileNow::Changed => Err(AgentFault::Changed { id, path }.into()),
            ProfileNow::Unusable(reason) => {
                let reason = reason.clone();
                Err(AgentFault::Unusable { id, reason }.into())
            }
        }
    }

    /// Returns the error for an unknown id.
    pub fn unknown(&self, id: &AgentId) -> AgentFault {
        let ids = self.all.iter().map(|agent| agent.id.as_str());
        AgentFault::Unknown {
            meant: suggest(id.as_str(), ids),
            id: id.clone(),
        }
    }

    fn record_of(&self, id: &AgentId) -> PathBuf {
        self.folder.join(format!("{id}{ENDING}"))
    }
}

/// An id as the caller writes it.
pub fn agent_id(text: &str) -> Result<AgentId, ServiceError> {
    AgentId::try_from(text.to_owned()).map_err(|fault| {
        let got = text.chars().take(80).collect();
        let rule = fault.to_string();
        AgentFault::NotAnId { got, rule }.into()
    })
}

/// The profile of an agent as it is now.
fn now(service: &Service, record: &Record) -> ProfileNow {
    let file = ContractFile::given(service, record.path.clone(), Vec::new());
    match file.profile(service) {
        Ok(profile) if profile.digest == record.blake3 && profile.id == record.id => {
            ProfileNow::AsRegistered(Box::new(profile))
        }
        Ok(_) => ProfileNow::Changed,
        Err(fault) => ProfileNow::Unusable(fault.summary()),
    }
}

/// The files of agents; empty if none was ever registered.
fn records_in(folder: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let unreadable = |fault: io::Error| unreadable(folder, fault.to_string());
    let entries = match fs::read_dir(folder) {
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // What is being written has another ending.
        if name.ends_with(ENDING) {
            found.push(path);
        }
    }
    if found.len() > MOST_AGENTS {
        let reason = format!(
            "it has {} agents, and {MOST_AGENTS} are the most",
            found.len()
        );
        return Err(self::unreadable(folder, reason));
    }
    Ok(found)
}

fn read_record(path: &Path) -> Result<Record, ServiceError> {
    let refuse = |reason: String| unreadable(path, reason);
    let mut text = String::new();
    open_regular(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
        .map_err(|fault| refuse(fault.to_string()))?;
    let record: Record = serde_json::from_str(&text).map_err(|fault| refuse(fault.to_string()))?;
    let stem = path.file_name().and_then(|name| name.to_str());
    let stem = stem.and_then(|name| name.strip_suffix(ENDING));
    if record.format != FORMAT || stem != Some(record.id.as_str()) {
        return Err(refuse(format!("it is not an agent of the format {FORMAT}")));
    }
    Ok(record)
}

fn unreadable(path: &Path, reason: String) -> ServiceError {
    let path = path.to_owned();
    AgentFault::Unreadable { path, reason }.into()
}
