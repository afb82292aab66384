//! The arguments of `monolith migrate`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// Only say whether this file can be read
    ///
    /// A transcript or a contract, not a store. Without FILE the store is migrated.
    #[arg(value_name = "FILE", conflicts_with_all = ["list", "to"])]
    pub(crate) file: Option<PathBuf>,
    /// Print the formats that this build knows
    #[arg(long)]
    pub(crate) list: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format to go to; else the newest
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<i32>,
}
