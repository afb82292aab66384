//! The decoder of one response as callers see it. Chooses the protocol's fold; knows no wire shape.

use super::decoder::Decoder;
use super::fold::{Fold, Rules};
use super::parameter_types::ParameterTypes;
use super::protocol::Protocol;
use super::push_decoder::PushDecoder;
use super::text::{Hermes, Layer, Llama3, Qwen};
use super::{
    Decoded, ResponseMeta, anthropic, bedrock, gemini, local_hermes, ollama, openai_chat,
    openai_responses,
};
use crate::contract::TextProfile;
use crate::message::ToolInvocation;

/// The inputs that a decoder needs before the body.
struct Head<'a> {
    meta: ResponseMeta,
    model: &'a str,
    rules: Rules,
    version: &'static str,
}

/// Decodes one response from its bytes, fed in whatever pieces they arrive.
///
/// The first byte that is not white space decides whether the body is one JSON document or an event stream. Headers do
/// not: servers get content types wrong, and the stored bytes alone must decode to the same verdict in a replay.
/// The verdict depends on the concatenated bytes only, never on where they were split.
#[derive(Debug)]
pub struct ResponseDecoder(Box<dyn PushDecoder>);

impl ResponseDecoder {
    pub(super) fn new(protocol: Protocol, rules: Rules, meta: ResponseMeta, model: &str) -> Self {
        let head = Head {
            meta,
            model,
            rules,
            version: protocol.version(),
        };
        match protocol {
            Protocol::Anthropic => Self::folding::<anthropic::Fold>(head),
            Protocol::Bedrock => Self::folding::<bedrock::Fold>(head),
            Protocol::Gemini => Self::folding::<gemini::Fold>(head),
            Protocol::LocalHermes => Self::folding::<local_hermes::Fold>(head),
            Protocol::Ollama => Self::folding::<ollama::Fold>(head),
            Protocol::OpenaiChat | Protocol::OpenrouterChat => {
                Self::folding::<openai_chat::Fold>(head)
            }
            Protocol::OpenaiResponses => Self::folding::<openai_responses::Fold>(head),
        }
    }

    /// The decoder of plain chat with calls in the text.
    pub(super) fn layered(
        protocol: Protocol,
        profile: TextProfile,
        rules: Rules,
        version: &'static str,
        meta: ResponseMeta,
        model: &str,
    ) -> Self {
        let head = Head {
            meta,
            model,
            rules,
            version,
        };
        match protocol {
            Protocol::Ollama => Self::under::<ollama::Fold>(profile, head),
            // No profile is laid over another one (`TextProfile::over`).
            Protocol::Anthropic
            | Protocol::Bedrock
            | Protocol::Gemini
            | Protocol::LocalHermes
            | Protocol::OpenaiChat
            | Protocol::OpenaiResponses
            | Protocol::OpenrouterChat => Self::under::<openai_chat::Fold>(profile, head),
        }
    }

    fn under<F: Fold + Send + 'static>(profile: TextProfile, head: Head<'_>) -> Self {
        match profile {
            TextProfile::Hermes => Self::folding::<Layer<F, Hermes>>(head),
            TextProfile::Llama3 => Self::folding::<Layer<F, Llama3>>(head),
            TextProfile::Qwen => Self::folding::<Layer<F, Qwen>>(head),
        }
    }

    fn folding<F: Fold + Send + 'static>(head: Head<'_>) -> Self {
        let decoder = Decoder::<F>::new(head.version, head.meta, head.model);
        Self(Box::new(decoder.holding(head.rules)))
    }

    /// The same decoder, which knows what the offered tools take.
    pub(super) fn knowing(mut self, types: ParameterTypes) -> Self {
        self.0.know(types);
        self
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.push(bytes);
    }

    /// True if no later bytes can change the message: the stream said that it is done, or a limit was passed. A caller may stop
    /// reading then.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// The text of the message as far as it has arrived; none if only the whole response shows what of it is text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.text()
    }

    /// The reasoning as far as it has arrived, where it comes apart from the text.
    #[must_use]
    pub fn reasoning(&self) -> Option<&str> {
        self.0.reasoning()
    }

    /// The call at that place of the message, from 0, if it is whole in what has arrived. Only the whole response shows if the
    /// message keeps it so.
    #[must_use]
    pub fn call(&mut self, at: usize) -> Option<ToolInvocation> {
        self.0.call(at)
    }

    /// The verdict over all bytes that were pushed.
    #[must_use]
    pub fn finish(self) -> Decoded {
        self.0.finish()
    }
}
