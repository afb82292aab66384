//! The arguments of `monolith doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::context::places::PlacesArgs;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also check what this contract needs
    ///
    /// Runs its checks, and starts and stops its tool servers.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value of it, such as max_turns=3
    ///
    /// May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "contract")]
    pub(crate) sets: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: PlacesArgs,
}
