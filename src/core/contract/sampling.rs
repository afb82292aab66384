//! Resolves sampling parameters from the author's layers. Does not know which protocol sends them.

use super::spec::SAMPLING;
use super::{
    BigCount, ContractSpec, ModelFacts, ModelSpec, ProviderSpec, ProviderType, Sampling,
    SamplingDefaults, SamplingSpec, Setting, TargetSpec, Terms,
};
use crate::message::Parameter;

/// Tokens that are reserved for an answer whose length nothing bounds (001 §2).
const MAX_OUTPUT_TOKENS: u64 = 4096;
/// Defaults of agent files (001 §2), and of embedded models, which no server gives any.
const REPEAT_PENALTY: f64 = 1.1;
const TEMPERATURE: f64 = 0.7;
const TOP_P: f64 = 1.0;

/// The parameters that requests carry although no author stated them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unstated {
    /// The defaults of 001 §2, for an agent file.
    Agent,
    /// All parameters: the embedded engine has no defaults.
    Embedded,
    /// No parameters: the provider has its own defaults.
    Left,
}

/// The inputs of a target's parameters besides the author's layers.
pub(super) struct Model<'a> {
    /// Facts about it, where there are any.
    pub(super) facts: Option<&'a ModelFacts>,
    /// Parameters of its profile.
    pub(super) profile: &'a SamplingDefaults,
    /// True if the author wrote the profile.
    pub(super) profile_is_own: bool,
}

/// The author's parameters for one target, most specific first (semantics §4, 001 §6): target, model at its provider, provider,
/// file. Command-line values for any of them take precedence over everything in the file.
pub(super) struct Layers<'a>(Vec<&'a SamplingSpec>);

impl<'a> Layers<'a> {
    pub(super) fn of(
        target: &'a TargetSpec,
        provider: &'a ProviderSpec,
        file: &'a SamplingSpec,
    ) -> Self {
        let model = model_of(target, provider).map(|model| &model.overrides);
        let written = [
            Some(&target.sampling),
            model,
            Some(&provider.overrides),
            Some(file),
        ];
        let written = written.into_iter().flatten();
        let commanded = written.clone().filter_map(|l| l.commanded.as_deref());
        Self(commanded.chain(written).collect())
    }

    /// The first setting; unset if no layer has one.
    fn first<T: Clone>(&self, key: impl Fn(&SamplingSpec) -> &Setting<T>) -> Setting<T> {
        let settings = self.0.iter().map(|layer| key(layer));
        let mut settings = settings.filter(|setting| !matches!(setting, Setting::Unset));
        settings.next().cloned().unwrap_or(Setting::Unset)
    }

    /// The first setting; `default_value` if there is none, and None if the first switches it off.
    fn pick<T: Clone>(
        &self,
        key: impl Fn(&SamplingSpec) -> &Setting<T>,
        default_value: Option<T>,
    ) -> Option<T> {
        match self.first(key) {
            Setting::Unset => default_value,
            Setting::Off => None,
            Setting::Value(value) => Some(value),
        }
    }

