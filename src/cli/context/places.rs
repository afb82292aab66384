//! Options that say where the model servers of this machine are.

use clap::Args;

use monolith_service::found::servers::{Places, address_of};

/// Addresses at which servers are looked for.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlacesArgs {
    /// Where Ollama is, or none
    ///
    /// Instead of OLLAMA_HOST or http://127.0.0.1:11434; `none` looks for none.
    #[arg(long, value_name = "URL", value_parser = address_of)]
    ollama: Option<String>,
    /// Where llama-server is, or none
    ///
    /// Instead of http://127.0.0.1:8080; `none` looks for none.
    #[arg(long, value_name = "URL", value_parser = address_of)]
    llama_server: Option<String>,
    /// Where LM Studio is, or none
    ///
    /// Instead of http://127.0.0.1:1234; `none` looks for none.
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
