mod accounting;
mod contract;
mod conversation;
mod corpus;
mod doctor;
mod evidence;
mod init;
mod leaving;
mod list;
mod model;
mod profile;
mod replay;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(super) use self::accounting::AccountingArgs;
pub(super) use self::contract::{ContractArgs, ContractCheckArgs, ContractCommand, ToolsArgs};
pub(super) use self::conversation::{ChatArgs, ContinueArgs};
pub(super) use self::corpus::{
    CorpusAdaptersArgs, CorpusCommand, CorpusCoverageArgs, CorpusRunArgs,
};
pub(super) use self::doctor::DoctorArgs;
pub(super) use self::evidence::{
    DeleteArgs, EraseArgs, ImportArgs, LevelArg, LogCheckArgs, MigrateArgs, PruneArgs,
};
pub(super) use self::init::InitArgs;
pub(super) use self::leaving::LeavingArgs;
pub(super) use self::list::ListArgs;
pub(super) use self::model::{ModelCommand, ProveArgs, PullArgs};
pub(super) use self::profile::ProfileCommand;
pub(super) use self::replay::{LiveArg, ReplayArgs};
pub(super) use self::values::DurabilityArg;
use self::values::{entry_number, run_id};
use super::version::{AFTER_HELP, LONG_VERSION};
use crate::message::RunId;

/// The name of the key that signs where none is named.
pub(super) const LOCAL_KEY: &str = "local";
/// The hidden command that is a tool server.
pub(super) const SLOW_TOOL: &str = "__slow-tool";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "monolith",
    version,
    long_version = LONG_VERSION.as_str(),
    about = "Runs LLM agents as an explicit state machine under an immutable contract, and leaves a transcript that \
             anyone can verify and replay.",
    after_help = AFTER_HELP,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    /// The file that keeps runs, instead of runs.db in the state folder
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) store: Option<PathBuf>,
    /// A file of configuration, in the place of .ai-agent.json here and beside the contract
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a contract: the answer on stdout; on stderr each transition where somebody watches, else how it ended
    Run(RunArgs),
    /// Go on from the end of a run with a new message
    Continue(ContinueArgs),
    /// A conversation on the terminal: each message is a run
    Chat(ChatArgs),
    /// Go on with a run whose process died, from where its transcript ends
    Resume(ResumeArgs),
    /// Allow or refuse the call of a run that waits for a person's approval
    Approve(ApproveArgs),
    /// Decide a recorded run again and compare, byte for byte; or under another contract, live, or on from one of its entries
    Replay(ReplayArgs),
    /// Check a transcript: every hash, the chain, the seal, the blobs
    Verify(VerifyArgs),
    /// Show a run: what happened, what it used, how it ended
    Show(ShowArgs),
    /// List runs, the newest first
    List(ListArgs),
    /// Write a run as a file that anyone can verify without this store
    Export(ExportArgs),
    /// Take transcript files into the store, once they verify
    Import(ImportArgs),
    /// Erase bytes that a run names, and leave a signed tombstone
    Erase(EraseArgs),
    /// Delete a run for good, and leave its leaf in the log and a signed note of it
    Delete(DeleteArgs),
    /// Delete the runs that are older than an age
    Prune(PruneArgs),
    /// Bring the store of an older build to the newest format
    Migrate(MigrateArgs),
    /// Look at a contract without running it
    #[command(subcommand)]
    Contract(ContractCommand),
    /// List the tools that a contract has: names, servers, arguments, pins
    Tools(ToolsArgs),
    /// Print the state machine
    Machine(MachineArgs),
    /// Make, show or replace the key that signs checkpoints
    #[command(subcommand)]
    Key(KeyCommand),
    /// Prove that no run was removed: the log of runs
    #[command(subcommand)]
    Log(LogCommand),
    /// Play the conformance cases, or judge recorded responses
    #[command(subcommand)]
    Corpus(CorpusCommand),
    /// Fetch, store and try embedded models
    #[command(subcommand)]
    Model(ModelCommand),
    /// What is known of families of models: windows, forms of calls, defaults
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Write a contract that works with what this machine has: a model server, a stored model, a key
    Init(InitArgs),
    /// Say what is here, what is missing, and how to get it
    Doctor(DoctorArgs),
    /// Run the demonstration: a scripted model, real tool calls, a real transcript
    Demo(DemoArgs),
    /// A tool server that never answers a call: what `corpus run --live` tries a model's patience with
    #[command(name = SLOW_TOOL, hide = true)]
    SlowTool,
    /// Where the template of an embedded model's file runs
    #[cfg(feature = "local")]
    #[command(name = crate::inference::TEMPLATE_COMMAND, hide = true)]
    Template,
    /// Where a model's file is loaded for the first time
    #[cfg(feature = "local")]
    #[command(name = crate::inference::TRIAL_COMMAND, hide = true)]
    TryModel(TryModelArgs),
}

