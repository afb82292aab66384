//! Providers and targets of a contract. Plain data; reaches nothing.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{BigCount, ModelFacts, ThinkingForm};
use crate::message::{Parameter, StateTarget};

/// The wire protocol of a provider.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ProviderType {
    /// OpenAI chat completions, and every server that speaks them.
    #[default]
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

    /// The environment variable that usually holds its key; none if no key is needed.
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

    /// The hosts of the provider itself. To no other does a key go that the author does not name.
    #[must_use]
    pub const fn own_hosts(self) -> &'static [&'static str] {
        match self {
            Self::Openai | Self::OpenaiResponses => {
                &["api.openai.com", "eu.api.openai.com", "us.api.openai.com"]
            }
            Self::Anthropic => &["api.anthropic.com"],
            Self::Google => &["generativelanguage.googleapis.com"],
            Self::Openrouter => &["openrouter.ai", "eu.openrouter.ai"],
            Self::Ollama | Self::Local | Self::Scripted => &[],
        }
    }

    /// The variable whose value is sent to that address where the author names none: the usual one, to one of the provider's own hosts,
    /// over TLS, at its usual port. The address is read as the client reads it.
    ///
    /// ```
    /// use monolith_core::contract::ProviderType;
    ///
    /// let variable = |url| ProviderType::Openai.key_env_at(url);
    /// assert_eq!(variable("https://api.openai.com/v1"), Some("OPENAI_API_KEY"));
    /// assert_eq!(variable("https://api.openai.com@example.org/v1"), None);
    /// ```
    #[must_use]
    pub fn key_env_at(self, address: &str) -> Option<&'static str> {
        let address = Url::parse(address).ok()?;
        let own = address
            .host_str()
            .is_some_and(|host| self.own_hosts().contains(&host));
        let direct = address.scheme() == "https" && address.port().is_none();
        self.usual_key_env().filter(|_| own && direct)
    }

    /// Its public address, version included; none if there is no address.
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

    /// Returns the usual end of its addresses, such as `/v1`, if this one lacks it.
    #[must_use]
    pub fn lacking_end(self, address: &str) -> Option<&'static str> {
        let (_, usual) = self.usual_base_url()?.split_once("//")?;
        let (end_at, _) = usual.rmatch_indices('/').next()?;
        let end = usual.get(end_at..)?;
        let (path, _) = address.split_once('?').unwrap_or((address, ""));
        (!path.trim_end_matches('/').ends_with(end)).then_some(end)
    }
}

/// A provider's value for a level of reasoning (001 §6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ReasoningValue {
    /// Tokens of reasoning.
    Tokens(u64),
    /// The provider's own word.
    Word(String),
}

/// Decoding parameters, resolved for one target and clamped (001 §2). Null is not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Prompt caching: `full` or `none`.
    pub caching: String,
    /// Keys that requests carry although the author states none of them; sorted, omitted if there is none. A provider that refuses one
    /// does not refuse the author.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaulted: Vec<String>,
    /// Tokens a response may have.
    pub max_output_tokens: u64,
    /// True if requests omit `max_output_tokens`: the tokens are still reserved. Omitted if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub max_output_tokens_unsent: bool,
    /// `minimal`, `low`, `medium` or `high`.
    pub reasoning: Option<String>,
    /// Tokens for reasoning.
    pub reasoning_tokens: Option<u64>,
    /// This provider's value for the level, if the author states one; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_value: Option<ReasoningValue>,
    /// At least 0.
    pub repeat_penalty: Option<f64>,
    /// The seed; sent where the protocol has one.
    pub seed: Option<BigCount>,
    /// Texts that end a response; left out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// True if responses are streamed.
    pub stream: bool,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
}

/// Origin of a parameter in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterOrigin {
    /// A default, or a member that monolith adds.
    Default,
    /// The author's word.
    Stated,
}

