use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::when::{self, When};

#[derive(Debug, Args)]
pub(in crate::cli) struct EraseArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// The hash of the bytes to erase, or the beginning of it
    #[arg(long, value_name = "HASH")]
    pub(in crate::cli) blob: String,
    /// Why; it stands in the tombstone, for whoever reads the transcript
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(in crate::cli) reason: String,
    /// Erase the bytes from every run that uses them
    #[arg(long)]
    pub(in crate::cli) all_runs: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::cli) yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct DeleteArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(in crate::cli) run: String,
    /// Why; it stands in the signed note that stays, for whoever reads the log of runs
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(in crate::cli) reason: String,
    /// Delete a run that has not ended, too
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::cli) yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PruneArgs {
    /// Delete runs that were begun longer ago than this: 12h, 30d, 8w, or before a date such as 2026-11-20
    #[arg(long, value_name = "WHEN", value_parser = when::parse)]
    pub(in crate::cli) older_than: When,
    /// Only those that ended in this class, such as COMPLETED_CHAT_ONLY
    #[arg(long, value_name = "CLASS")]
    pub(in crate::cli) outcome: Option<String>,
    /// Why; it stands in the signed notes that stay
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, value_parser = reason)]
    pub(in crate::cli) reason: String,
    /// Name the runs, and delete none
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(in crate::cli) yes: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ImportArgs {
    /// Transcript files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(in crate::cli) files: Vec<PathBuf>,
    /// A key that must have signed the run and the tombstones in it, or a file of keys and rotations; this machine's own keys by
    /// default
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(in crate::cli) keys: Vec<String>,
    /// Accept runs in progress, which have no seal yet
    #[arg(long)]
    pub(in crate::cli) open: bool,
    /// Import runs that were deleted here, too; the signed notes of their deletion stay
    #[arg(long)]
    pub(in crate::cli) deleted: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct MigrateArgs {
    /// A transcript or a contract (not a store): only say whether this build reads its version; without FILE the store is migrated
    #[arg(value_name = "FILE", conflicts_with_all = ["list", "to"])]
    pub(in crate::cli) file: Option<PathBuf>,
    /// Print every format and the versions of it that this build knows
    #[arg(long)]
    pub(in crate::cli) list: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// The format to migrate the store to; the newest by default
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::cli) to: Option<i32>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct LogCheckArgs {
    /// What `log prove` or `log consistency` printed
    #[arg(value_name = "PROOF-FILE")]
    pub(in crate::cli) proof: PathBuf,
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(in crate::cli) pins: Vec<PathBuf>,
    /// A key that must have signed the head of the log, or a file of keys and rotations; this machine's own keys by default
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(in crate::cli) keys: Vec<String>,
    /// Print the report as one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// The least that a verification must reach.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum LevelArg {
    /// Signed by a known key
    #[value(name = "L1")]
    Signed,
    /// Covered by a head that was noted earlier
    #[value(name = "L2")]
    Pinned,
    /// Vouched for by a witness
    #[value(name = "L3")]
    Witnessed,
}

impl LevelArg {
    /// The level, and how the note begins that says what is missing for it.
    pub(in crate::cli) const fn level(self) -> (&'static str, &'static str) {
        match self {
            Self::Signed => ("L1", "signature:"),
            Self::Pinned => ("L2", "pinned "),
            Self::Witnessed => ("L3", "witness:"),
        }
    }
}

fn reason(text: &str) -> Result<String, String> {
    let most = crate::transcript::MAX_REASON_BYTES;
    if text.len() > most {
        return Err(format!("a reason has at most {most} bytes"));
    }
    Ok(text.to_owned())
}
