use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArgs {
    /// A run's name, the beginning of it, `last`, or (but for jsonl) a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(in crate::cli) run: String,
    /// The form of the file
    #[arg(long, value_enum, default_value_t)]
    pub(in crate::cli) format: ExportFormat,
    /// The file to write; stdout by default
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Replace the file that is there
    #[arg(long, requires = "output")]
    pub(in crate::cli) force: bool,
    /// Include the text that the token gate held back
    #[arg(long)]
    pub(in crate::cli) withheld: bool,
    /// Make it of a transcript that does not verify, too; jsonl is written as it stands in any case
    #[arg(long)]
    pub(in crate::cli) force_unverified: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(in crate::cli) enum ExportFormat {
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
