//! Which sampling keys a protocol does not send. Knows protocols; changes no request.

use super::protocol::Protocol;
use crate::contract::{ProviderType, Sampling, TargetTerms, Terms};

/// The keys of a target's `sampling` that its requests do not carry, because the protocol has no field for them or takes
/// none beside another. Sorted. Nothing that an author states is left out without standing here.
pub(super) fn unsent(protocol: Protocol, terms: &Terms, target: &TargetTerms) -> Vec<&'static str> {
    let sampling = &target.sampling;
    let provider = terms.providers.get(&target.provider);
    let openai = provider.is_none_or(|p| p.provider_type == ProviderType::Openai);
    let mut keys = Vec::new();
    let mut lacks = |key: &'static str, states: bool| {
        if states {
            keys.push(key);
        }
    };
    let counted = sampling.reasoning_tokens.is_some();
    let has_level = sampling.reasoning.is_some();
    let penalises = sampling.repeat_penalty.is_some();
    let (warm, top_p) = (sampling.temperature.is_some(), sampling.top_p.is_some());
    lacks(
        "caching",
        protocol != Protocol::Anthropic && sampling.caching == "none",
    );
    match protocol {
        Protocol::OpenaiChat => {
            lacks("reasoning_tokens", counted && !sampling.reasoning_off());
            lacks("repeat_penalty", openai && penalises);
        }
        Protocol::OpenaiResponses | Protocol::Bedrock => {
            let reasons = sampling.reasoning_word().is_some();
            lacks("reasoning_tokens", counted && !sampling.reasoning_off());
            lacks("repeat_penalty", penalises);
            lacks("seed", sampling.seed.is_some());
            lacks("stop", !sampling.stop.is_empty());
            lacks("temperature", reasons && warm);
            lacks("top_p", reasons && top_p);
        }
        Protocol::Anthropic => {
            let thinks = super::anthropic::thinks(sampling);
            lacks("repeat_penalty", penalises);
            lacks("seed", sampling.seed.is_some());
            lacks("temperature", thinks && warm);
            lacks("top_p", top_p && (thinks || is_unset(sampling)));
        }
        Protocol::Gemini => {
            let large = |seed: crate::contract::BigCount| i32::try_from(seed.0).is_err();
            lacks("repeat_penalty", penalises);
            lacks("seed", sampling.seed.is_some_and(large));
        }
        Protocol::LocalHermes => {
            lacks("reasoning", has_level);
            lacks("reasoning_tokens", counted);
            lacks("stop", !sampling.stop.is_empty());
        }
        Protocol::Ollama => lacks("reasoning_tokens", counted && !sampling.reasoning_off()),
        Protocol::OpenrouterChat => {}
    }
    keys
}

/// A `top_p` of 1 is what a request without one has.
fn is_unset(sampling: &Sampling) -> bool {
    sampling.top_p.is_some_and(|p| p >= 1.0)
}
