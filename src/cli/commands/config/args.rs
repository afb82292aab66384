//! The arguments of `monolith config`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Print what .ai-agent.json says here, all files together
    ///
    /// As one JSON document, as it is written: placeholders stay, and secrets are masked.
    Show(ShowConfigArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ShowConfigArgs {
    /// The contract or agent beside which it is looked for, too
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Print each key with the file that it is from
    #[arg(long)]
    pub(in crate::cli) origin: bool,
}
