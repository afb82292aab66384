//! Model profiles and how models match them. Asks no model.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ProviderType, TextProfile};

/// The known facts about a model family, before any of its models is asked. Data: `contracts/profiles/`, and `model_profiles`
/// of a contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelProfile {
    /// The window in tokens; null where no window can be assumed.
    pub context_window: Option<u64>,
    /// One sentence for people.
    pub description: String,
    /// Languages of the token gate that can be had with the model; `lark/1` is the embedded engine's.
    pub grammar_profiles: Vec<String>,
    /// Its name in contracts.
    pub id: String,
    /// The targets that it describes.
    #[serde(rename = "match")]
    pub matches: Vec<ProfileMatch>,
    /// Format retries of a run whose file names none; strict profiles have 0 or 1 (002 §4.1).
    pub max_format_retries: u32,
    /// Parameters of targets where neither target nor file says otherwise; null leaves them to the rules of the contract.
    #[serde(default)]
    pub sampling: SamplingDefaults,
    /// True if answers are judged strictly when the file does not say (002 §4.1).
    #[serde(default = "strict")]
    pub strict_mode: bool,
    /// True if it calls tools through its provider's own form.
    pub supports_native_tools: bool,
    /// The layout of conversations that its weights expect; null leaves it to the provider. The embedded engine lays out only
    /// `chatml`.
    #[serde(default)]
    pub template: Option<String>,
    /// The forms in which it writes calls into its text. If it has no native calls, the first form is used unless the
    /// contract's author says otherwise.
    pub text_profiles: Vec<TextProfile>,
    /// Tokenizer for estimates, by its id or by the name of a model that is known to use it; null is bytes / 4.
    pub tokenizer: Option<String>,
}

const fn strict() -> bool {
    true
}

/// Parameters that a family of models is best asked with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingDefaults {
    /// Tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// At least 0.
    pub repeat_penalty: Option<f64>,
    /// 0 to 2.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
}

/// Models of some providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfileMatch {
    /// Names, case-insensitive; `*` stands for any run of characters.
    pub models: Vec<String>,
    /// Their provider types.
    pub providers: Vec<ProviderType>,
}

/// Every profile in the order of matching; the last one matches every target.
const FILES: [&str; 15] = [
    include_str!("../../../contracts/profiles/scripted.json"),
    include_str!("../../../contracts/profiles/smollm2-135m.json"),
    include_str!("../../../contracts/profiles/hermes-3.json"),
    include_str!("../../../contracts/profiles/hermes.json"),
    include_str!("../../../contracts/profiles/llama-3.json"),
    include_str!("../../../contracts/profiles/qwen.json"),
    include_str!("../../../contracts/profiles/mistral.json"),
    include_str!("../../../contracts/profiles/openai-chat-default.json"),
    include_str!("../../../contracts/profiles/openai-responses-default.json"),
    include_str!("../../../contracts/profiles/openai-o200k.json"),
    include_str!("../../../contracts/profiles/anthropic-default.json"),
    include_str!("../../../contracts/profiles/google-default.json"),
    include_str!("../../../contracts/profiles/openrouter-default.json"),
    include_str!("../../../contracts/profiles/ollama-default.json"),
    include_str!("../../../contracts/profiles/unknown.json"),
];

static PROFILES: LazyLock<Vec<ModelProfile>> = LazyLock::new(|| {
    // The files are part of the program; a test reads each of them.
    let parsed = FILES.iter().map(|text| serde_json::from_str(text));
    parsed.filter_map(Result::ok).collect()
});

impl ModelProfile {
    /// Every profile, in the order of matching.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &PROFILES
    }

    /// Returns the form that is read if the contract's author names none: none if the model has native calls.
    #[must_use]
    pub fn usual_text_profile(&self) -> Option<TextProfile> {
        let first = self.text_profiles.first().copied();
        first.filter(|_| !self.supports_native_tools)
    }

    /// The profile of that id.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.id == id)
    }

    /// The first profile that describes a model; None only where the table is broken.
    #[must_use]
    pub fn describing(provider: ProviderType, model: &str) -> Option<&'static Self> {
        PROFILES
            .iter()
            .find(|profile| profile.describes(provider, model))
    }

    /// The profiles that describe models of that provider and give them a window, with their tokens.
    pub fn windows_for(provider: ProviderType) -> Vec<(&'static str, u64)> {
        let of_provider = |profile: &&Self| {
            let mut matches = profile.matches.iter();
            matches.any(|m| m.providers.contains(&provider))
        };
        let profiles = PROFILES.iter().filter(of_provider);
        let known = profiles.filter_map(|own| Some((own.id.as_str(), own.context_window?)));
        known.collect()
    }

    /// True if it describes that model of that provider.
    #[must_use]
    pub fn describes(&self, provider: ProviderType, model: &str) -> bool {
        let model = model.to_lowercase();
        let fits_one = |m: &ProfileMatch| m.models.iter().any(|glob| fits(glob, &model));
        self.matches
            .iter()
            .any(|m| m.providers.contains(&provider) && fits_one(m))
    }
}

