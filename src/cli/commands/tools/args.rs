//! The arguments of `monolith tools`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// The contract file (else agent.yaml)
    ///
    /// YAML or JSON; by default agent.yaml or agent.yml of this folder. Its tool servers are started.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// Change a value of the file by its dotted key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Print the whole schema of the arguments
    #[arg(long)]
    pub(crate) schemas: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
