//! The arguments of `monolith demo`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    pub(crate) act: Option<DemoAct>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum DemoAct {
    /// Change one byte in a copy of the last demo run and verify it
    Tamper,
}