/// True if `text` fits a pattern in which `*` is any run of characters. Linear in pattern × text.
fn fits(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_read_and_has_its_own_id() {
        let ids: Vec<&str> = ModelProfile::all().iter().map(|p| p.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "scripted",
                "smollm2-135m",
                "hermes-3",
                "hermes",
                "llama-3",
                "qwen",
                "mistral",
                "openai-chat-default",
                "openai-responses-default",
                "openai-o200k",
                "anthropic-default",
                "google-default",
                "openrouter-default",
                "ollama-default",
                "unknown"
            ]
        );
        for text in FILES {
            serde_json::from_str::<ModelProfile>(text).unwrap();
        }
    }

    #[test]
    fn a_model_is_described_by_the_first_profile_that_fits() {
        let check = |provider, model: &str, expect: &str| {
            let found = ModelProfile::describing(provider, model).map(|p| p.id.as_str());
            assert_eq!(found, Some(expect), "{provider:?} {model}");
        };
        check(ProviderType::Scripted, "script", "scripted");
        check(ProviderType::Scripted, "gpt-4o", "scripted");
        check(ProviderType::Openai, "gpt-4o-mini", "openai-chat-default");
        check(ProviderType::Openai, "GPT-4o", "openai-chat-default");
        check(ProviderType::Openai, "o3", "openai-chat-default");
        check(ProviderType::Openai, "gpt-6-luna", "openai-chat-default");
        check(ProviderType::Openai, "gpt-3", "unknown");
        check(
            ProviderType::Openrouter,
            "openai/gpt-4o",
            "openai-chat-default",
        );
        check(ProviderType::Openrouter, "gpt-4o", "unknown");
        check(
            ProviderType::Openai,
            "HuggingFaceTB/SmolLM2-135M-Instruct.Q4_1.gguf",
            "smollm2-135m",
        );
        check(ProviderType::Local, "smollm2:135m", "smollm2-135m");
        check(ProviderType::Openai, "Hermes-3-Llama-3.1-8B", "hermes-3");
        check(ProviderType::Openai, "NousResearch/Hermes-4-70B", "hermes");
        check(
            ProviderType::Openai,
            "meta-llama/Llama-3.1-8B-Instruct",
            "llama-3",
        );
        check(ProviderType::Ollama, "llama3.2:3b", "llama-3");
        check(ProviderType::Openai, "Meta-Llama-3-8B-Instruct", "unknown");
        check(ProviderType::Openai, "Qwen/Qwen2.5-7B-Instruct", "qwen");
        check(
            ProviderType::Openai,
            "Qwen/Qwen2.5-Math-7B-Instruct",
            "unknown",
        );
        check(ProviderType::Ollama, "qwen3:8b", "qwen");
        check(ProviderType::Openai, "mistral-large-latest", "mistral");
        check(ProviderType::Anthropic, "", "unknown");
        check(ProviderType::Anthropic, "claude-x-1", "anthropic-default");
        check(ProviderType::Google, "gemini-9-pro", "google-default");
        check(
            ProviderType::Openrouter,
            "anthropic/claude-x-1",
            "anthropic-default",
        );
        check(
            ProviderType::OpenaiResponses,
            "o3",
            "openai-responses-default",
        );
        check(ProviderType::Openrouter, "a/b", "openrouter-default");
        check(ProviderType::Ollama, "b", "ollama-default");
    }

    #[test]
    fn a_model_without_calls_of_its_own_writes_them_in_the_first_form_it_knows() {
        let check = |id: &str, expect: Option<TextProfile>| {
            let profile = ModelProfile::by_id(id).unwrap();
            assert_eq!(profile.usual_text_profile(), expect, "{id}");
        };
        check("smollm2-135m", Some(TextProfile::Hermes));
        check("hermes-3", Some(TextProfile::Hermes));
        check("qwen", None);
        check("mistral", None);
        check("unknown", None);
    }

    /// A maker who sells a model by its name sets its parameters himself: only what people run on their own has defaults.
    #[test]
    fn families_of_open_models_have_the_parameters_that_their_makers_advise() {
        let check = |id: &str, temperature: Option<f64>, top_p: Option<f64>| {
            let sampling = &ModelProfile::by_id(id).unwrap().sampling;
            assert_eq!(
                (sampling.temperature, sampling.top_p),
                (temperature, top_p),
                "{id}"
            );
        };
        check("smollm2-135m", Some(0.2), Some(0.9));
        check("qwen", Some(0.7), Some(0.8));
        check("llama-3", Some(0.6), Some(0.9));
        check("hermes-3", Some(0.8), None);
        check("mistral", Some(0.3), None);
        for profile in ModelProfile::all() {
            let id = &profile.id;
            let family = profile.template.is_some();
            assert!(
                family || profile.sampling == SamplingDefaults::default(),
                "{id}"
            );
            assert!(profile.strict_mode, "{id}");
            assert!(
                profile.template.as_deref().is_none_or(|t| !t.is_empty()),
                "{id}"
            );
        }
    }

    #[test]
    fn a_star_is_any_run_of_characters() {
        for (glob, text, expect) in [
            ("*", "", true),
            ("a*", "a", true),
            ("a*b", "ab", true),
            ("a*b", "axbx", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab", "abc", false),
            ("*ab*", "xxabyy", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(glob, text), expect, "{glob} {text}");
        }
    }
}
