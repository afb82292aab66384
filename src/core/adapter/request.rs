//! The encoder for one target of one run. Passes each request on to the encoder of the protocol; knows no wire shape.

use std::sync::Arc;

use super::body::{Encode, RequestBody};
use super::protocol::Protocol;
use super::rendered_messages::common;
use super::wire_adapter::{Adapter, target};
use super::xml::XmlTransport;
use super::{
    AdapterError, RequestShape, anthropic, gemini, local_hermes, ollama, openai_chat,
    openai_responses, text,
};
use crate::contract::{TargetTerms, Terms, TextProfile, ToolTransport, WireNames};
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
    sent: SentMessages,
    xml: Option<XmlTransport>,
}

/// A conversation whose calls have wire names. Each message is renamed once.
#[derive(Debug)]
struct SentMessages {
    /// Each message, and the same with wire names.
    messages: Vec<(Arc<AgentMessage>, Arc<AgentMessage>)>,
    names: WireNames,
}

impl SentMessages {
    fn of(&mut self, conversation: &[Arc<AgentMessage>]) -> Vec<Arc<AgentMessage>> {
        let common = common(&self.messages, conversation);
        self.messages.truncate(common);
        for message in conversation.iter().skip(common) {
            let sent = self.renamed(message);
            self.messages.push((Arc::clone(message), sent));
        }
        let sent = self.messages.iter();
        sent.map(|(_, sent)| Arc::clone(sent)).collect()
    }

    fn renamed(&self, message: &Arc<AgentMessage>) -> Arc<AgentMessage> {
        let wire = |name: &str| Some(self.names.wire(name)).filter(|wire| wire != name);
        let mut calls = message.tool_calls.iter();
        if calls.all(|call| wire(&call.name).is_none()) {
            return Arc::clone(message);
        }
        let mut sent = AgentMessage::clone(message);
        for call in &mut sent.tool_calls {
            call.name = self.names.wire(&call.name);
        }
        Arc::new(sent)
    }
}

impl RequestEncoder {
    fn of(
        names: WireNames,
        normal: Box<dyn Encode>,
        closing: Option<Box<dyn Encode>>,
        xml: Option<XmlTransport>,
    ) -> Self {
        let messages = Vec::new();
        Self {
            closing,
            normal,
            sent: SentMessages { messages, names },
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
        let conversation = &self.sent.of(conversation);
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
        let names = WireNames::of(terms);
        let sent = terms.as_sent_to(index);
        let terms = sent.as_ref();
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
            return Ok(Self::of(names, rendering(terms)?, None, None));
        }
        let closing = terms.native_tools(true).next().is_some();
        let closing = closing.then(|| rendering(&terms.offering(true)));
        Ok(Self::of(
            names,
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
    use std::sync::Arc;

    use serde_json::json;

    use crate::adapter::fixture::{encode, terms, text_message};
    use crate::adapter::protocol::Protocol;
    use crate::kernel::ToolExposure;
    use crate::message::{AgentMessage, ObjectText, Role, ToolInvocation};

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

    /// 17 §6: names and schemas that some provider refuses are in no request.
    #[test]
    fn a_request_has_the_wire_names_and_the_form_of_schemas_in_every_protocol() {
        let call = |id: &str, name: &str| ToolInvocation {
            arguments: ObjectText::parse("{}").unwrap(),
            id: id.to_owned(),
            name: name.to_owned(),
            fault: None,
            raw_payload: None,
            source_model: "m".to_owned(),
        };
        let conversation = [
            text_message(Role::User, "hi"),
            Arc::new(AgentMessage {
                tool_calls: vec![call("a", "files/read"), call("b", "read<|x|>")],
                ..AgentMessage::text(Role::Assistant, "", 1)
            }),
            Arc::new(AgentMessage::observation("a", "ok", 1)),
            Arc::new(AgentMessage::observation("b", "no", 1)),
        ];
        let object = json!({"type": "object", "properties": {"p": {"type": "array"}}});
        for protocol in Protocol::ALL {
            let version = protocol.version();
            if matches!(protocol, Protocol::Bedrock | Protocol::LocalHermes) {
                continue;
            }
            let terms = terms(|value| {
                value["targets"][0]["adapter_version"] = json!(version);
                value["tools"][0]["name"] = json!("files/read");
                value["tools"][0]["input_schema"] = json!({"oneOf": [{"type": "null"}, object]});
            });
            let body = encode(&terms, &conversation, ToolExposure::Auto);
            for absent in ["files/read", "read<|x|>", "oneOf"] {
                assert!(!body.contains(absent), "{version}: {absent}: {body}");
            }
            let times = |text: &str| body.matches(text).count();
            // The declaration, the call, and the result where the protocol names it there.
            assert!(
                (2..=3).contains(&times("\"files_read\"")),
                "{version}: {body}"
            );
            assert!(
                (1..=2).contains(&times("\"read__x__\"")),
                "{version}: {body}"
            );
            assert_eq!(times("\"items\":{}"), 1, "{version}: {body}");
        }
    }
}
