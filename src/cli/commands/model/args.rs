//! The arguments of `monolith model`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use monolith_core::message::Digest;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List stored and known models
    ///
    /// Known models can be pulled by name.
    List,
    /// Download a model and store it
    ///
    /// Shows the licence first. An interrupted download resumes where it stopped.
    Pull(PullArgs),
    /// Store a copy of a GGUF file under a name
    Add(AddArgs),
    /// Remove a model from the store
    Remove(NamedModel),
    /// Check a stored model against its hash
    Verify(NamedModel),
    /// Count how often a model starts with a call
    ///
    /// Asks an embedded model many times with the token gate closed, so that it can write only calls, and many times without
    /// the gate.
    Prove(ProveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// A known model, or hf:OWNER/REPO/FILE.gguf
    ///
    /// To name a revision: hf:OWNER/REPO/FILE.gguf@REVISION.
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// The name to use in contracts
    ///
    /// Default: the known name, or the name of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Accept the licence without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Accept only a file with this BLAKE3 hash
    #[arg(long, value_name = "HEX")]
    pub(crate) blake3: Option<Digest>,
    /// The hub for hf: references
    ///
    /// Default: MONOLITH_HUB, else HF_ENDPOINT, else the public hub.
    #[arg(long, value_name = "URL")]
    pub(crate) hub: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The name to use in contracts
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The GGUF file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct NamedModel {
    /// The model's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// The name of a stored model, or a GGUF file
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// Number of seeds to try
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// The sampling temperature
    #[arg(long, value_name = "T", default_value_t = 1.5)]
    pub(crate) temperature: f64,
    /// Print the counts as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
