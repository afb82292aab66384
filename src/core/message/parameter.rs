//! The parameters of a request that a provider may refuse. Names only; does not know which protocol sends which.

use serde::{Deserialize, Serialize};

/// A parameter of requests, whatever the protocol calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// The further parts that the response must include.
    Include,
    /// The limit of the answer.
    MaxOutputTokens,
    /// The name `max_tokens`: the provider takes the limit as `max_completion_tokens`.
    MaxTokensName,
    /// A ban on several calls in one message.
    ParallelToolCalls,
    /// A member of the author's `provider_options`.
    ProviderOptions,
    /// Members of the model's messages that its provider gave and wants back (semantics §4).
    ProviderState,
    /// Effort or tokens of reasoning.
    Reasoning,
    /// A budget of tokens as the form of a level: the provider takes an effort.
    ReasoningForm,
    /// The penalty on repeated text.
    RepeatPenalty,
    /// The form of the answer.
    ResponseFormat,
    /// The seed.
    Seed,
    /// Texts that end an answer.
    Stop,
    /// A ban on storing the answer.
    Store,
    /// A request for usage at the end of a stream.
    StreamOptions,
    /// The temperature.
    Temperature,
    /// The choice between calls and text.
    ToolChoice,
    /// The probability mass that is sampled from.
    TopP,
}

impl Parameter {
    /// Every parameter.
    pub const ALL: [Self; 17] = [
        Self::Include,
        Self::MaxOutputTokens,
        Self::MaxTokensName,
        Self::ParallelToolCalls,
        Self::ProviderOptions,
        Self::ProviderState,
        Self::Reasoning,
        Self::ReasoningForm,
        Self::RepeatPenalty,
        Self::ResponseFormat,
        Self::Seed,
        Self::Stop,
        Self::Store,
        Self::StreamOptions,
        Self::Temperature,
        Self::ToolChoice,
        Self::TopP,
    ];

    /// The name in files: for a parameter that authors state, its key in a contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::MaxOutputTokens => "max_output_tokens",
            Self::MaxTokensName => "max_tokens_name",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::ProviderOptions => "provider_options",
            Self::ProviderState => "provider_state",
            Self::Reasoning => "reasoning",
            Self::ReasoningForm => "reasoning_form",
            Self::RepeatPenalty => "repeat_penalty",
            Self::ResponseFormat => "response_format",
            Self::Seed => "seed",
            Self::Stop => "stop",
            Self::Store => "store",
            Self::StreamOptions => "stream_options",
            Self::Temperature => "temperature",
            Self::ToolChoice => "tool_choice",
            Self::TopP => "top_p",
        }
    }

    /// The names in requests and error reports, over all protocols.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Include => &["include"],
            Self::MaxOutputTokens => &[
                "max_tokens",
                "max_completion_tokens",
                "max_output_tokens",
                "maxOutputTokens",
                "num_predict",
            ],
            // Told from a refused limit by the name that the provider asks for, and by the author's own keys.
            Self::MaxTokensName | Self::ProviderOptions => &[],
            Self::ParallelToolCalls => &["parallel_tool_calls"],
            Self::ProviderState => &[
                "encrypted_content",
                "extra_content",
                "phase",
                "provider_specific_fields",
                "reasoning_content",
                "reasoning_details",
                "thinking_blocks",
                "thoughtSignature",
                "thought_signature",
            ],
            Self::Reasoning => &[
                "reasoning",
                "reasoning_effort",
                "thinking",
                "think",
                "thinkingConfig",
                "thinking_config",
                "output_config",
                "thinking_budget",
                "thinkingBudget",
                "thinking_level",
                "thinkingLevel",
                "budget_tokens",
            ],
            // Told from a refused budget by the words about it.
            Self::ReasoningForm => &["thinking", "budget_tokens"],
            Self::RepeatPenalty => &["repeat_penalty", "repetition_penalty"],
            Self::ResponseFormat => &[
                "response_format",
                "output_format",
                "format",
                "text",
                "responseMimeType",
                "response_mime_type",
                "responseJsonSchema",
                "response_json_schema",
                "responseSchema",
                "response_schema",
            ],
            Self::Seed => &["seed"],
            Self::Stop => &["stop", "stop_sequences", "stopSequences"],
            Self::Store => &["store"],
            Self::StreamOptions => &["stream_options", "include_usage"],
            Self::Temperature => &["temperature"],
            Self::ToolChoice => &["tool_choice", "toolConfig", "tool_config"],
            Self::TopP => &["top_p", "topP"],
        }
    }

    /// The parameter of that name: the first that has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|parameter| parameter.names().contains(&name))
    }
}
