//! Messages rendered once and kept for the next request. Does not know the JSON that they are rendered as.

use std::sync::Arc;

use super::body::{GrowingBody, RequestBody};
use crate::contract::{TargetTerms, Terms};
use crate::message::{AgentMessage, ReasoningPart, ReasoningTrace};

/// Returns how many messages at the head of `conversation` equal the kept ones, which are stored with their results.
pub(super) fn common<T>(
    rendered: &[(Arc<AgentMessage>, T)],
    conversation: &[Arc<AgentMessage>],
) -> usize {
    rendered
        .iter()
        .zip(conversation)
        .take_while(|((rendered, _), message)| {
            Arc::ptr_eq(rendered, message) || rendered == *message
        })
        .count()
}

/// The messages of a conversation as a list near the head of a body, each rendered once, joined by commas.
#[derive(Debug)]
pub(super) struct JoinedMessages {
    body: GrowingBody,
    /// Each message that was rendered, and the length of the body after it.
    ends: Vec<(Arc<AgentMessage>, usize)>,
    /// Length of the bytes before the first message.
    head: usize,
}

impl JoinedMessages {
    pub(super) fn after(head: &[u8]) -> Self {
        Self {
            body: GrowingBody::of(head),
            ends: Vec::new(),
            head: head.len(),
        }
    }

    /// The body of one request: the conversation, the notices that only this request has, and what follows the messages. `render` is
    /// given the messages before the one to render; a message that it renders as nothing is left out.
    pub(super) fn body(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        notices: &[AgentMessage],
        render: impl Fn(&[Arc<AgentMessage>], &AgentMessage) -> Vec<u8>,
        rest: &[&[u8]],
    ) -> RequestBody {
        let common = common(&self.ends, conversation);
        self.ends.truncate(common);
        let kept = self.ends.last().map_or(self.head, |(_, end)| *end);
        let is_first = |length: usize| kept + length == self.head;
        let mut new = Vec::new();
        for (at, message) in conversation.iter().enumerate().skip(common) {
            let before = conversation.get(..at).unwrap_or_default();
            let is_first = is_first(new.len());
            add(&mut new, is_first, &render(before, message));
            self.ends.push((Arc::clone(message), kept + new.len()));
        }
        let mut own = Vec::new();
        for notice in notices {
            let is_first = is_first(new.len() + own.len());
            add(&mut own, is_first, &render(conversation, notice));
        }
        let end: Vec<&[u8]> = [own.as_slice()].iter().chain(rest).copied().collect();
        self.body.next(kept, &new, &end)
    }
}

/// Adds an element of a list; nothing where it is empty.
fn add(list: &mut Vec<u8>, is_first: bool, element: &[u8]) {
    if !is_first && !element.is_empty() {
        list.push(b',');
    }
    list.extend_from_slice(element);
}

/// The name of the tool that the observation `id` answers: the nearest call of that id before it.
pub(super) fn name_of<'m>(before: &'m [Arc<AgentMessage>], id: &str) -> &'m str {
    let calls = before.iter().rev().flat_map(|message| &message.tool_calls);
    calls
        .into_iter()
        .find(|call| call.id == id)
        .map_or("", |call| call.name.as_str())
}

/// The model that requests go to: whose reasoning may go back to it.
#[derive(Debug)]
pub(super) struct TargetModel {
    adapter_version: String,
    model: String,
    /// True if no other provider of the contract has the same adapter and model. Otherwise the owner of a trace is unknown.
    is_unique: bool,
}

impl TargetModel {
    pub(super) fn of(terms: &Terms, target: &TargetTerms) -> Self {
        let same = |other: &TargetTerms| {
            other.adapter_version == target.adapter_version && other.model == target.model
        };
        let mut others = terms.targets.iter().filter(|other| same(other));
        Self {
            adapter_version: target.adapter_version.clone(),
            model: target.model.clone(),
            is_unique: others.all(|other| other.provider == target.provider),
        }
    }

    /// The parts of `message` where they are this model's own and still fit the message, else none.
    pub(super) fn own<'m>(&self, message: &'m AgentMessage) -> Option<&'m ReasoningTrace> {
        let trace = message.reasoning_trace.as_ref()?;
        let (mut bytes, mut calls) = (0_u64, 0_usize);
        for part in &trace.parts {
            match part {
                ReasoningPart::Block(_) => {}
                ReasoningPart::Call(_) => calls = calls.saturating_add(1),
                ReasoningPart::Text(text) => bytes = bytes.saturating_add(text.bytes),
            }
        }
        let fits =
            u64::try_from(message.content.len()) == Ok(bytes) && calls == message.tool_calls.len();
        let same = self.adapter_version == trace.adapter_version && self.model == trace.model;
        Some(trace).filter(|_| self.is_unique && same && fits)
    }
}

/// A message's parts in the order in which they are sent.
#[derive(Debug)]
pub(super) enum SentPart<'m> {
    /// The JSON text of a part as it came.
    Block(&'m str),
    /// A call, and its signature.
    Call(&'m crate::message::ToolInvocation, Option<&'m str>),
    /// Text, and its signature.
    Text(&'m str, Option<&'m str>),
}

/// The parts of a message of the model: with its own reasoning where that goes back to it, else text and then calls.
pub(super) fn parts_of<'m>(message: &'m AgentMessage, to: &TargetModel) -> Vec<SentPart<'m>> {
    let Some(trace) = to.own(message) else {
        let text = Some(SentPart::Text(&message.content, None));
        let calls = message.tool_calls.iter();
        return text
            .into_iter()
            .chain(calls.map(|call| SentPart::Call(call, None)))
            .collect();
    };
    let mut rest = message.content.as_str();
    let mut calls = message.tool_calls.iter();
    let part = |part: &'m ReasoningPart| match part {
        ReasoningPart::Block(json) => Some(SentPart::Block(json)),
        ReasoningPart::Call(signature) => calls
            .next()
            .map(|call| SentPart::Call(call, signature.as_deref())),
        ReasoningPart::Text(text) => {
            let bytes = usize::try_from(text.bytes).unwrap_or(usize::MAX);
            let (request, after) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
            rest = after;
            Some(SentPart::Text(request, text.signature.as_deref()))
        }
    };
    trace.parts.iter().filter_map(part).collect()
}

/// Tokens for reasoning, within those of the response: as stated, else a share of them by the effort, where the model is asked by tokens.
/// Fewer than `least` are none.
pub(super) fn reasoning_budget(target: &TargetTerms, least: u64) -> Option<u64> {
    let sampling = &target.sampling;
    if sampling.reasoning_off() {
        return None;
    }
    let most = sampling.max_output_tokens;
    let level = sampling.reasoning_level();
    let level = level.filter(|_| target.thinking().is_none());
    let wanted = match (sampling.reasoning_count(), level) {
        (Some(tokens), _) => tokens,
        (None, Some("minimal")) => most / 8,
        (None, Some("low")) => most / 4,
        (None, Some("medium")) => most / 2,
        (None, Some("high")) => most / 4 * 3,
        (None, _) => 0,
    };
    let wanted = if wanted > 0 { wanted.max(least) } else { 0 };
    let budget = wanted.min(most.saturating_sub(1));
    (budget > 0 && budget >= least).then_some(budget)
}
