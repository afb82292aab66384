//! The arguments of `monolith profile`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the shipped profiles
    ///
    /// In the order in which they are matched.
    List(ListProfilesArgs),
    /// Print a profile as JSON
    ///
    /// As it is shipped, and as `model_profiles` of a contract takes it.
    Show(ShowProfileArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListProfilesArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowProfileArgs {
    /// The profile's id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
