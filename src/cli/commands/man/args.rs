//! The arguments of `monolith man`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "To read the page: monolith man | man -l -")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to a folder
    ///
    /// Without --out, prints the main page on stdout.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
