//! The arguments of `monolith agent`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// List the registered agents, and what has become of their files
    List(ListAgentsArgs),
    /// Print an agent as JSON: its profile, and what has become of its file
    Show(ShowAgentArgs),
    /// Judge the profile of a file without registering it
    Validate(ValidateAgentArgs),
    /// Register the agent of a file, as it is now
    ///
    /// A profile (.agent.yaml, .agent.yml, .agent.json) or a .ai file. It must be valid as a whole, and its id must be new; --update takes it
    /// in the place of the one of that id. The file stays where it is: once it has changed, `agent add --update` takes it as it is now.
    Add(AddAgentArgs),
    /// Remove an agent from the registry; its file stays
    Remove(RemoveAgentArgs),
    /// Which agent is for a task
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
    /// The profile, or a .ai file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AddAgentArgs {
    /// The profile, or a .ai file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Take it in the place of the agent of that id
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
    /// Show every score with what it is made of
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
