//! The arguments of `monolith approvals`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
