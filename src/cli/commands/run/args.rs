//! The arguments of `monolith run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::drive::{LeavingArgs, RecordingArgs};
use crate::cli::commands::many::LimitArgs;
use crate::cli::commands::values::run_id;
use crate::message::RunId;

#[derive(Debug, Args)]
pub(in crate::cli) struct RunArgs {
    /// A contract file, a task, or both (else agent.yaml)
    ///
    /// Without a file the contract is agent.yaml or agent.yml of this folder. Relative paths in a contract begin in the folder
    /// of its file.
    #[arg(value_name = "FILE|TASK", num_args = 0..=2)]
    pub(in crate::cli) given: Vec<OsString>,
    /// The contract file
    ///
    /// It is taken as the file whatever its name is.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) contract: Option<PathBuf>,
    /// Change a value, such as max_turns=3
    ///
    /// Change a value of the file by its dotted key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(in crate::cli) sets: Vec<String>,
    /// What to do, instead of the task in the file
    ///
    /// The text, @FILE for the text of a file, or - for standard input.
    #[arg(long, value_name = "TEXT|@FILE|-")]
    pub(in crate::cli) task: Option<String>,
    /// Print the result as one JSON document
    ///
    /// With --contracts one a line; in a pipe that is always so.
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// The run's name; a random one by default
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(in crate::cli) run_id: Option<RunId>,
    /// Many runs: a folder, or a list (see --help)
    ///
    /// A folder's .yaml, .yml and .json files; or each line of a file, or of standard input (-): {"contract": FILE, "task"?, "run_id"?,
    /// "set"?: [KEY=VALUE]}. One result line for each run as it ends: JSON in a pipe, a short line on a terminal.
    /// Ctrl-C ends the open runs for good, SIGTERM suspends them.
    #[arg(long, value_name = "DIR|LIST|-", conflicts_with_all = ["given", "contract", "run_id", "verbose"])]
    pub(in crate::cli) contracts: Option<PathBuf>,
    /// Of many runs: begin at this line, or file
    ///
    /// The number of a line of the list, or a file of the folder.
    #[arg(long, value_name = "LINE|FILE", requires = "contracts", conflicts_with_all = ["given", "contract"])]
    pub(in crate::cli) from: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) limits: LimitArgs,
    #[command(flatten)]
    pub(in crate::cli) recording: RecordingArgs,
    #[command(flatten)]
    pub(in crate::cli) leaving: LeavingArgs,
}
