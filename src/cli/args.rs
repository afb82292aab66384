use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::commands::approve::ApproveArgs;
use super::commands::chat::ChatArgs;
use super::commands::continuation::ContinueArgs;
use super::commands::contract::ContractCommand;
use super::commands::corpus::CorpusCommand;
use super::commands::delete::{DeleteArgs, PruneArgs};
use super::commands::demo::DemoArgs;
use super::commands::doctor::DoctorArgs;
use super::commands::erase::EraseArgs;
use super::commands::export::ExportArgs;
use super::commands::import::ImportArgs;
use super::commands::init::InitArgs;
use super::commands::internal::SLOW_TOOL;
#[cfg(feature = "local")]
use super::commands::internal::TryModelArgs;
use super::commands::key::KeyCommand;
use super::commands::list::ListArgs;
use super::commands::log::LogCommand;
use super::commands::machine::MachineArgs;
use super::commands::migrate::MigrateArgs;
use super::commands::model::ModelCommand;
use super::commands::profile::ProfileCommand;
use super::commands::replay::ReplayArgs;
use super::commands::resume::ResumeArgs;
use super::commands::run::RunArgs;
use super::commands::show::ShowArgs;
use super::commands::tools::ToolsArgs;
use super::commands::verify::VerifyArgs;
use super::version::{AFTER_HELP, LONG_VERSION};

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
pub(in crate::cli) struct Cli {
    #[command(subcommand)]
    pub(in crate::cli) command: Command,
    /// The file that keeps runs, instead of runs.db in the state folder
    #[arg(long, global = true, value_name = "PATH")]
    pub(in crate::cli) store: Option<PathBuf>,
    /// A file of configuration, in the place of .ai-agent.json here and beside the contract
    #[arg(long, global = true, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
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
