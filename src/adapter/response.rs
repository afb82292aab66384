use super::decoder::{Decoder, Judge};
use super::fold::Fold;
use super::protocol::Protocol;
use super::text::{Hermes, Layer, Llama3, Qwen};
use super::{anthropic, bedrock, gemini, local_hermes, ollama, openai_chat, openai_responses};
use crate::contract::TextProfile;
use crate::message::{ProtocolAdapterResult, ProviderFault, Usage};

/// What came before the body of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseMeta {
    /// Header names and values; names are compared without regard to case. Only `retry-after` and
    /// `retry-after-ms` are read.
    pub headers: Vec<(String, String)>,
    /// When the head arrived, in milliseconds since 1970-01-01 UTC: what a Retry-After date is relative to.
    pub received_unix_ms: u64,
    /// The HTTP status.
    pub status: u16,
}

/// What became of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The model answered: a canonical message, or one that is rejected with its reason. The message's `tokens`
    /// are 0; the driver stamps them.
    Message(Box<ProtocolAdapterResult>),
    /// No message came back, and it is not the model's doing.
    Fault {
        /// Why.
        fault: ProviderFault,
        /// What the provider reported of usage, where it did.
        usage: Option<Usage>,
    },
}

/// Judges one response from its bytes, fed in whatever pieces they arrive.
///
/// Whether the body is one JSON document or an event stream is told by its first byte that is not white space, not by
/// headers: servers get content types wrong, and the stored bytes alone must decode to the same verdict in a replay.
/// The verdict depends on the concatenated bytes only, never on where they were split.
#[derive(Debug)]
pub struct ResponseDecoder(Box<dyn Judge>);

impl ResponseDecoder {
    pub(super) fn new(protocol: Protocol, meta: ResponseMeta, model: &str) -> Self {
        let version = protocol.version();
        match protocol {
            Protocol::Anthropic => Self::folding::<anthropic::Fold>(version, meta, model),
            Protocol::Bedrock => Self::folding::<bedrock::Fold>(version, meta, model),
            Protocol::Gemini => Self::folding::<gemini::Fold>(version, meta, model),
            Protocol::LocalHermes => Self::folding::<local_hermes::Fold>(version, meta, model),
            Protocol::Ollama => Self::folding::<ollama::Fold>(version, meta, model),
            Protocol::OpenaiChat => Self::folding::<openai_chat::Fold>(version, meta, model),
            Protocol::OpenrouterChat => {
                Self::folding::<openai_chat::Fold<true>>(version, meta, model)
            }
            Protocol::OpenaiResponses => {
                Self::folding::<openai_responses::Fold>(version, meta, model)
            }
        }
    }

    /// The decoder of plain chat with calls in the text.
    pub(super) fn layered(
        profile: TextProfile,
        version: &'static str,
        meta: ResponseMeta,
        model: &str,
    ) -> Self {
        match profile {
            TextProfile::Hermes => {
                Self::folding::<Layer<openai_chat::Fold, Hermes>>(version, meta, model)
            }
            TextProfile::Llama3 => {
                Self::folding::<Layer<openai_chat::Fold, Llama3>>(version, meta, model)
            }
            TextProfile::Qwen => {
                Self::folding::<Layer<openai_chat::Fold, Qwen>>(version, meta, model)
            }
        }
    }

    fn folding<F: Fold + Send + 'static>(
        version: &'static str,
        meta: ResponseMeta,
        model: &str,
    ) -> Self {
        Self(Box::new(Decoder::<F>::new(version, meta, model)))
    }

    /// Takes the next bytes of the body.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.push(bytes);
    }

    /// Whether nothing that may still arrive can change the message: the stream said that it is done, or a bound was
    /// passed. A caller may stop reading then.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// The verdict over all bytes that were pushed.
    #[must_use]
    pub fn finish(self) -> Decoded {
        self.0.finish()
    }
}
