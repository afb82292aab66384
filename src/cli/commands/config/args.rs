//! The arguments of `monolith config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print what .ai-agent.json says here, all files together
    ///
    /// As one JSON document, as it is written: placeholders stay, and secrets are masked.
    Show(ShowConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowConfigArgs {
    /// The contract or agent beside which it is looked for, too
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print each key with the file that it is from
    #[arg(long)]
    pub(crate) origin: bool,
}
