//! One wire protocol in one version: the way from a contract's target to its encoder and decoder. Knows no wire shape itself.

use std::borrow::Cow;

use super::fold::{BesideCalls, Rules};
use super::parameter_types::ParameterTypes;
use super::protocol::Protocol;
use super::repair::Repairs;
use super::{
    ResponseDecoder, ResponseMeta, anthropic, gemini, local_hermes, ollama, openai_chat,
    openai_responses,
};
use crate::contract::{ProviderType, Sampling, TargetTerms, Terms, TextProfile};

/// One wire protocol in one version, alone or under a text profile: it encodes requests for a target and decodes its
/// responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    pub(super) profile: Option<TextProfile>,
    pub(super) protocol: Protocol,
    rules: Rules,
}

/// The header that carries the key of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHeader {
    /// The header's name, in lower case.
    pub name: &'static str,
    /// The prefix of the key, such as `Bearer `.
    pub prefix: &'static str,
}

impl Adapter {
    const fn of(protocol: Protocol, profile: Option<TextProfile>) -> Self {
        let rules = Rules {
            beside_calls: BesideCalls::NoAnswer,
            has_ended: false,
            is_cut: false,
            repairs: Repairs::Never,
        };
        Self {
            profile,
            protocol,
            rules,
        }
    }

    /// The same adapter, which repairs argument text where the contract is not strict (semantics §6). Without this call
    /// an adapter repairs none.
    #[must_use]
    pub const fn under(self, strict_mode: bool) -> Self {
        let repairs = if strict_mode {
            Repairs::Never
        } else {
            Repairs::Allowed
        };
        let rules = Rules {
            repairs,
            ..self.rules
        };
        Self { rules, ..self }
    }

    /// The same adapter for a response in the closing turn: no call is executed, so text beside one may be the answer.
    #[must_use]
    pub const fn closing(self) -> Self {
        let rules = Rules {
            beside_calls: BesideCalls::MayAnswer,
            ..self.rules
        };
        Self { rules, ..self }
    }

    /// The adapters of this build without text profiles, sorted by version.
    pub fn all() -> impl Iterator<Item = Self> {
        Protocol::ALL
            .into_iter()
            .map(|protocol| Self::of(protocol, None))
    }

    /// The adapter of that version, such as `openai-chat/1`.
    ///
    /// # Errors
    /// [`AdapterError::UnknownVersion`] where this build has none of that name.
    pub fn by_version(version: &str) -> Result<Self, AdapterError> {
        let (wire, profile) = match TextProfile::of_version(version) {
            Some((wire, profile)) => (wire, Some(profile)),
            None => (version, None),
        };
        let mut known = Protocol::ALL.into_iter();
        let found = known.find(|protocol| protocol.version() == wire);
        let adapter = found.map(|protocol| Self::of(protocol, profile));
        adapter.ok_or_else(|| AdapterError::UnknownVersion {
            got: version.chars().take(80).collect(),
            known: Self::versions().collect::<Vec<_>>().join(", "),
        })
    }

    /// The adapter of what recordings and scripts call a protocol, such as `gemini`; none if this build has none.
    #[must_use]
    pub fn by_proto(proto: &str) -> Option<Self> {
        Self::all().find(|adapter| adapter.proto() == proto)
    }

