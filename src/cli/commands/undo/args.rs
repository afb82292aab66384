//! The arguments of `monolith undo`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
