//! The arguments of `monolith config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the merged settings of all .ai-agent.json files
    ///
    /// Prints one JSON document. Placeholders stay unexpanded, and secrets are masked.
    Show(ShowConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowConfigArgs {
    /// Also look next to this contract or agent
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print each key with the file that sets it
    #[arg(long)]
    pub(crate) origin: bool,
}
