//! The arguments of `monolith migrate`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArgs {
    /// A transcript or a contract (not a store): only say whether this build reads its version; without FILE the store is migrated
    #[arg(value_name = "FILE", conflicts_with_all = ["list", "to"])]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Print every format and the versions of it that this build knows
    #[arg(long)]
    pub(in crate::cli) list: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// The format to migrate the store to; the newest by default
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::cli) to: Option<i32>,
}
