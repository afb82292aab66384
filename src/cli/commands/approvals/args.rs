//! The arguments of `monolith approvals`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct ApprovalsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
