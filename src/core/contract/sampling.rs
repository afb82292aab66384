//! Resolves sampling parameters from the author's layers. Does not know which protocol sends them.

use super::spec::SAMPLING;
use super::{
    BigCount, ModelSpec, ProviderSpec, Sampling, SamplingDefaults, SamplingSpec, Setting,
    TargetSpec,
};
use crate::message::Parameter;

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

    /// The first setting; `default_value` if there is none, and None if the first switches it off.
    fn pick<T: Clone>(
        &self,
        key: impl Fn(&SamplingSpec) -> &Setting<T>,
        default_value: Option<T>,
    ) -> Option<T> {
        let settings = self.0.iter().map(|layer| key(layer));
        let mut settings = settings.filter(|setting| !matches!(setting, Setting::Unset));
        match settings.next() {
            None | Some(Setting::Unset) => default_value,
            Some(Setting::Off) => None,
            Some(Setting::Value(value)) => Some(value.clone()),
        }
    }

    /// True if the first setting switches it off.
    fn is_off<T>(&self, key: impl Fn(&SamplingSpec) -> &Setting<T>) -> bool {
        let settings = self.0.iter().map(|layer| key(layer));
        let mut settings = settings.filter(|setting| !matches!(setting, Setting::Unset));
        settings
            .next()
            .is_some_and(|setting| matches!(setting, Setting::Off))
    }

    /// The keys that requests carry although no layer states them.
    fn defaulted(&self) -> Vec<String> {
        let unset = [
            (
                Parameter::MaxOutputTokens,
                self.is_unset(|s| &s.max_output_tokens),
            ),
            (
                Parameter::RepeatPenalty,
                self.is_unset(|s| &s.repeat_penalty),
            ),
            (Parameter::Seed, self.is_unset(|s| &s.seed)),
            (Parameter::Temperature, self.is_unset(|s| &s.temperature)),
            (Parameter::TopP, self.is_unset(|s| &s.top_p)),
        ];
        let unset = unset.into_iter().filter(|(_, is_unset)| *is_unset);
        unset.map(|(key, _)| key.as_str().to_owned()).collect()
    }

    fn is_unset<T>(&self, key: impl Fn(&SamplingSpec) -> &Setting<T>) -> bool {
        let mut settings = self.0.iter().map(|layer| key(layer));
        settings.all(|setting| matches!(setting, Setting::Unset))
    }

    /// The parameters, every default filled in.
    pub(super) fn resolved(
        &self,
        target: &TargetSpec,
        provider: &ProviderSpec,
        default_value: &SamplingDefaults,
    ) -> Sampling {
        let mapped = model_of(target, provider)
            .and_then(|model| model.reasoning.as_ref())
            .or(provider.reasoning.as_ref());
        let level = self.pick(|s| &s.reasoning, None);
        let value = match (&level, mapped) {
            (Some(level), Some(map)) => Some(map.of(level).cloned()),
            (None, _) | (_, None) => None,
        };
        let longest = default_value
            .max_output_tokens
            .unwrap_or(SAMPLING.max_output_tokens.default_value);
        Sampling {
            caching: self
                .pick(
                    |s| &s.caching,
                    Some(SAMPLING.caching.default_value.to_owned()),
                )
                .unwrap_or_else(|| "none".to_owned()),
            defaulted: self.defaulted(),
            max_output_tokens: self
                .pick(|s| &s.max_output_tokens, Some(longest))
                .unwrap_or(longest),
            max_output_tokens_unsent: self.is_off(|s| &s.max_output_tokens),
            // A level that the map switches off is not asked for at all.
            reasoning: level.filter(|_| value != Some(None)),
            reasoning_tokens: self.pick(|s| &s.reasoning_tokens, None),
            reasoning_value: value.flatten(),
            repeat_penalty: self.pick(
                |s| &s.repeat_penalty,
                Some(
                    default_value
                        .repeat_penalty
                        .unwrap_or(SAMPLING.repeat_penalty.default_value),
                ),
            ),
            seed: self
                .pick(|s| &s.seed, Some(SAMPLING.seed.default_value))
                .map(BigCount),
            stop: self.pick(|s| &s.stop, None).unwrap_or_default(),
            stream: self
                .0
                .iter()
                .find_map(|s| s.stream)
                .unwrap_or(SAMPLING.stream.default_value),
            temperature: self.pick(
                |s| &s.temperature,
                Some(
                    default_value
                        .temperature
                        .unwrap_or(SAMPLING.temperature.default_value),
                ),
            ),
            top_p: self.pick(
                |s| &s.top_p,
                Some(default_value.top_p.unwrap_or(SAMPLING.top_p.default_value)),
            ),
        }
    }
}

/// The provider's layer for the target's model.
pub(super) fn model_of<'a>(
    target: &TargetSpec,
    provider: &'a ProviderSpec,
) -> Option<&'a ModelSpec> {
    provider.models.get(&target.model)
}
