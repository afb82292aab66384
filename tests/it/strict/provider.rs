//! The providers that strict servers stand for, each by the model whose rules they apply.

use serde_json::{Value, json};

use super::script::Said;
use super::server::{Answer, Asked, Given};
use super::{chat, claude, gemini, responses};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI's chat completions with a reasoning model.
    Gpt,
    /// OpenAI's responses with a model that marks its messages with a phase.
    Responses,
    /// Anthropic's messages with adaptive thinking only.
    Opus,
    /// Anthropic's messages with thinking by a budget.
    Sonnet,
    /// Google's own protocol with a model that signs its calls.
    Gemini,
    /// The same model behind Google's form of chat completions.
    GeminiChat,
    Mistral,
    DeepSeek,
    Kimi,
}

impl Provider {
    pub const ALL: [Self; 9] = [
        Self::Gpt,
        Self::Responses,
        Self::Opus,
        Self::Sonnet,
        Self::Gemini,
        Self::GeminiChat,
        Self::Mistral,
        Self::DeepSeek,
        Self::Kimi,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt => "gpt",
            Self::Responses => "responses",
            Self::Opus => "opus",
            Self::Sonnet => "sonnet",
            Self::Gemini => "gemini",
            Self::GeminiChat => "gemini-chat",
            Self::Mistral => "mistral",
            Self::DeepSeek => "deepseek",
            Self::Kimi => "kimi",
        }
    }

    pub fn model(self) -> &'static str {
        match self {
            Self::Gpt => "gpt-5",
            Self::Responses => "gpt-5.4",
            Self::Opus => "claude-opus-4-7",
            Self::Sonnet => "claude-sonnet-4-5",
            Self::Gemini | Self::GeminiChat => "gemini-3-pro-preview",
            Self::Mistral => "mistral-large-latest",
            Self::DeepSeek => "deepseek-v4-pro",
            Self::Kimi => "kimi-k2.5",
        }
    }

    /// The type of the provider in a contract.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Responses => "openai_responses",
            Self::Opus | Self::Sonnet => "anthropic",
            Self::Gemini => "google",
            _ => "openai",
        }
    }

    /// The path of the base address.
    pub fn base(self) -> &'static str {
        match self {
            Self::Gemini => "/v1beta",
            Self::GeminiChat => "/v1beta/openai",
            _ => "/v1",
        }
    }

    /// Admits a request, or refuses it as the provider does.
    pub fn judge(self, path: &str, body: &Value, given: &Given) -> Result<Asked, Answer> {
        match self {
            Self::Responses => responses::judge(path, body, given),
            Self::Opus | Self::Sonnet => claude::judge(self, path, body, given),
            Self::Gemini => gemini::judge(path, body, given),
            _ => chat::judge(self, path, body, given),
        }
    }

    /// The script's answer in the protocol's form.
    pub fn said(self, said: &Said, asked: &Asked, given: &mut Given) -> Answer {
        match self {
            Self::Responses => responses::said(said, asked, given),
            Self::Opus | Self::Sonnet => claude::said(said, asked, given),
            Self::Gemini => gemini::said(said, asked, given),
            _ => chat::said(self, said, asked, given),
        }
    }

    /// An error of the service in the provider's words.
    pub fn fault(self, status: u16) -> Answer {
        let body = match self {
            Self::Opus | Self::Sonnet => {
                // https://platform.claude.com/docs/en/api/errors: 529 is overloaded_error.
                let kind = if status == 529 {
                    "overloaded_error"
                } else {
                    "api_error"
                };
                json!({"type": "error", "error": {"type": kind, "message": "Overloaded"}, "request_id": "req_011CStrict"})
            }
            // https://ai.google.dev/gemini-api/docs/troubleshooting: 503 is UNAVAILABLE.
            Self::Gemini | Self::GeminiChat => json!({"error": {"code": status,
                "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}}),
            Self::Mistral => {
                json!({"object": "error", "message": "Service unavailable.", "type": "internal_server_error",
                "param": null, "code": "3700"})
            }
            _ => {
                json!({"error": {"message": "The engine is currently overloaded, please try again later.",
                "type": "server_error", "param": null, "code": null}})
            }
        };
        Answer::json(status, &body)
    }

    /// The status with which the provider says that it is overloaded.
    pub fn overloaded(self) -> u16 {
        match self {
            Self::Opus | Self::Sonnet => 529,
            _ => 503,
        }
    }
}
