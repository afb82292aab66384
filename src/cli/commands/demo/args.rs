//! The arguments of `monolith demo`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(in crate::cli) struct DemoArgs {
    #[command(subcommand)]
    pub(in crate::cli) act: Option<DemoAct>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(in crate::cli) enum DemoAct {
    /// Change one byte of a copy of the last demo run, and let verify find it
    Tamper,
}
