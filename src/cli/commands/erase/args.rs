//! The arguments of `monolith erase`.

use clap::Args;

use crate::cli::commands::values::reason;

#[derive(Debug, Args)]
pub(in crate::cli) struct EraseArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// The hash of the bytes, or its beginning
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) blob: String,
    /// Why; the signed note that stays says it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(in crate::cli) reason: String,
    /// Erase the bytes from every run that uses them
    #[arg(long)]
    pub(in crate::cli) all_runs: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::cli) yes: bool,
}
