//! The arguments of `monolith work`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::drive::RecordingArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum WorkCommand {
    /// Run a file of work items, level by level
    ///
    /// The changes of an item reach the work tree completely or not at all. Every outcome leaves a signed receipt. Run the file
    /// again to resume items that were left unfinished.
    Run(WorkRunArgs),
    /// Verify a receipt, its transcripts and its signature
    Verify(WorkVerifyArgs),
    /// Print a receipt as canonical JSON
    Receipt(WorkReceiptArgs),
    /// List work items, newest first
    List(WorkListArgs),
    /// Show an item: admission, changes, tests and receipt
    Show(WorkShowArgs),
    /// Revert the changes of an item
    ///
    /// Restores each path that has not changed since the item. Lists the other paths and leaves them as they are.
    Thaw(WorkThawArgs),
    /// Repeat the calls of an item in a new folder
    ///
    /// Asks no model without --live. Prints the hash of the resulting tree as the last line, and exits with 6 if the receipt has another hash.
    Replay(WorkReplayArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WorkRunArgs {
    /// File with one work item or a list of them
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Maximum number of items at once (default: one per core)
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run an item even if an equal item already succeeded
    #[arg(long)]
    pub(crate) again: bool,
    /// Print one RunResult per line as items end
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkVerifyArgs {
    /// Receipt: its id, a unique prefix, its file, or an item's id
    ///
    /// The id of an item stands for its newest receipt.
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: String,
    /// Require a signature by this key or key file
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkReceiptArgs {
    /// Receipt: its id, a unique prefix, its file, or an item's id
    ///
    /// The id of an item stands for its newest receipt.
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: String,
}

#[derive(Debug, Args)]
pub(crate) struct WorkShowArgs {
    /// Receipt: its id, a unique prefix, its file, or an item's id
    ///
    /// The id of an item stands for its newest receipt. The name of an attempt, as `monolith list` shows it, and an exported
    /// file also work.
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: String,
    /// Truncate nothing
    #[arg(long, conflicts_with_all = ["json", "test_output"])]
    pub(crate) full: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "test_output")]
    pub(crate) json: bool,
    /// Print the output of the tests alone: at most its last MiB
    #[arg(long)]
    pub(crate) test_output: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkListArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkThawArgs {
    /// Receipt: its id, a unique prefix, its file, or an item's id
    ///
    /// The id of an item stands for its newest receipt that published something.
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkReplayArgs {
    /// Receipt: its id, a unique prefix, its file, or an item's id
    ///
    /// The id of an item stands for its newest receipt that published something.
    #[arg(value_name = "RECEIPT")]
    pub(crate) receipt: String,
    /// Run the agent again instead of repeating its calls
    ///
    /// Asks the model, with the limits of the item, in a new folder with the tree before the item. Prints both hashes. The trees
    /// may differ.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `monolith work` where the file layer is missing.
#[cfg(not(unix))]
pub(crate) fn work(
    _: &crate::context::app::App,
    _: WorkCommand,
) -> Result<monolith_service::exit::Exit, monolith_service::error::ServiceError> {
    use monolith_host::work_tree::WorkTreeError;
    use monolith_service::error::work::WorkFault;
    Err(WorkFault::Tree(WorkTreeError::Unsupported).into())
}
