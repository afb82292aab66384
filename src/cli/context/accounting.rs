//! The options that say what is reported of a run beside its result.

use std::path::PathBuf;

use clap::Args;

/// What a command that drives a run tells beside its result.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct AccountingArgs {
    /// Add a line for each request and each call to this file, instead of accounting.jsonl in the state folder
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(in crate::cli) billing_file: Option<PathBuf>,
    /// Write every step to stderr, also in a pipe
    ///
    /// Each request, call and transition, the exit tag and a summary.
    #[arg(long)]
    pub(in crate::cli) verbose: bool,
    /// Write only the answer, or the error
    #[arg(long, conflicts_with = "verbose")]
    pub(in crate::cli) quiet: bool,
    #[command(flatten)]
    pub(in crate::cli) kept: KeptArgs,
}

/// What is kept of a run beside its record, once it has ended.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct KeptArgs {
    /// Write the conversation of a run that succeeded to this file, as a JSON array
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(in crate::cli) save: Option<PathBuf>,
    /// The same into a folder below this one that has the run's name
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub(in crate::cli) save_all: Option<PathBuf>,
    /// Write a snapshot of the session into this folder, as RUN.json.gz
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub(in crate::cli) sessions_dir: Option<PathBuf>,
    /// Print the tree of turns, requests and calls at the end, on stderr
    #[arg(long, hide_short_help = true)]
    pub(in crate::cli) show_tree: bool,
}