impl Sampling {
    /// Origin of a parameter; `None` if requests do not carry it.
    pub(super) fn origin(&self, parameter: Parameter) -> Option<ParameterOrigin> {
        let is_sent = match parameter {
            Parameter::MaxOutputTokens => !self.max_output_tokens_unsent,
            Parameter::Reasoning => self.reasoning.is_some() || self.reasoning_tokens.is_some(),
            // The author states the level, not its form.
            Parameter::ReasoningForm => {
                let is_level = self.reasoning.is_some() && self.reasoning_count().is_none();
                return is_level.then_some(ParameterOrigin::Default);
            }
            Parameter::ProviderOptions => return Some(ParameterOrigin::Stated),
            Parameter::RepeatPenalty => self.repeat_penalty.is_some(),
            Parameter::Seed => self.seed.is_some(),
            Parameter::Stop => !self.stop.is_empty(),
            Parameter::Temperature => self.temperature.is_some(),
            Parameter::TopP => self.top_p.is_some(),
            Parameter::Include
            | Parameter::MaxTokensName
            | Parameter::ParallelToolCalls
            | Parameter::ProviderState
            | Parameter::ResponseFormat
            | Parameter::Store
            | Parameter::StreamOptions
            | Parameter::ToolChoice => return Some(ParameterOrigin::Default),
        };
        is_sent.then_some(if self.is_stated(parameter.as_str()) {
            ParameterOrigin::Stated
        } else {
            ParameterOrigin::Default
        })
    }

    /// The limit of a response, where requests state it.
    #[must_use]
    pub fn sent_limit(&self) -> Option<u64> {
        (!self.max_output_tokens_unsent).then_some(self.max_output_tokens)
    }

    /// True if a count of 0 switches reasoning off.
    #[must_use]
    pub fn reasoning_off(&self) -> bool {
        self.reasoning_tokens == Some(0)
    }

    /// The tokens of reasoning that are stated; none if a level or nothing is.
    #[must_use]
    pub fn reasoning_count(&self) -> Option<u64> {
        match (self.reasoning_tokens, &self.reasoning_value) {
            (None, Some(ReasoningValue::Tokens(tokens))) => Some(*tokens),
            (tokens, _) => tokens.filter(|tokens| *tokens > 0),
        }
    }

    /// The provider's own word for the level, where the author gives one.
    #[must_use]
    pub fn reasoning_own_word(&self) -> Option<&str> {
        match &self.reasoning_value {
            Some(ReasoningValue::Word(word)) if !self.reasoning_off() => Some(word),
            Some(_) | None => None,
        }
    }

    /// The level, where the author gives it no value of the provider's own.
    #[must_use]
    pub fn reasoning_level(&self) -> Option<&str> {
        let level = self.reasoning.as_deref();
        level.filter(|_| self.reasoning_value.is_none() && !self.reasoning_off())
    }

    /// True if the author states that key.
    #[must_use]
    pub fn is_stated(&self, key: &str) -> bool {
        !self.defaulted.iter().any(|defaulted| defaulted == key)
    }
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
    /// Facts about the model from the catalogue of models; omitted where the contract uses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ModelFacts>,
    /// The exposed tools that requests to this target leave out, each with the reason; left out where there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// The model's name at the provider.
    pub model: String,
    /// Identity of the weights: a file's hash, or provider and name for a remote model.
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
    /// True if it only makes summaries: no attempt uses it. Such a target is the last one; omitted if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summarizer: bool,
    /// Tokens of an embedded model's vocabulary; left out where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
}

impl TargetTerms {
    /// True if `name` is its name: `provider/model`, or the model's name alone.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.provider);
        let whole = rest.and_then(|rest| rest.strip_prefix('/'));
        name == self.model || whole == Some(&self.model)
    }

    /// True if the model or its vendor is known to refuse that parameter of the protocol.
    #[must_use]
    pub fn refuses(&self, parameter: &str) -> bool {
        let facts = self.facts.as_ref();
        facts.is_some_and(|facts| facts.refuses(parameter))
    }

    /// The form in which the model is asked to reason; None for a number of tokens.
    #[must_use]
    pub fn thinking(&self) -> Option<ThinkingForm> {
        self.facts.as_ref()?.thinking
    }

    /// The model's word for the author's level of reasoning: the author's own, else the one that the catalogue knows. None for no level
    /// and for a model whose words are not known.
    #[must_use]
    pub fn known_effort(&self) -> Option<&str> {
        let facts = self.facts.as_ref();
        let known = || facts?.effort(self.sampling.reasoning_level()?);
        self.sampling.reasoning_own_word().or_else(known)
    }

    /// The word for the effort of reasoning, of a protocol that has words alone: the model's, else the level itself, and `none` for a
    /// model that has it where the author switches reasoning off.
    #[must_use]
    pub fn effort(&self) -> Option<&str> {
        let facts = self.facts.as_ref();
        let words = facts.map_or(&[][..], |facts| &facts.efforts);
        let none = words
            .iter()
            .map(String::as_str)
            .find(|word| *word == "none");
        let off = none.filter(|_| self.sampling.reasoning_off());
        let known = self.known_effort();
        known.or_else(|| self.sampling.reasoning_level()).or(off)
    }

    /// The owner of the state that comes with this target's messages.
    #[must_use]
    pub fn owner_of_state(&self) -> StateTarget {
        StateTarget {
            adapter_version: self.adapter_version.clone(),
            model: self.model.clone(),
            provider: self.provider.clone(),
        }
    }
}

