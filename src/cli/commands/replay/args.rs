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
    after_long_help = "Without options, replay sends the recorded events through a fresh machine and compares every entry with the \
recorded one. It calls no model and no tool.\n\
--set shows what would have happened under the recorded contract with these changes, as far as the recording can tell. It needs \
only the transcript: no contract file, no tool server, no key. --contract does the same for another file. Exit code 0: the run would \
have ended the same way; 6: it would have ended differently, or the recording cannot tell.\n\
--live sends the recorded requests to the models or tools again and compares the responses. It records nothing.\n\
--fork-at N starts a new run with the conversation as it was after entry N."
)]
pub(crate) struct ReplayArgs {
    /// Run name or unique prefix, `last`, or a file
    ///
    /// A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Accept an unfinished run
    ///
    /// Without --open, such a run ends the command with exit code 7.
    #[arg(long, conflicts_with_all = ["fork_at", "contract", "sets", "start_servers"])]
    pub(crate) open: bool,
    /// Print one JSON document
    ///
    /// Prints the report, or with --fork-at the result of the new run.
    #[arg(long)]
    pub(crate) json: bool,
    /// Replay under this contract file
    ///
    /// With --live or --fork-at, replaces the file that the run started with.
    #[arg(long, value_name = "FILE")]
    pub(crate) contract: Option<PathBuf>,
    /// Replay with a change, such as max_turns=3
    ///
    /// KEY is the dotted key of a contract value. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Start the tool servers of that file
    ///
    /// Without it, replay uses the tools that the recorded contract states.
    #[arg(long, hide_short_help = true, requires = "contract", conflicts_with_all = ["live", "fork_at"])]
    pub(crate) start_servers: bool,
    /// Call again and compare: inference, tools, all
    ///
    /// Sends the recorded requests to the models (inference), the tools, or both (all) again. Records nothing.
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "WHAT",
        value_enum,
        conflicts_with = "fork_at"
    )]
    pub(crate) live: Option<LiveArg>,
    /// With --live, repeat unsafe calls too
    ///
    /// Without --effects, only calls that are known to be repeatable are made again.
    #[arg(long, requires = "live")]
    pub(crate) effects: bool,
    /// Start a new run after this entry
    ///
    /// An entry is one recorded step; `monolith show` numbers them.
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(crate) fork_at: Option<u64>,
    /// Your message for the new run
    #[arg(long, value_name = "TEXT", requires = "fork_at")]
    pub(crate) task: Option<String>,
    /// Name of the new run (default: random)
    #[arg(long, hide_short_help = true, value_name = "ID", value_parser = run_id, requires = "fork_at")]
    pub(crate) run_id: Option<RunId>,
    /// Durability of each entry of the new run: full survives a power loss, normal only a crash of the process
    #[arg(
        long,
        hide_short_help = true,
        value_enum,
        default_value_t,
        requires = "fork_at"
    )]
    pub(crate) durability: DurabilityArg,
    /// Do not sign the transcript of the new run
    #[arg(long, hide_short_help = true, requires = "fork_at")]
    pub(crate) no_sign: bool,
    /// Append the accounting of the new run to this file instead of accounting.jsonl
    #[arg(
        long,
        hide_short_help = true,
        value_name = "FILE",
        requires = "fork_at"
    )]
    pub(crate) billing_file: Option<PathBuf>,
    /// Log each transition of the new run and a summary to stderr
    #[arg(long, hide_short_help = true, requires = "fork_at")]
    pub(crate) verbose: bool,
}

/// The parts to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LiveArg {
    /// The models
    Inference,
    /// The tools
    Tools,
    /// Both
    All,
}
