//! The encoder for one target of one run. Passes each request on to the encoder of the protocol; knows no wire shape.

use std::sync::Arc;

use super::RequestShape;
use super::body::RequestBody;
use super::encode::Encode;
use super::xml::XmlTransport;
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

    /// The body of a request. Where `conversation` does not extend the one encoded last, what differs is rendered
    /// anew.
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
