//! The arguments of `monolith corpus`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use monolith_core::contract::ProviderType;

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusCommand {
    /// Run the built-in cases
    ///
    /// Each case is a contract, a script and the expected end.
    Run(CorpusRunArgs),
    /// List the evidence for each sentence of the contracts
    ///
    /// Lists every sentence of the source contracts with the cases and tests that show it. Fails if a sentence
    /// has none, if its cases pass whatever the program does, or if they have changed since that was tried.
    Coverage(CorpusCoverageArgs),
    /// Check recorded provider responses
    ///
    /// The file has one JSON record per line.
    Adapters(CorpusAdaptersArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CorpusRunArgs {
    /// Only cases whose id contains TEXT
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run the six basic cases with this model profile
    ///
    /// These are the six cases of the conformance contract.
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// Run the six basic cases against a server
    ///
    /// These are the six cases of the conformance contract. URL is the address of the server, such as
    /// http://127.0.0.1:8080/v1.
    #[arg(long, value_name = "URL", requires = "model", conflicts_with_all = ["filter", "profile"])]
    pub(crate) live: Option<String>,
    #[command(flatten)]
    pub(crate) endpoint: EndpointArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusCoverageArgs {
    /// Only sentences whose id starts with TEXT: 002/5
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of an endpoint besides its address.
#[derive(Debug, Args)]
pub(crate) struct EndpointArgs {
    /// The model's name on that server
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) model: Option<String>,
    /// Provider type, as in contracts
    #[arg(long = "type", value_name = "TYPE", requires = "live", default_value = "openai", value_parser = provider_type)]
    pub(crate) provider: ProviderType,
    /// The environment variable with the API key
    ///
    /// Default: the usual variable of the provider.
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) api_key_env: Option<String>,
    /// The model's context window in tokens
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N",
        requires = "live",
        default_value_t = 4096
    )]
    pub(crate) context_window: u64,
    /// Maximum time without data
    #[arg(long, hide_short_help = true, value_name = "SECONDS", requires = "live", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// Keep the runs in the store
    ///
    /// Their names start with live-CASE-. Without --keep, monolith discards the runs after checking them.
    #[arg(long, requires = "live")]
    pub(crate) keep: bool,
    /// Runs per case
    #[arg(long, value_name = "N", requires = "live", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) runs: u16,
}

/// A provider type that has an address.
fn provider_type(text: &str) -> Result<ProviderType, String> {
    let reachable =
        |kind: &ProviderType| !matches!(kind, ProviderType::Local | ProviderType::Scripted);
    let kinds = || ProviderType::ALL.into_iter().filter(reachable);
    kinds().find(|kind| kind.as_str() == text).ok_or_else(|| {
        let known: Vec<&str> = kinds().map(ProviderType::as_str).collect();
        format!("expected one of {}", known.join(", "))
    })
}

#[derive(Debug, Args)]
pub(crate) struct CorpusAdaptersArgs {
    /// The records, plain or gzip-compressed
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Check as with strict_mode: false
    ///
    /// Repairs input that has only one meaning, and keeps the readable calls next to an unreadable one.
    #[arg(long)]
    pub(crate) no_strict: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
