//! The arguments of `monolith doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::context::found::Places;

#[derive(Debug, Args)]
pub(in crate::cli) struct DoctorArgs {
    /// Also look at what this contract needs
    ///
    /// Its checks and its tool servers, which are started and stopped again.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) contract: Option<PathBuf>,
    /// Change a value of it, such as max_turns=3
    ///
    /// It may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "contract")]
    pub(in crate::cli) sets: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) places: Places,
}