#[cfg(feature = "local")]
#[derive(Debug, Args)]
pub(super) struct TryModelArgs {
    /// The model's file
    pub(super) file: PathBuf,
    /// Tokens of the context
    pub(super) context_window: u32,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// A contract file, a task, or both; without a file the contract is agent.yaml of this folder
    #[arg(value_name = "FILE|TASK", num_args = 0..=2)]
    pub(super) given: Vec<OsString>,
    /// The contract file, named
    #[arg(long, value_name = "FILE")]
    pub(super) contract: Option<PathBuf>,
    /// Change a value of the file, such as max_turns=3; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) sets: Vec<String>,
    /// What the run is to do, instead of the file's task: the text, @FILE, or - for standard input
    #[arg(long, value_name = "TEXT|@FILE|-")]
    pub(super) task: Option<String>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// The run's name; a random one by default
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(super) run_id: Option<RunId>,
    /// Whether an entry must survive the loss of power, or only the death of the process
    #[arg(long, value_enum, default_value_t)]
    pub(super) durability: DurabilityArg,
    /// Sign no checkpoints
    #[arg(long)]
    pub(super) no_sign: bool,
    #[command(flatten)]
    pub(super) leaving: LeavingArgs,
    #[command(flatten)]
    pub(super) accounting: AccountingArgs,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// Refuse the call instead
    #[arg(long)]
    pub(super) deny: bool,
    /// Do not ask; --arguments says which call is meant
    #[arg(long, requires = "arguments")]
    pub(super) yes: bool,
    /// Answer only where the call's arguments have this hash, or one that begins so: 8 digits at least
    #[arg(long, value_name = "HASH")]
    pub(super) arguments: Option<String>,
    /// Put this answer in the place of another one that was given before and has not been taken yet
    #[arg(long)]
    pub(super) replace: bool,
}

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// The contract file, for what a contract does not hold: keys, headers, variables; by default the one that the run was
    /// begun with
    #[arg(long, value_name = "FILE")]
    pub(super) contract: Option<PathBuf>,
    /// Change a value of the file, after the changes that the run was begun with; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(super) sets: Vec<String>,
    /// A file of heads that were noted earlier: a run that has fewer entries, or others, is not gone on with
    #[arg(long = "pin", value_name = "FILE")]
    pub(super) pins: Vec<PathBuf>,
    /// Print the result as one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Whether an entry must survive the loss of power, or only the death of the process
    #[arg(long, value_enum, default_value_t)]
    pub(super) durability: DurabilityArg,
    /// Sign no checkpoints
    #[arg(long)]
    pub(super) no_sign: bool,
    #[command(flatten)]
    pub(super) leaving: LeavingArgs,
    #[command(flatten)]
    pub(super) accounting: AccountingArgs,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// A run's name, the beginning of it, `last`, or a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(super) run: String,
    /// Print the report as one JSON document
    #[arg(long)]
    pub(super) json: bool,
    /// Accept a run in progress, which has no seal yet
    #[arg(long)]
    pub(super) open: bool,
    /// A key that must have signed the seal, or a file of keys and rotations; this machine's own keys by default
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(super) keys: Vec<String>,
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(super) pins: Vec<PathBuf>,
    /// The key of a witness, or a file of them
    #[arg(long = "witness", value_name = "FILE|KEY")]
    pub(super) witnesses: Vec<String>,
    /// The least level to reach, else exit 7
    #[arg(long, value_name = "LEVEL")]
    pub(super) require: Option<LevelArg>,
    /// Note the head in this file, where everything holds
    #[arg(long, value_name = "FILE")]
    pub(super) write_pin: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key, and print its public half
    Generate(KeyArgs),
    /// Print the public half of a key
    Show(KeyArgs),
    /// Replace a key, and print the new public half and the record that the old key signed
    Rotate(KeyArgs),
    /// Print what stands in a run's transcript in place of the value read from stdin
    Commitment(CommitmentArgs),
}

#[derive(Debug, Args)]
pub(super) struct CommitmentArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
}

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// The key's name
    #[arg(value_name = "NAME", default_value = LOCAL_KEY)]
    pub(super) name: String,
}