/// The access to a provider; never a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderTerms {
    /// Name of the environment variable that holds the key; null where none is sent. Null, too, where the address is in a variable
    /// and the author names no key: then the usual one is sent, to a host of the provider's own.
    pub api_key_env: Option<String>,
    /// Base URL, with only the names in its query; null for embedded and scripted providers, and if a variable holds the
    /// address.
    pub base_url: Option<String>,
    /// Name of the environment variable that holds the address; left out where `base_url` is the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url_env: Option<String>,
    /// The script of a scripted provider, as the author wrote it.
    pub file: Option<String>,
    /// Names of extra headers; their values are resolved when a request is sent.
    pub header_names: Vec<String>,
    /// Variables that feed each header; omitted if none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub header_variables: BTreeMap<String, Vec<String>>,
    /// Members of every request, as the author's JSON text; left out where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_options: Option<String>,
    /// The wire protocol.
    #[serde(rename = "type")]
    pub provider_type: ProviderType,
    /// The tools that its models are offered, where not all; `*` and `any` mean every tool. Left out where there is no such list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_allowed: Option<Vec<String>>,
    /// The tools that its models are not offered, whatever `tools_allowed` says; left out where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_denied: Vec<String>,
}

/// The format of calls in a model's text, for models without native calls on the wire. Data of model profiles; the adapter
/// given to a target names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextProfile {
    /// `<tool_call>` around a JSON object with `name` and `arguments`.
    Hermes,
    /// A JSON object with `name` and `parameters`, the whole message or after `<|python_tag|>`.
    Llama3,
    /// The calls of `hermes` under the prompt and the results that Qwen models know.
    Qwen,
}

/// Every adapter of a wire protocol that a text profile can be laid over: its version, the profile, the version of both.
macro_rules! layered {
    ($($wire:literal $edition:literal),+ $(,)?) => {
        &[$(
            (concat!($wire, $edition), TextProfile::Hermes, concat!($wire, "+hermes", $edition)),
            (concat!($wire, $edition), TextProfile::Llama3, concat!($wire, "+llama3", $edition)),
            (concat!($wire, $edition), TextProfile::Qwen, concat!($wire, "+qwen", $edition)),
        )+]
    };
}

const LAYERED: &[(&str, TextProfile, &str)] = layered![
    "ollama-chat" "/1",
    "openai-chat" "/1",
    "openrouter-chat" "/1",
];

impl TextProfile {
    /// Every profile.
    pub const ALL: [Self; 3] = [Self::Hermes, Self::Llama3, Self::Qwen];

    /// True if `<tool_call>` tags enclose the calls: the form that the token gate's grammar writes.
    #[must_use]
    pub const fn is_tagged(self) -> bool {
        matches!(self, Self::Hermes | Self::Qwen)
    }

    /// The adapter version of this profile over the wire protocol of that adapter version; none if it has none.
    #[must_use]
    pub fn over(self, wire: &str) -> Option<&'static str> {
        let found = LAYERED.iter().find(|(w, p, _)| *w == wire && *p == self);
        found.map(|(_, _, version)| *version)
    }

    /// The wire protocol's adapter version and the profile of an adapter version that names both.
    #[must_use]
    pub fn of_version(version: &str) -> Option<(&'static str, Self)> {
        let found = LAYERED.iter().find(|(_, _, v)| *v == version);
        found.map(|(wire, profile, _)| (*wire, *profile))
    }
}
