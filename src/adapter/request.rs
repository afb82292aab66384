use std::sync::Arc;

use super::AdapterError;
use super::protocol::{Protocol, encoder};
use super::{local_hermes, openai_chat};
use crate::contract::{TargetTerms, Terms};
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
pub struct RequestEncoder(Encoder);

#[derive(Debug)]
enum Encoder {
    LocalHermes(Box<local_hermes::Encoder>),
    OpenaiChat(Box<openai_chat::Encoder>),
}

impl RequestEncoder {
    /// The encoder for the target at `index`; tools and parameters are rendered here, once.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or no adapter of its version.
    pub fn new(terms: &Terms, index: usize) -> Result<Self, AdapterError> {
        encoder(terms, index)
    }

    pub(super) fn with(protocol: Protocol, terms: &Terms, target: &TargetTerms) -> Self {
        match protocol {
            Protocol::LocalHermes => Self(Encoder::LocalHermes(Box::new(
                local_hermes::Encoder::new(terms, target),
            ))),
            Protocol::OpenaiChat => Self(Encoder::OpenaiChat(Box::new(openai_chat::Encoder::new(
                terms, target,
            )))),
        }
    }

    /// The body of a request. Where `conversation` does not extend the one encoded last, what differs is rendered
    /// anew.
    pub fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> Vec<u8> {
        match &mut self.0 {
            Encoder::LocalHermes(encoder) => encoder.encode(conversation, shape),
            Encoder::OpenaiChat(encoder) => encoder.encode(conversation, shape),
        }
    }
}
