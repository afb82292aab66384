//! The kinds of programs that serve models on a machine, and how each of them is asked.

use monolith_core::contract::ProviderType;

/// A program that serves models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// llama-server.
    LlamaServer,
    /// LM Studio.
    LmStudio,
    /// Ollama.
    Ollama,
}

impl ServerKind {
    pub(crate) const ALL: [Self; 3] = [Self::LlamaServer, Self::LmStudio, Self::Ollama];

    /// Returns the name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LlamaServer => "llama-server",
            Self::LmStudio => "LM Studio",
            Self::Ollama => "Ollama",
        }
    }

    /// Returns its name on the command line and in contracts.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::LlamaServer => "llama-server",
            Self::LmStudio => "lm-studio",
            Self::Ollama => "ollama",
        }
    }

    /// Returns the request whose answer distinguishes it from other servers.
    pub(super) const fn request(self) -> &'static str {
        match self {
            Self::LlamaServer => "GET /props",
            Self::LmStudio => "GET /v1/models",
            Self::Ollama => "GET /api/tags",
        }
    }

    /// Returns its provider type.
    pub(super) const fn provider(self) -> ProviderType {
        match self {
            Self::LlamaServer | Self::LmStudio => ProviderType::Openai,
            Self::Ollama => ProviderType::Ollama,
        }
    }

    /// The `base_url` of such a server at that address.
    pub(super) fn base_url(self, address: &str) -> String {
        match self {
            Self::LlamaServer | Self::LmStudio => format!("{address}/v1"),
            Self::Ollama => address.to_owned(),
        }
    }
}
