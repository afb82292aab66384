//! The arguments of `monolith agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List the registered agents and the state of their files
    List(ListAgentsArgs),
    /// Print the profile of an agent and the state of its file as JSON
    Show(ShowAgentArgs),
    /// Validate an agent file without registering it
    Validate(ValidateAgentArgs),
    /// Register an agent file in its current state
    ///
    /// FILE is a profile (.agent.yaml, .agent.yml, .agent.json) or a .ai file. The whole file must be valid, and its id must
    /// be new; with --update, the id must exist. The file stays where it is. After you change it, register it again with
    /// `agent add --update`.
    Add(AddAgentArgs),
    /// Remove an agent from the registry and keep its file
    Remove(RemoveAgentArgs),
    /// Select the best agent for a task
    Select(SelectAgentArgs),
    /// Print the JSON Schema of profiles, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct ListAgentsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowAgentArgs {
    /// The agent's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateAgentArgs {
    /// The profile or .ai file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AddAgentArgs {
    /// The profile or .ai file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Replace the registered agent with the same id
    #[arg(long)]
    pub(crate) update: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveAgentArgs {
    /// The agent's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct SelectAgentArgs {
    /// The task
    #[arg(value_name = "TASK")]
    pub(crate) task: String,
    /// Show every score and its parts
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
