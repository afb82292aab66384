//! One wire protocol in one version: the way from a contract's target to its encoder and decoder. Knows no wire shape itself.

use std::borrow::Cow;

use super::parameter_types::ParameterTypes;
use super::protocol::Protocol;
use super::repair::Repairs;
use super::rules::{BesideCalls, Rules};
use super::unsent::unsent;
use super::{
    AdapterError, ResponseDecoder, ResponseMeta, anthropic, gemini, local_hermes, ollama,
    openai_chat, openai_responses,
};
use crate::contract::{TargetTerms, Terms, TextProfile};

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

    /// What recordings and scripts call the protocol.
    #[must_use]
    pub const fn proto(self) -> &'static str {
        self.protocol.proto()
    }

    /// Whether what it asks decodes under the grammar of the token gate itself, so that text through a closed gate is the
    /// backend's fault and not the model's.
    #[must_use]
    pub const fn is_embedded(self) -> bool {
        matches!(self.protocol, Protocol::LocalHermes)
    }

    /// Where requests for `target` go, below the provider's base URL: segments without a leading slash, and a query
    /// where there is one.
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

    /// How the protocol wants the key.
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

    /// What the adapter holds to.
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
