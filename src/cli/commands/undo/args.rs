//! The arguments of `monolith undo`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct UndoArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}
