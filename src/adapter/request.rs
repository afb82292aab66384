use std::sync::Arc;

use super::protocol::{Protocol, encoder};
use super::text;
use super::xml::XmlTransport;
use super::{AdapterError, anthropic, gemini, local_hermes, ollama, openai_chat, openai_responses};
use crate::contract::{TargetTerms, Terms, TextProfile};
use crate::kernel::{InferRequest, ToolExposure, XmlOffer};
use crate::message::AgentMessage;

/// What a request carries beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShape<'a> {
    /// Whether this is the closing turn, which offers nothing but the final report.
    pub closing: bool,
    /// Messages after the conversation, in this request only; never kept.
    pub notices: &'a [AgentMessage],
    /// Whether and how tools are offered.
    pub tools: ToolExposure,
    /// The tags that it tells of; none under the native transport.
    pub xml: Option<XmlOffer>,
}

impl<'a> From<&'a InferRequest> for RequestShape<'a> {
    fn from(request: &'a InferRequest) -> Self {
        Self {
            closing: request.closing.is_some(),
            notices: &request.notices,
            tools: request.tools,
            xml: request.xml,
        }
    }
}

/// Renders request bodies for one target of one run.
///
/// Every message of the conversation is rendered once and kept, so a body costs the new messages plus one copy.
/// The same conversation and shape always give the same bytes, whatever was encoded before.
#[derive(Debug)]
pub struct RequestEncoder {
    /// For the closing turn, where that offers other tools than none.
    closing: Option<Box<dyn Encode>>,
    normal: Box<dyn Encode>,
    xml: Option<XmlTransport>,
}

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

    pub(super) fn of(
        normal: Box<dyn Encode>,
        closing: Option<Box<dyn Encode>>,
        xml: Option<XmlTransport>,
    ) -> Self {
        Self {
            closing,
            normal,
            xml,
        }
    }

    /// The same for a run that began then, in milliseconds since 1970: a prompt that names the time names this one.
    #[must_use]
    pub fn begun_at(mut self, unix_ms: u64) -> Self {
        for wire in self.closing.iter_mut().chain([&mut self.normal]) {
            wire.begun_at(unix_ms);
        }
        self
    }

    /// The body of a request. Where `conversation` does not extend the one encoded last, what differs is rendered
    /// anew.
    pub fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> Vec<u8> {
        let wire = match &mut self.closing {
            Some(closing) if shape.closing => closing,
            Some(_) | None => &mut self.normal,
        };
        let (Some(xml), Some(offer)) = (&mut self.xml, &shape.xml) else {
            return wire.encode(conversation, shape);
        };
        let mut notices = shape.notices.to_vec();
        notices.push(xml.next(offer));
        let shape = RequestShape {
            notices: &notices,
            ..*shape
        };
        wire.encode(xml.plain(conversation), &shape)
    }
}

/// The encoder of one wire protocol.
pub(super) fn wire(
    protocol: Protocol,
    terms: &Terms,
    target: &TargetTerms,
) -> Result<Box<dyn Encode>, AdapterError> {
    Ok(match protocol {
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
    })
}

/// The same with calls in the text.
pub(super) fn under(profile: TextProfile, terms: &Terms, wire: Box<dyn Encode>) -> Box<dyn Encode> {
    let layer = Box::new(text::Encoder::new(profile, terms, wire));
    text::Gated::over(terms, layer)
}
