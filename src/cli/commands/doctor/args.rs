//! The arguments of `monolith doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::context::places::PlacesArgs;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Also look at what this contract needs
    ///
    /// Its checks and its tool servers, which are started and stopped again.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value of it, such as max_turns=3
    ///
    /// It may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "contract")]
    pub(crate) sets: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: PlacesArgs,
}
