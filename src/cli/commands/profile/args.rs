//! The arguments of `monolith profile`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List the built-in profiles
    ///
    /// Lists them in the order in which monolith matches them.
    List(ListProfilesArgs),
    /// Print a profile as JSON
    ///
    /// Prints the form that `model_profiles` of a contract takes.
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
