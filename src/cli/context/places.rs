//! Options that say where the model servers of this machine are.

use clap::Args;

use monolith_service::found::servers::{Places, address_of};

/// Addresses at which servers are looked for.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlacesArgs {
    /// The address of Ollama, or none to skip it
    ///
    /// Default: OLLAMA_HOST, else http://127.0.0.1:11434.
    #[arg(long, value_name = "URL", value_parser = address_of)]
    ollama: Option<String>,
    /// The address of llama-server, or none to skip it
    ///
    /// Default: http://127.0.0.1:8080.
    #[arg(long, value_name = "URL", value_parser = address_of)]
    llama_server: Option<String>,
    /// The address of LM Studio, or none to skip it
    ///
    /// Default: http://127.0.0.1:1234.
    #[arg(long, value_name = "URL", value_parser = address_of)]
    lm_studio: Option<String>,
}

impl PlacesArgs {
    /// Returns the places that the options name.
    pub(crate) fn places(&self) -> Places {
        Places {
            llama_server: self.llama_server.clone(),
            lm_studio: self.lm_studio.clone(),
            ollama: self.ollama.clone(),
        }
    }
}
