//! Which encoder renders the requests for a target.

use super::encode::Encode;
use super::protocol::Protocol;
use super::wire_adapter::{Adapter, target};
use super::xml::XmlTransport;
use super::{
    AdapterError, RequestEncoder, anthropic, gemini, local_hermes, ollama, openai_chat,
    openai_responses, text,
};
use crate::contract::{TargetTerms, Terms, TextProfile, ToolTransport};

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
