use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CorpusCommand {
    /// Play the built-in cases: each is a contract, a script and the end that must come
    Run(CorpusRunArgs),
    /// Judge recorded responses of providers, one JSON record per line
    Adapters(CorpusAdaptersArgs),
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CorpusRunArgs {
    /// Only cases whose id contains this
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) filter: Option<String>,
    /// Only the six cases of the conformance contract, as this model profile plays them
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) profile: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CorpusAdaptersArgs {
    /// The records, plain or compressed with gzip
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
