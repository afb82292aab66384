//! The list of protocols in this build and the version name of each. Does not know any wire shape.

use super::{anthropic, bedrock, gemini, local_hermes, ollama, openai_chat, openai_responses};

/// The protocols of this build. A later one is a variant here and a folder beside the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Anthropic messages.
    Anthropic,
    /// Amazon Bedrock converse; responses only.
    Bedrock,
    /// Google Gemini generateContent.
    Gemini,
    /// The embedded model.
    LocalHermes,
    /// Ollama chat.
    Ollama,
    /// OpenAI chat completions.
    OpenaiChat,
    /// OpenAI responses.
    OpenaiResponses,
    /// OpenRouter's dialect of OpenAI chat completions.
    OpenrouterChat,
}

impl Protocol {
    pub(super) const ALL: [Self; 8] = [
        Self::Anthropic,
        Self::Bedrock,
        Self::Gemini,
        Self::LocalHermes,
        Self::Ollama,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::OpenrouterChat,
    ];

    /// Returns the name of the protocol's adapter in contracts, entries and results.
    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::Anthropic => anthropic::VERSION,
            Self::Bedrock => bedrock::VERSION,
            Self::Gemini => gemini::VERSION,
            Self::LocalHermes => local_hermes::VERSION,
            Self::Ollama => ollama::VERSION,
            Self::OpenaiChat => openai_chat::VERSION,
            Self::OpenaiResponses => openai_responses::VERSION,
            Self::OpenrouterChat => openai_chat::OPENROUTER_VERSION,
        }
    }

    /// Returns the protocol's name in recordings.
    pub(super) const fn proto(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::Bedrock => "bedrock-converse",
            Self::Gemini => "gemini",
            Self::LocalHermes => "local-hermes",
            Self::Ollama => "ollama-chat",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::OpenrouterChat => "openrouter-chat",
        }
    }
}
