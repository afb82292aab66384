//! The arguments of `monolith log`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Print the root over all ended runs
    Root(LogRootArgs),
    /// Print the proof that a run is in the log
    Prove(LogProveArgs),
    /// Print the proof that the log has only grown
    Consistency(LogConsistencyArgs),
    /// Compare the log with the runs of the store
    ///
    /// And with heads that were noted earlier.
    Verify(LogVerifyArgs),
    /// Check a printed proof; needs no store
    ///
    /// It is one that `prove` or `consistency` printed.
    Check(LogCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LogRootArgs {
    /// Print one JSON document
    #[arg(long, conflicts_with = "note")]
    pub(crate) json: bool,
    /// Print the signed note alone
    ///
    /// To be kept elsewhere, or signed by a witness.
    #[arg(long)]
    pub(crate) note: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogProveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct LogConsistencyArgs {
    /// How many runs the log had
    #[arg(value_name = "OLD_SIZE")]
    pub(crate) old_size: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogVerifyArgs {
    /// A key that must have signed it, or a file
    ///
    /// A public key that must have signed every deletion, or a file of keys and rotations. By default they are this machine's
    /// own keys.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// A file of heads noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogCheckArgs {
    /// What `log prove` or `log consistency` printed
    #[arg(value_name = "PROOF-FILE")]
    pub(crate) proof: PathBuf,
    /// A file of heads noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// A key that must have signed it, or a file
    ///
    /// A public key that must have signed the head of the log, or a file of keys and rotations. By default they are this
    /// machine's own keys.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
