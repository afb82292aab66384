//! The arguments of `monolith init`.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::context::places::PlacesArgs;
use monolith_service::found::endpoint::base_url;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The contract file to write
    #[arg(value_name = "FILE", default_value = "agent.yaml", value_parser = file)]
    pub(crate) file: PathBuf,
    /// Use the first model found; do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Use this provider, such as ollama or openai
    ///
    /// One of llama-server, lm-studio, ollama, embedded, anthropic, openai, google, openrouter.
    #[arg(long = "use", value_name = "WAY")]
    pub(crate) way: Option<String>,
    /// Use this server, such as https://host/v1
    ///
    /// Any server with an OpenAI-compatible API.
    #[arg(long, value_name = "URL", value_parser = base_url, conflicts_with = "way")]
    pub(crate) base_url: Option<String>,
    /// The environment variable with the server's key
    ///
    /// Without it, monolith sends no key.
    #[arg(long, value_name = "VAR", requires = "base_url")]
    pub(crate) key_env: Option<String>,
    /// Use this model
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The agent's task
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    #[command(flatten)]
    pub(crate) places: PlacesArgs,
}

/// The name of the file; an address is none.
fn file(given: &str) -> Result<PathBuf, String> {
    match base_url(given) {
        Ok(address) => Err(format!("it is an address: --base-url {address}")),
        Err(_) if is_contract(Path::new(given)) => Ok(PathBuf::from(given)),
        // `run` would take it for a task.
        Err(_) => Err("the name of a contract ends in .yaml, .yml or .json".to_owned()),
    }
}

fn is_contract(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["yaml", "yml", "json"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}
