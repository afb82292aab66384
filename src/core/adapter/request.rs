//! The encoder for one target of one run. Passes each request on to the encoder of the protocol; knows no wire shape.

use std::sync::Arc;

use super::body::{Encode, RequestBody};
use super::protocol::Protocol;
use super::wire_adapter::{Adapter, target};
use super::xml::XmlTransport;
use super::{
    AdapterError, RequestShape, anthropic, gemini, local_hermes, ollama, openai_chat,
    openai_responses, text,
};
use crate::contract::{TargetTerms, Terms, TextProfile, ToolTransport};
use crate::message::AgentMessage;

/// Renders request bodies for one target of one run.
///
/// Every message of the conversation is rendered, hashed and copied once: a body costs the new messages and the bytes around them.
/// The same conversation and shape always give the same bytes, whatever was encoded before.
#[derive(Debug)]
pub struct RequestEncoder {
    /// For the closing turn, where that offers other tools than none.
    closing: Option<Box<dyn Encode>>,
    normal: Box<dyn Encode>,
    xml: Option<XmlTransport>,
}

impl RequestEncoder {
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

    /// Returns the body of a request. If `conversation` does not extend the last encoded one, the differing part is rendered
    /// again.
    pub fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
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

impl RequestEncoder {
    /// The encoder for the target at `index`; tools and parameters are rendered here, once.
    ///
    /// # Errors
    /// [`AdapterError`] where there is no such target, or no adapter of its version that writes requests.
    pub fn new(terms: &Terms, index: usize) -> Result<Self, AdapterError> {
        let target = target(terms, index)?;
        let offered = terms.as_offered_to(index);
        let terms = offered.as_ref();
        let adapter = Adapter::by_version(&target.adapter_version)?;
        let rendering = |terms: &Terms| {
            let wire = wire(adapter.protocol, terms, target)?;
            Ok::<_, AdapterError>(match adapter.profile {
                None => wire,
                Some(profile) => under(profile, terms, wire),
            })
        };
        let is_native = terms.tool_transport == ToolTransport::Native;
        if terms.session_tools.is_empty() && is_native {
            return Ok(Self::of(rendering(terms)?, None, None));
        }
        let closing = terms.native_tools(true).next().is_some();
        let closing = closing.then(|| rendering(&terms.offering(true)));
        Ok(Self::of(
            rendering(&terms.offering(false))?,
            closing.transpose()?,
            XmlTransport::of(terms),
        ))
    }
}

/// The encoder of one wire protocol.
fn wire(
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
fn under(profile: TextProfile, terms: &Terms, wire: Box<dyn Encode>) -> Box<dyn Encode> {
    let layer = Box::new(text::Encoder::new(profile, terms, wire));
    text::Gated::over(terms, layer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::adapter::fixture::{encode, terms, text_message};
    use crate::kernel::ToolExposure;
    use crate::message::Role;

    /// 001/6.providers.9
    #[test]
    fn a_request_offers_no_tool_that_the_filter_of_its_provider_keeps() {
        let check = |denied: &[&str], expect: [bool; 3]| {
            let terms = terms(|value| value["providers"]["p"]["tools_denied"] = json!(denied));
            let conversation = [text_message(Role::User, "hi")];
            let body = encode(&terms, &conversation, ToolExposure::Auto);
            let has = ["does read", "does write", "\"tools\""].map(|text| body.contains(text));
            assert_eq!(has, expect, "{denied:?}: {body}");
        };
        check(&[], [true, true, true]);
        check(&["Write"], [true, false, true]);
        check(&["*"], [false, false, false]);
    }
}
