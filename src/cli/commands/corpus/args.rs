//! The arguments of `monolith corpus`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::contract::ProviderType;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CorpusCommand {
    /// Play the built-in cases: each is a contract, a script and the end that must come
    Run(CorpusRunArgs),
    /// List every sentence of the source contracts with the cases and tests that show it; fails where nothing does
    Coverage(CorpusCoverageArgs),
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
    /// Run the six cases of the conformance contract against this endpoint instead, such as http://127.0.0.1:8080/v1
    #[arg(long, value_name = "URL", requires = "model", conflicts_with_all = ["filter", "profile"])]
    pub(in crate::cli) live: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) endpoint: EndpointArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct CorpusCoverageArgs {
    /// Only sentences whose id begins like this, such as 002/5
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) filter: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// What is said of an endpoint beside its address.
#[derive(Debug, Args)]
pub(in crate::cli) struct EndpointArgs {
    /// The model's name at the endpoint
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(in crate::cli) model: Option<String>,
    /// The wire protocol: a provider type of contract files
    #[arg(long = "type", value_name = "TYPE", requires = "live", default_value = "openai", value_parser = provider_type)]
    pub(in crate::cli) provider: ProviderType,
    /// The environment variable that holds the key; the provider's usual one by default
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(in crate::cli) api_key_env: Option<String>,
    /// The model's window in tokens
    #[arg(long, value_name = "N", requires = "live", default_value_t = 4096)]
    pub(in crate::cli) context_window: u64,
    /// How long nothing may arrive
    #[arg(long, value_name = "SECONDS", requires = "live", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(in crate::cli) timeout: u64,
    /// Keep the runs in the store, each called live-CASE-…; else they are judged and thrown away
    #[arg(long, requires = "live")]
    pub(in crate::cli) keep: bool,
    /// How often each case is run
    #[arg(long, value_name = "N", requires = "live", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(in crate::cli) runs: u16,
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
pub(in crate::cli) struct CorpusAdaptersArgs {
    /// The records, plain or compressed with gzip
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
    /// Judge as under `strict_mode: false`: repair what has one meaning, keep the calls beside one that cannot be read
    #[arg(long)]
    pub(in crate::cli) no_strict: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
