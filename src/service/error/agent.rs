//! Faults of agents, their abilities, and the registry.

use std::path::{Path, PathBuf};

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::{command, typed_word};
use monolith_core::agent::{AbilityFault, RegistryFault};
use monolith_core::contract::AgentId;

/// An agent cannot be run, or the registry cannot be changed so.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// The caller: the registry has one already, or has none.
    #[error("change the registry of agents: {0}")]
    Registry(RegistryFault),
    /// The caller: no agent has that id.
    #[error("find the agent: no agent `{id}` is registered")]
    Unknown {
        id: AgentId,
        /// The one that is, of nearly that id: `did you mean …`.
        meant: Option<String>,
    },
    /// The caller: the text is no id.
    #[error("find the agent `{got}`: {rule}")]
    NotAnId { got: String, rule: String },
    /// The author: `--agent` takes that id for another thing.
    #[error("register the agent `{id}`: `--agent {id}` selects one by the task")]
    Reserved { id: AgentId },
    /// The caller: the profile is not the one that was registered.
    #[error("run the agent `{id}`: {} has changed since it was registered", path.display())]
    Changed { id: AgentId, path: PathBuf },
    /// The caller: an agent of that id is registered already.
    #[error("change the registry of agents: {fault}")]
    Registered { fault: RegistryFault, path: PathBuf },
    /// The author: no run can begin under what the profile says.
    #[error("use the profile {}: {reason}", path.display())]
    NoRun { path: PathBuf, reason: String },
    /// The caller: the profile is not there any more, or is not valid here.
    #[error("run the agent `{id}`: {reason}")]
    Unusable { id: AgentId, reason: String },
    /// The author: the profile says so.
    #[error("run the agent `{id}`: its profile has `enabled: false`")]
    Disabled { id: AgentId },
    /// The author: more files are below it than are read.
    #[error("read the agents of {}: more than {most} files are below it", path.display())]
    TooManyBelow { path: PathBuf, most: usize },
    /// The caller: nothing says for what an agent is to be selected.
    #[error("select an agent: no task given")]
    NoTask,
    /// The caller: the file's name says that it is something else.
    #[error("read the agent {}: it is not a .ai, .agent.yaml, .agent.yml or .agent.json file", path.display())]
    NotAnAgent { path: PathBuf },
    /// The caller: an override that monolith keeps for itself.
    #[error("apply --set {set}: {rule}")]
    Set { rule: String, set: String },
    /// The author: an ability that the profile names is not there.
    #[error("read the ability `{name}` from {}: {reason}", path.display())]
    NoAbility {
        name: AgentId,
        path: PathBuf,
        reason: String,
    },
    /// The author: an ability cannot be used.
    #[error(transparent)]
    Ability(AbilityFault),
    /// The operator: the registry cannot be read.
    #[error("read the registry of agents: {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

impl Advice for AgentFault {
    fn exit(&self) -> Exit {
        match self {
            Self::Unreadable { .. } => Exit::FAILED,
            _ => Exit::USAGE,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Registered { path, .. } => {
                let path = typed_word(&path.display().to_string());
                let update = command(&format!("monolith agent add --update {path}"));
                return Some(format!("{update} takes the new one in its place"));
            }
            Self::Registry(RegistryFault::Duplicate { .. }) => {
                "monolith agent add --update FILE takes the new one in its place"
            }
            Self::Unknown {
                meant: Some(meant), ..
            } => {
                return Some(format!(
                    "{meant} monolith agent list shows what is registered"
                ));
            }
            Self::Registry(RegistryFault::Unknown { .. }) | Self::Unknown { .. } => {
                "monolith agent list shows what is registered; monolith agent add FILE registers one"
            }
            Self::Changed { path, .. } => {
                let path = typed_word(&path.display().to_string());
                let update = command(&format!("monolith agent add --update {path}"));
                return Some(format!("{update} registers it as it is now"));
            }
            Self::Unusable { .. } => "monolith agent list shows what is registered, and how it is",
            Self::NotAnId { got, .. }
                if Path::new(got).extension().is_some_and(|end| end == "ai") =>
            {
                "a file is run by its name, without --agent: monolith run FILE \"task\""
            }
            Self::NotAnId { .. } => "monolith agent list shows the ids",
            Self::Reserved { .. } => "give the profile another id",
            Self::NoTask => "monolith run --agent ID \"task\", or --agent auto \"task\"",
            Self::NoAbility { .. } => {
                "an ability is a text in the folder `abilities` beside the profile"
            }
            Self::Ability(AbilityFault::Budget { .. }) => {
                "raise `abilityTokens` of the profile, or name fewer core abilities"
            }
            Self::Ability(AbilityFault::Form { .. }) => {
                "its head may have `keywords`, a list of names, between two lines `---`"
            }
            Self::Unreadable { .. } => "remove the file, and add its agent again",
            Self::Disabled { .. }
            | Self::NoRun { .. }
            | Self::NotAnAgent { .. }
            | Self::Set { .. }
            | Self::TooManyBelow { .. } => return None,
        };
        Some(text.to_owned())
    }
}
