//! Adds the token gate's grammar to the bodies of a text profile. Does not know how the grammar was made.

use std::sync::Arc;

use serde_json::Value;

use crate::adapter::RequestShape;
use crate::adapter::body::RequestBody;
use crate::adapter::encode::Encode;
use crate::contract::{GateGrammar, GrammarLanguage, Terms};
use crate::kernel::ToolExposure;
use crate::message::AgentMessage;

/// What ends a body: an object's brace.
const END: &[u8] = b"}";

/// Adds the token gate's grammar to the bodies of a text profile, in the field `grammar` that a llama-server reads: calls
/// and nothing else while the gate is closed, anything but calls where tools are withheld.
#[derive(Debug)]
pub(in crate::adapter) struct Gated {
    /// `,"grammar":"…"}` of the closed phase; none if the contract closes no gate.
    closed: Option<Vec<u8>>,
    layer: Box<dyn Encode>,
    /// The same of a message without calls.
    prose: Vec<u8>,
}

impl Gated {
    /// The gate over `layer`, where the contract's grammar is one that a server reads; else `layer` itself.
    pub(in crate::adapter) fn over(terms: &Terms, layer: Box<dyn Encode>) -> Box<dyn Encode> {
        if terms.grammar_profile.as_deref() != Some(GrammarLanguage::Gbnf.profile()) {
            return layer;
        }
        Box::new(Self {
            closed: terms.grammar.as_deref().map(field),
            layer,
            prose: field(&GateGrammar::prose(GrammarLanguage::Gbnf).text),
        })
    }
}

impl Encode for Gated {
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody {
        let body = self.layer.encode(conversation, shape);
        let field = match shape.tools {
            ToolExposure::Forced => self.closed.as_ref(),
            ToolExposure::Withheld => Some(&self.prose),
            ToolExposure::Auto => None,
        };
        if let Some(field) = field
            && let Some(begun) = body.strip_suffix(END)
        {
            return RequestBody::whole([begun, field].concat());
        }
        body
    }
}

fn field(grammar: &str) -> Vec<u8> {
    format!(",\"grammar\":{}}}", Value::from(grammar)).into_bytes()
}
