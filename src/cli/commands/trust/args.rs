//! The arguments of `monolith trust`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The contract, agent, workflow or layer (else agent.yaml)
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// List what is trusted
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    pub(crate) list: bool,
    /// Trust the file no longer
    #[arg(long)]
    pub(crate) remove: bool,
}