    /// The parameters. What no author states is null, or has its name in `defaulted`. A delegated run states how long an answer may be: its
    /// budget depends on it.
    pub(super) fn resolved(
        &self,
        (target, provider): (&TargetSpec, &ProviderSpec),
        model: &Model<'_>,
        spec: &ContractSpec,
    ) -> Sampling {
        let mapped = model_of(target, provider)
            .and_then(|model| model.reasoning.as_ref())
            .or(provider.reasoning.as_ref());
        let level = self.pick(|s| &s.reasoning, None);
        let value = match (&level, mapped) {
            (Some(level), Some(map)) => Some(map.of(level).cloned()),
            (None, _) | (_, None) => None,
        };
        let unstated = match provider.provider_type {
            ProviderType::Local => Unstated::Embedded,
            _ if spec.sends_defaults => Unstated::Agent,
            _ => Unstated::Left,
        };
        let mut defaulted = Vec::new();
        let mut number = |name: &'static str,
                          key: fn(&SamplingSpec) -> &Setting<f64>,
                          of_profile: Option<f64>,
                          built_in: f64| {
            let default_value = of_profile.unwrap_or(built_in);
            let refused = model.facts.is_some_and(|facts| facts.refuses(name));
            match self.first(key) {
                Setting::Value(value) => Some(value),
                Setting::Off => None,
                Setting::Unset if model.profile_is_own && of_profile.is_some() => of_profile,
                Setting::Unset => match unstated {
                    Unstated::Embedded => Some(default_value),
                    Unstated::Agent if !refused => {
                        defaulted.push(name.to_owned());
                        Some(default_value)
                    }
                    Unstated::Agent | Unstated::Left => None,
                },
            }
        };
        let repeat_penalty = number(
            SAMPLING.repeat_penalty.name,
            |s| &s.repeat_penalty,
            model.profile.repeat_penalty,
            REPEAT_PENALTY,
        );
        let temperature = number(
            SAMPLING.temperature.name,
            |s| &s.temperature,
            model.profile.temperature,
            TEMPERATURE,
        );
        let top_p = number(
            SAMPLING.top_p.name,
            |s| &s.top_p,
            model.profile.top_p,
            TOP_P,
        );
        let known = model.facts.and_then(|facts| facts.max_output_tokens);
        let usual = model.profile.max_output_tokens.unwrap_or(MAX_OUTPUT_TOKENS);
        let reserved = known.map_or(usual, |most| most.min(usual));
        let (max_output_tokens, is_sent) = match self.first(|s| &s.max_output_tokens) {
            Setting::Value(tokens) => (tokens, true),
            Setting::Unset if model.profile_is_own && model.profile.max_output_tokens.is_some() => {
                (usual, true)
            }
            Setting::Unset if states_limit(provider.provider_type) => (reserved, true),
            Setting::Unset if unstated == Unstated::Agent || spec.delegation.is_some() => {
                defaulted.push(SAMPLING.max_output_tokens.name.to_owned());
                (reserved, true)
            }
            Setting::Off | Setting::Unset => (reserved, false),
        };
        let seed = (unstated == Unstated::Embedded).then_some(0);
        defaulted.sort_unstable();
        Sampling {
            caching: self
                .pick(
                    |s| &s.caching,
                    Some(SAMPLING.caching.default_value.to_owned()),
                )
                .unwrap_or_else(|| "none".to_owned()),
            defaulted,
            max_output_tokens,
            max_output_tokens_unsent: !is_sent,
            // A level that the map switches off is not asked for at all.
            reasoning: level.filter(|_| value != Some(None)),
            reasoning_tokens: self.pick(|s| &s.reasoning_tokens, None),
            reasoning_value: value.flatten(),
            repeat_penalty,
            seed: self.pick(|s| &s.seed, seed).map(BigCount),
            stop: self.pick(|s| &s.stop, None).unwrap_or_default(),
            stream: self
                .0
                .iter()
                .find_map(|s| s.stream)
                .unwrap_or(SAMPLING.stream.default_value),
            temperature,
            top_p,
        }
    }
}

/// The defaults that a request can do without: none of them limits a budget or withholds data.
const DISPENSABLE: [Parameter; 7] = [
    Parameter::ParallelToolCalls,
    Parameter::RepeatPenalty,
    Parameter::Seed,
    Parameter::StreamOptions,
    Parameter::Temperature,
    Parameter::ToolChoice,
    Parameter::TopP,
];

impl Terms {
    /// The author's own members of the requests to a target: the text of an object, empty where there are none.
    pub(crate) fn options_of(&self, index: usize) -> &str {
        let provider = self.targets.get(index);
        let provider = provider.and_then(|target| self.providers.get(&target.provider));
        let options = provider.and_then(|provider| provider.provider_options.as_deref());
        options.unwrap_or_default()
    }

    /// The parameters that a request to a target can do without. The limit of the answer is one unless the protocol or the budget of
    /// a delegation depends on it.
    pub(crate) fn dispensable(&self, index: usize) -> impl Iterator<Item = Parameter> {
        let provider = self.targets.get(index);
        let provider = provider.and_then(|target| self.providers.get(&target.provider));
        let depends = provider.is_some_and(|provider| states_limit(provider.provider_type))
            || self.delegation.as_ref().is_some_and(|d| d.depth() > 0);
        let limit = (!depends).then_some(Parameter::MaxOutputTokens);
        DISPENSABLE.into_iter().chain(limit)
    }
}

/// True if every request of the protocol states how long its answer may be.
pub(super) const fn states_limit(provider: ProviderType) -> bool {
    matches!(provider, ProviderType::Anthropic | ProviderType::Local)
}

/// The provider's layer for the target's model.
pub(super) fn model_of<'a>(
    target: &TargetSpec,
    provider: &'a ProviderSpec,
) -> Option<&'a ModelSpec> {
    provider.models.get(&target.model)
}
