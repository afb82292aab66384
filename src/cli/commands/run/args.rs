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

/// Help of the option `--contracts`.
const MANY: &str = "Many runs: a folder or a list of contracts\n\n\
The .yaml, .yml and .json files of a folder, or each line of a file or of standard input (-): {\"contract\": FILE, \"task\"?, \"run_id\"?, \
\"set\"?: [KEY=VALUE]}. Each run prints one result line when it ends: JSON in a pipe, a short line on a terminal. Ctrl-C ends the open runs \
for good; SIGTERM suspends them.";

/// The agent to run, and changes to it.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Run an agent file, a registered agent, or auto to select one
    #[arg(long, value_name = "FILE|ID|auto", hide_short_help = true, conflicts_with_all = ["contract", "contracts"])]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) front: FrontArgs,
    /// Only check, like `contract check --start-servers`; ask no model
    #[arg(long, hide_short_help = true, conflicts_with_all = ["contracts", "run_id"])]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(after_long_help = listed_knobs())]
pub(crate) struct RunArgs {
    /// A contract file, a task, or both (default: agent.yaml)
    ///
    /// A contract is a .yaml, .yml, .json or .ai file. Without one, monolith uses agent.yaml, else agent.yml, in the current
    /// folder. Relative paths in a contract start in its folder. @FILE is the text of a file, and - is standard input. Two
    /// texts are a system prompt and a task; --models names the models. Such a prompt is text without front matter. Unless it
    /// is piped in, it may include files below its folder.
    #[arg(value_name = "FILE|TASK", num_args = 0..=2)]
    pub(crate) given: Vec<OsString>,
    /// The contract file, whatever its extension
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Change a value by its dotted key: max_turns=3
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// The task, instead of the one in the file
    ///
    /// Text, @FILE for the text of a file, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) knobs: KnobArgs,
    /// Start from a conversation saved with --save
    ///
    /// A JSON array of messages; the task follows them. To continue a recorded run, use `monolith continue`.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        conflicts_with = "contracts"
    )]
    pub(crate) load: Option<PathBuf>,
    /// Print the result as one JSON document
    ///
    /// With --contracts, one per line; this is the default in a pipe.
    #[arg(long)]
    pub(crate) json: bool,
    /// Name of the run (default: random)
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<RunId>,
    /// Many runs: a folder or a list (see --help)
    #[arg(long, value_name = "DIR|LIST|-", long_help = MANY, conflicts_with_all = ["given", "contract", "run_id", "save", "verbose", "models", "tools", "overrides", "format"])]
    pub(crate) contracts: Option<PathBuf>,
    /// Many runs: start at this line or file
    #[arg(long, value_name = "LINE|FILE", requires = "contracts", conflicts_with_all = ["given", "contract"])]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) leaving: LeavingArgs,
}
