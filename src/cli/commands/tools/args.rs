//! The arguments of `monolith tools`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ToolsArgs {
    /// The contract file (YAML or JSON); agent.yaml or agent.yml of this folder by default. Its tool servers are started
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Change a value of the file, such as max_turns=3; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) sets: Vec<String>,
    /// Print the whole JSON Schema of each tool's arguments
    #[arg(long)]
    pub(in crate::cli) schemas: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
