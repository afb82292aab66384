//! The arguments of `monolith resume`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::drive::{LeavingArgs, RecordingArgs};
use crate::commands::many::LimitArgs;

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all")]
    pub(crate) run: Option<String>,
    /// Every run without an end; a result line for each
    ///
    /// Runs of the store that have no end and that no process drives, each with one result line as it ends.
    #[arg(long, conflicts_with_all = ["run", "contract", "pins", "verbose"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The contract file, if it is elsewhere now
    ///
    /// It has what a contract does not hold: keys, headers, variables. By default it is the one that the run was begun with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Give again a value that is not recorded
    ///
    /// A run goes on under the contract that it was begun with: a change of that, such as max_turns=3, is refused. What a contract
    /// does not hold may differ, such as the value of a header: providers.NAME.headers.x-team=a. It may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// A file of heads that were noted earlier: a run that has fewer entries, or others, is not gone on with
    #[arg(hide_short_help = true, long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}