#[derive(Debug, Subcommand)]
pub(super) enum LogCommand {
    /// Print the root over all sealed runs
    Root(LogRootArgs),
    /// Print the proof that a run is in the log
    Prove(LogProveArgs),
    /// Print the proof that the log has only grown
    Consistency(LogConsistencyArgs),
    /// Hold the log against the runs of the store, and against heads that were noted earlier
    Verify(LogVerifyArgs),
    /// Check a proof that `prove` or `consistency` printed; needs no store
    Check(LogCheckArgs),
}

#[derive(Debug, Args)]
pub(super) struct LogRootArgs {
    /// Print one JSON document
    #[arg(long, conflicts_with = "note")]
    pub(super) json: bool,
    /// Print the signed note alone, to be kept elsewhere or cosigned
    #[arg(long)]
    pub(super) note: bool,
}

#[derive(Debug, Args)]
pub(super) struct LogProveArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
}

#[derive(Debug, Args)]
pub(super) struct LogConsistencyArgs {
    /// How many runs the log had
    #[arg(value_name = "OLD_SIZE")]
    pub(super) old_size: u64,
}

#[derive(Debug, Args)]
pub(super) struct LogVerifyArgs {
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(super) pins: Vec<PathBuf>,
    /// Print the report as one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// A run's name, the beginning of it, `last`, or a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(super) run: String,
    /// Another run or file, for --diff
    #[arg(value_name = "RUN|FILE", requires = "diff")]
    pub(super) other: Option<String>,
    /// Compare two runs: where their decisions part, and what differs there
    #[arg(long, requires = "other", conflicts_with_all = ["raw", "step", "why", "follow", "tree"])]
    pub(super) diff: bool,
    /// End with the exit code of the run instead of 0; 1 where it has no end
    #[arg(long, conflicts_with_all = ["raw", "step", "follow", "tree", "diff"])]
    pub(super) exit_code: bool,
    #[command(flatten)]
    pub(super) form: ShowForm,
}

impl ShowArgs {
    /// That run, without an option.
    pub(super) fn of_run(run: String) -> Self {
        Self {
            run,
            other: None,
            diff: false,
            exit_code: false,
            form: ShowForm::default(),
        }
    }
}

#[derive(Debug, Default, Args)]
#[group(multiple = false)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and at most one is set"
)]
pub(super) struct ShowForm {
    /// Print the result document, as `run --json` does
    #[arg(long)]
    pub(super) json: bool,
    /// Print the entries as they are stored, one line each
    #[arg(long)]
    pub(super) raw: bool,
    /// Print everything about one entry
    #[arg(long, value_name = "N", value_parser = entry_number)]
    pub(super) step: Option<u64>,
    /// Say why the run ended as it did
    #[arg(long)]
    pub(super) why: bool,
    /// Print entries as they become durable, and end with the exit code of the run
    #[arg(long)]
    pub(super) follow: bool,
    /// Print the run among its parents and children
    #[arg(long)]
    pub(super) tree: bool,
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// A run's name, the beginning of it, `last`, or (but for jsonl) a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(super) run: String,
    /// The form of the file
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: ExportFormat,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace the file that is there
    #[arg(long, requires = "output")]
    pub(super) force: bool,
    /// Include the text that the token gate held back
    #[arg(long)]
    pub(super) withheld: bool,
    /// Make it of a transcript that does not verify, too; jsonl is written as it stands in any case
    #[arg(long)]
    pub(super) force_unverified: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum ExportFormat {
    /// One JSON document per line: the transcript itself
    #[default]
    Jsonl,
    /// One page that shows the run and verifies it in the browser, without network
    Html,
    /// A trajectory of the Agent Trajectory Interchange Format 1.8
    Atif,
    /// The narrated run with its timings, for players of terminal sessions
    Cast,
}

#[derive(Debug, Args)]
pub(super) struct MachineArgs {
    /// The form of the picture
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: MachineFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum MachineFormat {
    /// A Mermaid state diagram
    #[default]
    Mermaid,
    /// A Graphviz digraph
    Dot,
    /// One JSON document
    Json,
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    #[command(subcommand)]
    pub(super) act: Option<DemoAct>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum DemoAct {
    /// Change one byte of a copy of the last demo run, and let verify find it
    Tamper,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_run_id_that_names_no_run_is_refused_with_the_rule() {
        let parsed = Cli::try_parse_from(["monolith", "run", "--contract", "c", "--run-id", "A B"]);
        let text = parsed.map(|_| ()).map_err(|fault| fault.to_string());
        assert!(text.is_err_and(|text| text.contains("1 to 64 characters")));
    }
}
