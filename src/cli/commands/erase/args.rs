//! The arguments of `monolith erase`.

use clap::Args;

use crate::commands::values::reason;

#[derive(Debug, Args)]
pub(crate) struct EraseArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The hash of the bytes, or its beginning
    #[arg(long, value_name = "HASH")]
    pub(crate) blob: String,
    /// Why; the signed note that stays says it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(crate) reason: String,
    /// Erase the bytes from every run that uses them
    #[arg(long)]
    pub(crate) all_runs: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
