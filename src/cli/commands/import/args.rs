//! The arguments of `monolith import`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Transcript files; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A key that must have signed it, or a file
    ///
    /// A public key that must have signed the run and the notes of what was erased in it, or a file of keys and rotations. By
    /// default they are this machine's own keys.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// Accept runs that have not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// Also runs that were deleted here
    ///
    /// The signed notes of their deletion stay.
    #[arg(long)]
    pub(crate) deleted: bool,
}
