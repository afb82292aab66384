use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BigCount;

/// The wire protocol of a provider.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProviderType {
    /// OpenAI chat completions, and every server that speaks them.
    Openai,
    /// OpenAI responses.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Google Gemini.
    Google,
    /// OpenRouter: OpenAI chat with its own errors.
    Openrouter,
    /// Ollama chat.
    Ollama,
    /// The embedded model.
    Local,
    /// Canned responses from a file.
    Scripted,
}

impl ProviderType {
    /// Every type.
    pub const ALL: [Self; 8] = [
        Self::Openai,
        Self::OpenaiResponses,
        Self::Anthropic,
        Self::Google,
        Self::Openrouter,
        Self::Ollama,
        Self::Local,
        Self::Scripted,
    ];

    /// The type as it is written in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::OpenaiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
            Self::Openrouter => "openrouter",
            Self::Ollama => "ollama",
            Self::Local => "local",
            Self::Scripted => "scripted",
        }
    }

    /// The environment variable that usually holds its key; none where no key is needed.
    #[must_use]
    pub const fn usual_key_env(self) -> Option<&'static str> {
        match self {
            Self::Openai | Self::OpenaiResponses => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Google => Some("GEMINI_API_KEY"),
            Self::Openrouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama | Self::Local | Self::Scripted => None,
        }
    }

    /// Its public address, version included; none where there is no address.
    #[must_use]
    pub const fn usual_base_url(self) -> Option<&'static str> {
        match self {
            Self::Openai | Self::OpenaiResponses => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Google => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::Openrouter => Some("https://openrouter.ai/api/v1"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::Local | Self::Scripted => None,
        }
    }
}

/// Decoding parameters, resolved for one target and clamped (001 §2). Null is not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Prompt caching: `full` or `none`.
    pub caching: String,
    /// Tokens a response may have.
    pub max_output_tokens: u64,
    /// `minimal`, `low`, `medium` or `high`.
    pub reasoning: Option<String>,
    /// Tokens for reasoning.
    pub reasoning_tokens: Option<u64>,
    /// At least 0.
    pub repeat_penalty: Option<f64>,
    /// The seed; sent where the protocol has one.
    pub seed: BigCount,
    /// Whether responses are streamed.
    pub stream: bool,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
}

/// Who lays out an embedded model's prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptLayout {
    /// The template in the model's file, which knows tools.
    Template,
}

/// One model that may be asked; attempts cycle through them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetTerms {
    /// The adapter that encodes and decodes, such as `openai-chat/1`.
    pub adapter_version: String,
    /// This model's window in tokens.
    pub context_window: u64,
    /// The model's name at the provider.
    pub model: String,
    /// What identifies the weights: a file's hash, or provider and name for a remote model.
    pub model_fingerprint: String,
    /// The profile that describes the model.
    pub model_profile_id: String,
    /// Who lays out an embedded model's prompts; left out where the adapter does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_layout: Option<PromptLayout>,
    /// A key of `providers`.
    pub provider: String,
    /// Parameters for this target.
    pub sampling: Sampling,
    /// Tokens of an embedded model's vocabulary; left out where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
}

/// How a provider is reached; never a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderTerms {
    /// Name of the environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// Where it is, of a query the names alone; null for embedded and scripted providers.
    pub base_url: Option<String>,
    /// The script of a scripted provider, as the author wrote it.
    pub file: Option<String>,
    /// Names of extra headers; their values are resolved when a request is sent.
    pub header_names: Vec<String>,
    /// Which variables feed each of them; left out where none does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header_variables: BTreeMap<String, Vec<String>>,
    /// The wire protocol.
    #[serde(rename = "type")]
    pub provider_type: ProviderType,
}
