use std::sync::Arc;

use super::protocol::{Protocol, encoder};
use super::text;
use super::{AdapterError, anthropic, gemini, local_hermes, ollama, openai_chat, openai_responses};
use crate::contract::{TargetTerms, Terms, TextProfile};
use crate::kernel::{InferRequest, ToolExposure};
use crate::message::AgentMessage;

/// What a request carries beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShape<'a> {
    /// Messages after the conversation, in this request only; never kept.
    pub notices: &'a [AgentMessage],
    /// Whether and how tools are offered.
    pub tools: ToolExposure,
}

impl<'a> From<&'a InferRequest> for RequestShape<'a> {
    fn from(request: &'a InferRequest) -> Self {
        Self {
            notices: &request.notices,
            tools: request.tools,
        }
    }
}

/// Renders request bodies for one target of one run.
///
/// Every message of the conversation is rendered once and kept, so a body costs the new messages plus one copy.
/// The same conversation and shape always give the same bytes, whatever was encoded before.
#[derive(Debug)]
pub struct RequestEncoder(Box<dyn Encode>);

/// What renders bodies of one protocol.
pub(super) trait Encode: std::fmt::Debug + Send {
    /// The body of a request; the same conversation and shape always give the same bytes.
    fn encode(&mut self, conversation: &[Arc<AgentMessage>], shape: &RequestShape<'_>) -> Vec<u8>;

    /// When the run began, for prompts that name the time.
    fn begun_at(&mut self, _unix_ms: u64) {}
}

impl RequestEncoder {
    /// The encoder for the target at `index`; tools and parameters are rendered here, once.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or no adapter of its version that writes requests.
    pub fn new(terms: &Terms, index: usize) -> Result<Self, AdapterError> {
        encoder(terms, index)
    }

    pub(super) fn with(
        protocol: Protocol,
        terms: &Terms,
        target: &TargetTerms,
    ) -> Result<Self, AdapterError> {
        Ok(Self(match protocol {
            Protocol::Anthropic => Box::new(anthropic::Encoder::new(terms, target)),
            Protocol::Bedrock => {
                let version = protocol.version();
                return Err(AdapterError::ResponsesOnly { version });
            }
            Protocol::Gemini => Box::new(gemini::Encoder::new(terms, target)),
            Protocol::LocalHermes => Box::new(local_hermes::Encoder::new(terms, target)),
            Protocol::Ollama => Box::new(ollama::Encoder::new(terms, target)),
            Protocol::OpenaiChat | Protocol::OpenrouterChat => {
                Box::new(openai_chat::Encoder::new(terms, target))
            }
            Protocol::OpenaiResponses => Box::new(openai_responses::Encoder::new(terms, target)),
        }))
    }

    /// The same with calls in the text.
    pub(super) fn under(self, profile: TextProfile, terms: &Terms) -> Self {
        let layer = Box::new(text::Encoder::new(profile, terms, self.0));
        Self(text::Gated::over(terms, layer))
    }

    /// The same for a run that began then, in milliseconds since 1970: a prompt that names the time names this one.
    #[must_use]
    pub fn begun_at(mut self, unix_ms: u64) -> Self {
        self.0.begun_at(unix_ms);
        self
    }

    /// The body of a request. Where `conversation` does not extend the one encoded last, what differs is rendered
    /// anew.
    pub fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> Vec<u8> {
        self.0.encode(conversation, shape)
    }
}
