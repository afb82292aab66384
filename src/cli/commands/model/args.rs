//! The arguments of `monolith model`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use monolith_core::message::Digest;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List stored models, and known ones
    ///
    /// Those that are stored here, and those that can be pulled by name.
    List,
    /// Fetch a model and store it
    ///
    /// It says first under what licence. A pull that was cut off goes on where it was.
    Pull(PullArgs),
    /// Store a copy of a GGUF file under a name
    Add(AddArgs),
    /// Remove a model from the store
    Remove(NamedModel),
    /// Compare a stored model with its hash
    Verify(NamedModel),
    /// Count whether calls come before text
    ///
    /// Asks an embedded model many times, with the token gate closed (the model can write nothing but calls) and without it.
    Prove(ProveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// A known name, or hf:OWNER/REPO/FILE.gguf
    ///
    /// A revision may follow: hf:OWNER/REPO/FILE.gguf@REVISION.
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// What contracts are to call it
    ///
    /// By default it is the known name, or the file's own.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Accept the licence without being asked
    #[arg(long)]
    pub(crate) yes: bool,
    /// Take only the file with this BLAKE3
    #[arg(long, value_name = "HEX")]
    pub(crate) blake3: Option<Digest>,
    /// Where hf: references are looked up
    ///
    /// Instead of MONOLITH_HUB, HF_ENDPOINT or the public hub.
    #[arg(long, value_name = "URL")]
    pub(crate) hub: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// What contracts are to call it
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
    /// The model: a name of the store, or a GGUF file
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,
    /// How many seeds are tried
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: u64,
    /// The temperature
    #[arg(long, value_name = "T", default_value_t = 1.5)]
    pub(crate) temperature: f64,
    /// Print the counts as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
