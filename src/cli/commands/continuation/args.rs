//! The arguments of `monolith continue`.

use std::path::PathBuf;

use clap::Args;

use crate::commands::drive::{LeavingArgs, RecordingArgs};
use crate::commands::run::FrontArgs;
use crate::commands::values::run_id;
use crate::context::knobs::KnobArgs;
use monolith_core::message::RunId;

#[derive(Debug, Args)]
#[command(
    after_help = "What it takes over: monolith continue --help",
    after_long_help = "The new run begins with the conversation of the ended one and your message. It has budgets and a proof of its \
own. Its contract is made again from the file that the run was begun with, with the changes that you give; a file that has changed \
is refused."
)]
pub(crate) struct ContinueArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What you say now, @FILE, or - for standard input
    ///
    /// Where nothing is given it is read from standard input.
    #[arg(value_name = "MESSAGE")]
    pub(crate) message: Option<String>,
    /// The same as an option: the text, @FILE, or - for standard input
    #[arg(
        long,
        hide_short_help = true,
        value_name = "TEXT|@FILE|-",
        conflicts_with = "message"
    )]
    pub(crate) task: Option<String>,
    /// Continue under this contract file instead
    ///
    /// The file is taken as it is now, whatever the run was begun with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// It comes after the changes that the run was begun with, and may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    /// As `contract check --start-servers`: ask no model
    #[arg(long, hide_short_help = true, conflicts_with = "run_id")]
    pub(crate) dry_run: bool,
    /// Of `run` alone: a run that is continued has a conversation
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) load: Option<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// The new run's name; a random one by default
    #[arg(long, hide_short_help = true, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<RunId>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}
