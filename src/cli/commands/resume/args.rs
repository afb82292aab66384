//! The arguments of `monolith resume`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::drive::{LeavingArgs, RecordingArgs};
use crate::cli::commands::many::LimitArgs;

#[derive(Debug, Args)]
pub(in crate::cli) struct ResumeArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all")]
    pub(in crate::cli) run: Option<String>,
    /// Every run of the store that has no end and that no process drives; one result line for each
    #[arg(long, conflicts_with_all = ["run", "contract", "pins", "verbose"])]
    pub(in crate::cli) all: bool,
    #[command(flatten)]
    pub(in crate::cli) limits: LimitArgs,
    /// The contract file, for what a contract does not hold: keys, headers, variables; by default the one that the run was
    /// begun with
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) contract: Option<PathBuf>,
    /// Change a value of the file, after the changes that the run was begun with; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) sets: Vec<String>,
    /// A file of heads that were noted earlier: a run that has fewer entries, or others, is not gone on with
    #[arg(long = "pin", value_name = "FILE")]
    pub(in crate::cli) pins: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) recording: RecordingArgs,
    #[command(flatten)]
    pub(in crate::cli) leaving: LeavingArgs,
}
