//! The arguments of `monolith verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(
    after_help = "The head is the hash of the last entry, which covers all before it. A witness is somebody \
else who signed the log of runs. L1: a key that you trust signed the end; L2: a head \
that was noted earlier covers it; L3: a witness vouches for it."
)]
pub(crate) struct VerifyArgs {
    /// A run's name or its beginning, `last`, or a file
    ///
    /// A file is an exported transcript.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Accept a run that has not ended
    #[arg(long)]
    pub(crate) open: bool,
    /// The runs of its agents, too
    ///
    /// Each is held against what the run above it recorded: its head, its end, what it used.
    #[arg(long, conflicts_with_all = ["write_pin", "require"])]
    pub(crate) tree: bool,
    /// A key that must have signed it, or a file
    ///
    /// A public key that must have signed the end of the run, or a file of keys and rotations. By default they are this
    /// machine's own keys.
    #[arg(long = "key", value_name = "FILE|KEY")]
    pub(crate) keys: Vec<String>,
    /// A file of heads noted earlier
    ///
    /// The head is the hash of a run’s last entry; a transcript that was cut or rewritten has another one.
    #[arg(long = "pin", value_name = "FILE")]
    pub(crate) pins: Vec<PathBuf>,
    /// The key of a witness, or a file of them
    ///
    /// A witness is somebody else who signed the log of runs.
    #[arg(long = "witness", value_name = "FILE|KEY")]
    pub(crate) witnesses: Vec<String>,
    /// The least level to reach: L1, L2 or L3
    ///
    /// L1: a key that you trust has signed the end. L2: a head that was noted earlier covers it. L3: a witness vouches for it.
    /// A transcript that reaches less ends the command with exit code 7.
    #[arg(long, hide_possible_values = true, value_name = "LEVEL")]
    pub(crate) require: Option<LevelArg>,
    /// Note the head in this file
    ///
    /// Only where everything holds. --pin reads such a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) write_pin: Option<PathBuf>,
}

/// The least that a verification must reach.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LevelArg {
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
    pub(crate) const fn level(self) -> (&'static str, &'static str) {
        match self {
            Self::Signed => ("L1", "signature:"),
            Self::Pinned => ("L2", "pinned "),
            Self::Witnessed => ("L3", "witness:"),
        }
    }
}