    /// Every version that this build has, without text profiles.
    pub fn versions() -> impl Iterator<Item = &'static str> {
        Protocol::ALL.into_iter().map(Protocol::version)
    }

    /// The adapter of a contract's target, under the contract's strictness.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or none of its version.
    pub fn of_target(terms: &Terms, index: usize) -> Result<Self, AdapterError> {
        let adapter = Self::by_version(&target(terms, index)?.adapter_version)?;
        Ok(adapter.under(terms.strict_mode))
    }

    /// The version in contracts, entries and results.
    #[must_use]
    pub fn version(self) -> &'static str {
        let wire = self.protocol.version();
        let layered = self.profile.and_then(|profile| profile.over(wire));
        layered.unwrap_or(wire)
    }

    /// The keys of a target's `sampling` that its requests do not carry, because the protocol has no field for them or takes
    /// none beside another; sorted.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or none of its version.
    pub fn unsent(terms: &Terms, index: usize) -> Result<Vec<&'static str>, AdapterError> {
        let protocol = Self::of_target(terms, index)?.protocol;
        Ok(unsent(protocol, terms, target(terms, index)?))
    }

    /// Returns the protocol's name in recordings and scripts.
    #[must_use]
    pub const fn proto(self) -> &'static str {
        self.protocol.proto()
    }

    /// True if its backend decodes under the grammar of the token gate itself, so that text through a closed gate is the
    /// backend's fault and not the model's.
    #[must_use]
    pub const fn is_embedded(self) -> bool {
        matches!(self.protocol, Protocol::LocalHermes)
    }

    /// Returns the path of requests for `target`, below the provider's base URL: segments without a leading slash, and a query
    /// if there is one.
    #[must_use]
    pub fn path(self, target: &TargetTerms) -> Cow<'static, str> {
        match self.protocol {
            Protocol::Anthropic => Cow::Borrowed(anthropic::PATH),
            Protocol::Gemini => gemini::path(target).into(),
            Protocol::LocalHermes => Cow::Borrowed(local_hermes::PATH),
            Protocol::Ollama => Cow::Borrowed(ollama::PATH),
            Protocol::OpenaiChat | Protocol::OpenrouterChat => Cow::Borrowed(openai_chat::PATH),
            // No request of the last one is ever made.
            Protocol::OpenaiResponses | Protocol::Bedrock => Cow::Borrowed(openai_responses::PATH),
        }
    }

    /// Returns the header for the key.
    #[must_use]
    pub const fn key_header(self) -> KeyHeader {
        let (name, prefix) = match self.protocol {
            Protocol::Anthropic => ("x-api-key", ""),
            Protocol::Gemini => ("x-goog-api-key", ""),
            Protocol::Bedrock
            | Protocol::LocalHermes
            | Protocol::Ollama
            | Protocol::OpenaiChat
            | Protocol::OpenaiResponses
            | Protocol::OpenrouterChat => ("authorization", "Bearer "),
        };
        KeyHeader { name, prefix }
    }

    /// Headers that every request of the protocol carries; an author's header of the same name replaces one.
    #[must_use]
    pub const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self.protocol {
            Protocol::Anthropic => &[("anthropic-version", "2023-06-01")],
            Protocol::Bedrock
            | Protocol::Gemini
            | Protocol::LocalHermes
            | Protocol::Ollama
            | Protocol::OpenaiChat
            | Protocol::OpenaiResponses
            | Protocol::OpenrouterChat => &[],
        }
    }

    /// Returns the adapter's rules.
    pub(super) const fn rules(self) -> Rules {
        self.rules
    }

    /// Judges one response to a request of that contract, as [`Self::decoder`] does; a form of calls that writes values as bare
    /// text learns from it what the offered tools take.
    #[must_use]
    pub fn decoder_under(self, terms: &Terms, meta: ResponseMeta, model: &str) -> ResponseDecoder {
        let decoder = self.decoder(meta, model);
        match self.profile {
            Some(TextProfile::Qwen) => decoder.knowing(ParameterTypes::of(terms)),
            Some(TextProfile::Hermes | TextProfile::Llama3) | None => decoder,
        }
    }

    /// Judges one response. `model` is the name that was asked for: calls carry it where the provider names no
    /// model itself.
    #[must_use]
    pub fn decoder(self, meta: ResponseMeta, model: &str) -> ResponseDecoder {
        match self.profile {
            None => ResponseDecoder::new(self.protocol, self.rules, meta, model),
            Some(profile) => ResponseDecoder::layered(
                self.protocol,
                profile,
                self.rules,
                self.version(),
                meta,
                model,
            ),
        }
    }
}

pub(super) fn target(terms: &Terms, index: usize) -> Result<&TargetTerms, AdapterError> {
    terms.targets.get(index).ok_or(AdapterError::UnknownTarget {
        index,
        targets: terms.targets.len(),
    })
}

/// The reason that no adapter can serve a target: the author of the contract asked for something this build lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// No adapter of this build has that version.
    #[error("unknown adapter version {got:?}; this build has {known}")]
    UnknownVersion {
        /// The version as the contract states it, cut to 80 characters.
        got: String,
        /// The versions of this build, joined by commas.
        known: String,
    },
    /// The adapter of that version reads responses and writes no requests.
    #[error("adapter {version} reads responses and writes no requests")]
    ResponsesOnly {
        /// The version.
        version: &'static str,
    },
    /// The contract has no target of that index.
    #[error("the contract has no target {index}; it has {targets}")]
    UnknownTarget {
        /// The index asked for.
        index: usize,
        /// Number of targets.
        targets: usize,
    },
}

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
            let reasons = openai_responses::reasons(target);
            lacks("reasoning_tokens", counted && !sampling.reasoning_off());
            lacks("repeat_penalty", penalises);
            lacks("seed", sampling.seed.is_some());
            lacks("stop", !sampling.stop.is_empty());
            lacks("temperature", reasons && warm);
            lacks("top_p", reasons && top_p);
        }
        Protocol::Anthropic => {
            let thinks = anthropic::thinks(target);
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
