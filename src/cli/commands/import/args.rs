//! The arguments of `monolith import`.

use std::path::PathBuf;

use clap::Args;

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
