//! The arguments of `monolith man`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Read it: monolith man | man -l -")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands there
    ///
    /// Into this folder, instead of the main page to stdout.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
