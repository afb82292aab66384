//! A message as its parts arrive, for every protocol. Does not know the wire format that the parts came in.

use super::calls::{CallFields, GatheredCall, MAX_CALLS, ValidCalls, validate};
use super::fold::{Failure, Folded, Rules};
use super::members::Members;
use crate::message::{AgentMessage, FailureCode, ProviderState, Role, StateMember};

/// The most parts (blocks, items) of one message.
pub(super) const MAX_PARTS: usize = 65_536;

/// A message as it is gathered, its parts in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Draft {
    calls: Vec<GatheredCall>,
    content: String,
    /// Members of the message itself that go back to the provider.
    members: Members,
    parts: Vec<StateMember>,
    reasoning: String,
    refusal: String,
}

/// Who validated, who was asked, and who answered.
#[derive(Debug)]
pub(super) struct ResponseOrigin<'a> {
    pub requested: &'a str,
    pub answered: Option<&'a str>,
    pub rules: Rules,
}

impl Draft {
    /// Takes text, and the other members of its part.
    pub(super) fn text(&mut self, text: &str, members: String) {
        self.content.push_str(text);
        match self.parts.last_mut() {
            Some(last) if members.is_empty() && last.continues_as_text() => {
                last.lengthen(text.len());
            }
            _ if text.is_empty() && members.is_empty() => {}
            _ => self.parts.push(StateMember::text(text.len(), members)),
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

    /// The reasoning so far.
    pub(super) fn thoughts(&self) -> &str {
        &self.reasoning
    }

    /// Takes a part that the provider wants to see again as it is.
    pub(super) fn block(&mut self, json: String) {
        self.parts.push(StateMember::block(json));
    }

    /// Takes the members of the message itself whose keys are not `known`.
    pub(super) fn members(&mut self, message: &str, known: &[&str]) {
        self.members.take(message, known);
    }

    /// Takes the text that the model gave in place of an answer.
    pub(super) fn refusal(&mut self, text: &str) {
        self.refusal.push_str(text);
    }

    /// Takes a call, and the members of it that no call holds.
    pub(super) fn call(&mut self, call: GatheredCall, members: String) {
        // One more than may be: it rejects the message, and more need not be kept.
        if self.calls.len() <= MAX_CALLS {
            self.parts.push(StateMember::call(members));
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
        let state = if refused {
            None
        } else {
            state_of(self.members, self.parts)
        };
        let message = AgentMessage {
            content: if refused { self.refusal } else { self.content },
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            state,
            tool_calls: calls,
            ..AgentMessage::text(Role::Assistant, "", 0)
        };
        Folded::of(message, repair)
    }
}

/// The state of a message with those members and parts; none if the message holds everything that they do.
pub(super) fn state_of(members: Members, parts: Vec<StateMember>) -> Option<Box<ProviderState>> {
    let members = members.into_texts();
    let members = members.map(|(name, text)| StateMember::message(name, text));
    // The order of plain texts and calls alone is known.
    let has_parts = parts.iter().any(StateMember::has_content);
    let parts = parts.into_iter().filter(|_| has_parts);
    ProviderState::of(members.chain(parts).collect())
}

/// The failure of a message with more parts than are read.
pub(super) fn too_many_parts(pointer: &str) -> Failure {
    Failure::new(FailureCode::TooLarge, format!("{pointer}/{MAX_PARTS}"))
}
