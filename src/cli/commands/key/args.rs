//! The arguments of `monolith key`.

use clap::{Args, Subcommand};

use monolith_service::keys::LOCAL_KEY;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key, and print its public half
    Generate(KeyArgs),
    /// Print the public half of a key
    Show(KeyArgs),
    /// Replace a key, and print what proves it
    ///
    /// It prints the new public half, and the record that the old key signed.
    Rotate(KeyArgs),
    /// Print what a run records for a secret on stdin
    ///
    /// The value that is read from standard input is secret; this is what stands in its place in the run's transcript.
    Commitment(CommitmentArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CommitmentArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The key's name
    #[arg(value_name = "NAME", default_value = LOCAL_KEY)]
    pub(crate) name: String,
}
