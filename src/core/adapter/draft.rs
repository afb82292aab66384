//! A message as its parts arrive, for every protocol. Does not know the wire format that the parts came in.

use super::calls::{CallFields, GatheredCall, MAX_CALLS, ValidCalls, validate};
use super::fold::{Failure, Folded, Rules};
use crate::message::{
    AgentMessage, FailureCode, ReasoningPart, ReasoningText, ReasoningTrace, Role,
};

/// The most parts (blocks, items) of one message.
pub(super) const MAX_PARTS: usize = 65_536;

/// A message as it is gathered, its parts in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Draft {
    calls: Vec<GatheredCall>,
    content: String,
    parts: Vec<ReasoningPart>,
    reasoning: String,
    refusal: String,
    /// True if any part is worth sending back; otherwise no trace is kept.
    signed: bool,
}

/// Who validated, who was asked, and who answered.
#[derive(Debug)]
pub(super) struct ResponseOrigin<'a> {
    pub requested: &'a str,
    pub answered: Option<&'a str>,
    pub rules: Rules,
    pub version: &'static str,
}

impl Draft {
    /// Takes text and its signature.
    pub(super) fn text(&mut self, text: &str, signature: Option<String>) {
        self.content.push_str(text);
        self.signed |= signature.is_some();
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        match (self.parts.last_mut(), &signature) {
            (Some(ReasoningPart::Text(last)), None) if last.signature.is_none() => {
                last.bytes = last.bytes.saturating_add(bytes);
            }
            _ if bytes == 0 && signature.is_none() => {}
            _ => self
                .parts
                .push(ReasoningPart::Text(ReasoningText { bytes, signature })),
        }
    }

    /// The text so far.
    pub(super) fn content(&self) -> &str {
        &self.content
    }

    /// Takes what the model reported of its reasoning.
    pub(super) fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    /// Takes a part that the provider wants to see again as it is.
    pub(super) fn block(&mut self, json: String) {
        self.signed = true;
        self.parts.push(ReasoningPart::Block(json));
    }

    /// Takes the text that the model gave in place of an answer.
    pub(super) fn refusal(&mut self, text: &str) {
        self.refusal.push_str(text);
    }

    /// Takes a call and its signature.
    pub(super) fn call(&mut self, call: GatheredCall, signature: Option<String>) {
        // One more than may be: it rejects the message, and more need not be kept.
        if self.calls.len() <= MAX_CALLS {
            self.signed |= signature.is_some();
            self.parts.push(ReasoningPart::Call(signature));
            self.calls.push(call);
        }
    }

    /// Marks the last call as cut: the output ended right after it, so its partial arguments prove nothing. `arguments` is
    /// their place below the call.
    pub(super) fn cut_last_call(&mut self, arguments: &'static str) {
        if let Some(call) = self.calls.last_mut() {
            call.flaw
                .get_or_insert((FailureCode::ArgsInvalidJson, arguments));
        }
    }

    pub(super) fn has_refusal(&self) -> bool {
        !self.refusal.trim().is_empty()
    }

    /// The message, or the first rule that one of its calls breaks.
    pub(super) fn finish(self, fields: &CallFields, origin: &ResponseOrigin<'_>) -> Folded {
        let model = origin.answered.unwrap_or(origin.requested);
        let ValidCalls { calls, repair } = match validate(self.calls, fields, model, origin.rules) {
            Ok(validated) => validated,
            Err(failure) => return Folded::Rejected(failure),
        };
        // Some models give nothing but a refusal. It is for people and never counts as an answer.
        let refused = self.content.is_empty() && !self.refusal.is_empty();
        let trace = (self.signed && !refused).then(|| ReasoningTrace {
            adapter_version: origin.version.to_owned(),
            model: origin.requested.to_owned(),
            parts: self.parts,
        });
        let message = AgentMessage {
            content: if refused { self.refusal } else { self.content },
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            reasoning_trace: trace,
            tool_calls: calls,
            ..AgentMessage::text(Role::Assistant, "", 0)
        };
        Folded::of(message, repair)
    }
}

/// The failure of a message with more parts than are read.
pub(super) fn too_many_parts(pointer: &str) -> Failure {
    Failure::new(FailureCode::TooLarge, format!("{pointer}/{MAX_PARTS}"))
}
