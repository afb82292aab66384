//! The arguments of `monolith replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::commands::values::{DurabilityArg, entry_number, run_id};
use monolith_core::message::RunId;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(
    after_help = "How the modes differ: monolith replay --help",
    after_long_help = "Without an option, the recorded events go through a fresh machine, and every entry must come out as it is \
recorded; no model and no tool is asked.\n\
--set asks what would have happened under the recorded contract with these changes, as far as the recording says it. It needs \
nothing but the transcript: no contract file, no tool server, no key. --contract asks it of another file. Exit code 0: the run would \
have ended alike; 6: otherwise, or the recording does not say.\n\
--live asks the models or tools of the run again, with the recorded requests, and compares; nothing is written.\n\
--fork-at N begins a new run with the conversation as of after entry N."
)]
pub(crate) struct ReplayArgs {
    /// A run's name or its beginning, `last`, or a file
    ///
    /// A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Accept a run that has not ended
    ///
    /// Without it such a run ends the command with exit code 7.
    #[arg(long, conflicts_with_all = ["fork_at", "contract", "sets", "start_servers"])]
    pub(crate) open: bool,
    /// Print one JSON document
    ///
    /// It is the report; with --fork-at the result of the new run.
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask what this contract file would do
    ///
    /// With --live and --fork-at it is the file to go by, instead of the one that the run was begun with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Ask what this change would do: max_turns=3
    ///
    /// A value of the contract by its dotted key; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Start the tool servers of that file
    ///
    /// Else what the recorded contract states of them is taken.
    #[arg(long, hide_short_help = true, requires = "contract", conflicts_with_all = ["live", "fork_at"])]
    pub(crate) start_servers: bool,
    /// Ask again and compare: inference, tools, all
    ///
    /// The models (inference), the tools, or both (all) are asked with the recorded requests. Nothing is written.
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "WHAT",
        value_enum,
        conflicts_with = "fork_at"
    )]
    pub(crate) live: Option<LiveArg>,
    /// With --live, repeat every call
    ///
    /// Also those that are not known to be repeatable.
    #[arg(long, requires = "live")]
    pub(crate) effects: bool,
    /// Begin a new run after this entry
    ///
    /// An entry is one recorded step; monolith show numbers them.
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(crate) fork_at: Option<u64>,
    /// What you say to the new run
    #[arg(long, value_name = "TEXT", requires = "fork_at")]
    pub(crate) task: Option<String>,
    /// The new run's name; a random one by default
    #[arg(long, hide_short_help = true, value_name = "ID", value_parser = run_id, requires = "fork_at")]
    pub(crate) run_id: Option<RunId>,
    /// What an entry of the new run must survive: the loss of power (full), or only the death of the process (normal)
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        default_value_t,
        requires = "fork_at"
    )]
    pub(crate) durability: DurabilityArg,
    /// Do not sign the record of the new run
    #[arg(long, hide_short_help = true, requires = "fork_at")]
    pub(crate) no_sign: bool,
    /// Account for the new run in this file, not in accounting.jsonl
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        requires = "fork_at"
    )]
    pub(crate) billing_file: Option<PathBuf>,
    /// Write each transition of the new run and a summary to stderr
    #[arg(long, hide_short_help = true, requires = "fork_at")]
    pub(crate) verbose: bool,
}

/// What is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveArg {
    /// The models
    Inference,
    /// The tools
    Tools,
    /// Both
    All,
}
