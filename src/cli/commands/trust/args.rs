//! The arguments of `monolith trust`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct TrustArgs {
    /// The contract, agent, workflow or layer (else agent.yaml)
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: Option<PathBuf>,
    /// List what is trusted
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    pub(in crate::cli) list: bool,
    /// Trust the file no longer
    #[arg(long)]
    pub(in crate::cli) remove: bool,
}
