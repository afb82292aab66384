//! The arguments of `monolith corpus`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use monolith_core::contract::ProviderType;

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusCommand {
    /// Play the built-in cases
    ///
    /// Each is a contract, a script and the end that must come.
    Run(CorpusRunArgs),
    /// List what shows each sentence of the rules
    ///
    /// Every sentence of the source contracts, with the cases and tests that show it; fails where nothing does.
    Coverage(CorpusCoverageArgs),
    /// Judge recorded responses of providers
    ///
    /// One JSON record per line.
    Adapters(CorpusAdaptersArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CorpusRunArgs {
    /// Only cases whose id contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Only the six basic cases, as it plays them
    ///
    /// The six cases of the conformance contract, as this model profile plays them.
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// Run the six basic cases against a server
    ///
    /// Those of the conformance contract, against the server at this address, such as http://127.0.0.1:8080/v1.
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
    /// Only sentences whose id begins so: 002/5
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is said of an endpoint beside its address.
#[derive(Debug, Args)]
pub(crate) struct EndpointArgs {
    /// The model's name there
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) model: Option<String>,
    /// A provider type of contract files
    #[arg(long = "type", value_name = "TYPE", requires = "live", default_value = "openai", value_parser = provider_type)]
    pub(crate) provider: ProviderType,
    /// The variable that holds the key
    ///
    /// By default it is the provider's usual one.
    #[arg(long, value_name = "NAME", requires = "live")]
    pub(crate) api_key_env: Option<String>,
    /// The model's window in tokens
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N",
        requires = "live",
        default_value_t = 4096
    )]
    pub(crate) context_window: u64,
    /// How long nothing may arrive
    #[arg(long, hide_short_help = true, value_name = "SECONDS", requires = "live", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// Keep the runs in the store
    ///
    /// Each is called live-CASE-…; else they are judged and thrown away.
    #[arg(long, requires = "live")]
    pub(crate) keep: bool,
    /// How often each case is run
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
    /// The records, plain or compressed with gzip
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Judge as under strict_mode: false
    ///
    /// What has one meaning is repaired, and the calls beside one that cannot be read are kept.
    #[arg(long)]
    pub(crate) no_strict: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
