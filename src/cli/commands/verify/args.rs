//! The arguments of `monolith verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    /// A run's name, the beginning of it, `last`, or a transcript file
    #[arg(value_name = "RUN|FILE")]
    pub(in crate::cli) run: String,
    /// Print the report as one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Accept a run in progress, which has no seal yet
    #[arg(long)]
    pub(in crate::cli) open: bool,
    /// A key that must have signed the seal, or a file of keys and rotations; this machine's own keys by default
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(in crate::cli) keys: Vec<String>,
    /// A file of heads that were noted earlier
    #[arg(long = "pin", value_name = "FILE")]
    pub(in crate::cli) pins: Vec<PathBuf>,
    /// The key of a witness, or a file of them
    #[arg(long = "witness", value_name = "FILE|KEY")]
    pub(in crate::cli) witnesses: Vec<String>,
    /// The least level to reach, else exit 7
    #[arg(long, value_name = "LEVEL")]
    pub(in crate::cli) require: Option<LevelArg>,
    /// Note the head in this file, where everything holds
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) write_pin: Option<PathBuf>,
}

/// The least that a verification must reach.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(in crate::cli) enum LevelArg {
    /// A key that you trust has signed the head at the seal
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
