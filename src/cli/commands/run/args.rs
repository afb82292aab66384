//! The arguments of `monolith run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::front::FrontArgs;
use crate::commands::drive::{LeavingArgs, RecordingArgs};
use crate::commands::many::LimitArgs;
use crate::commands::values::run_id;
use crate::context::knobs::{KnobArgs, listed_knobs};
use monolith_core::message::RunId;

/// What the runs of `--contracts` are.
const MANY: &str = "Many runs: a folder, or a list\n\n\
A folder's .yaml, .yml and .json files; or each line of a file, or of standard input (-): {\"contract\": FILE, \"task\"?, \"run_id\"?, \
\"set\"?: [KEY=VALUE]}. One result line for each run as it ends: JSON in a pipe, a short line on a terminal. Ctrl-C ends the open runs for good, \
SIGTERM suspends them.";

/// Which agent is run, and what is changed of it.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// A registered agent by its id; auto: by the task
    #[arg(long, value_name = "ID|auto", hide_short_help = true, conflicts_with_all = ["contract", "contracts"])]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
    /// As `contract check --start-servers`: ask no model
    #[arg(long, hide_short_help = true, conflicts_with_all = ["contracts", "run_id"])]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = listed_knobs())]
pub(crate) struct RunArgs {
    /// A contract file, a task, or both (else agent.yaml)
    ///
    /// A contract is a .yaml, .yml, .json or .ai file; without one it is agent.yaml or agent.yml of this folder. Relative paths in it
    /// begin in its folder. @FILE is the text of a file, - that of standard input. Two texts are a system prompt and the task; --models names
    /// what is asked. Such a prompt is text, without front matter; it may include
    /// files below its folder where it is not piped in.
    #[arg(value_name = "FILE|TASK", num_args = 0..=2)]
    pub(crate) given: Vec<OsString>,
    /// The contract file, whatever its name is
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value by its dotted key: max_turns=3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// What to do, instead of the task in the file
    ///
    /// The text, @FILE for the text of a file, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    /// Begin with a conversation that --save wrote
    ///
    /// A JSON array of messages; the task comes after them. `continue` goes on under the record of a run instead.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "contracts"
    )]
    pub(crate) load: Option<PathBuf>,
    /// Print the result as one JSON document
    ///
    /// With --contracts one a line; in a pipe that is always so.
    #[arg(long)]
    pub(crate) json: bool,
    /// The run's name; a random one by default
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<RunId>,
    /// Many runs: a folder, or a list (see --help)
    #[arg(long, value_name = "DIR|LIST|-", long_help = MANY, conflicts_with_all = ["given", "contract", "run_id", "save", "verbose", "models", "tools", "overrides", "format"])]
    pub(crate) contracts: Option<PathBuf>,
    /// Of many runs: begin at this line, or file
    #[arg(long, value_name = "LINE|FILE", requires = "contracts", conflicts_with_all = ["given", "contract"])]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}
