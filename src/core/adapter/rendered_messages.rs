//! Messages rendered once and kept for the next request. Does not know the JSON that they are rendered as.

use std::sync::Arc;

use super::body::{GrowingBody, RequestBody};
use super::json::put;
use crate::contract::TargetTerms;
use crate::message::{AgentMessage, Role};

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
    /// Each message that was rendered, and its end.
    ends: Vec<(Arc<AgentMessage>, End)>,
    /// Length of the bytes before the first message.
    head: usize,
    /// True if the protocol takes no message of the user after a result: its text then follows the text of the result.
    joins_results: bool,
}

/// The end of a message.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Length of the body up to here.
    length: usize,
    /// True if the text of a result may go on: the length ends before the bytes that close it.
    open: bool,
}

/// The end of a result's message.
const CLOSED: &[u8] = b"\"}";

impl JoinedMessages {
    pub(super) fn after(head: &[u8], joins_results: bool) -> Self {
        Self {
            body: GrowingBody::of(head),
            ends: Vec::new(),
            head: head.len(),
            joins_results,
        }
    }

    /// Renders everything again: an earlier request may have been rendered by other rules.
    pub(super) fn forget(&mut self) {
        self.ends.clear();
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
        let kept = self.ends.last().map_or(
            End {
                length: self.head,
                open: false,
            },
            |(_, end)| *end,
        );
        let mut list = List {
            is_first: kept.length == self.head,
            joins_results: self.joins_results,
            open: kept.open,
            out: Vec::new(),
        };
        for (at, message) in conversation.iter().enumerate().skip(common) {
            let before = conversation.get(..at).unwrap_or_default();
            list.add(message, &render(before, message));
            let end = End {
                length: kept.length + list.out.len(),
                open: list.open,
            };
            self.ends.push((Arc::clone(message), end));
        }
        let new = std::mem::take(&mut list.out);
        for notice in notices {
            list.add(notice, &render(conversation, notice));
        }
        list.close();
        let end: Vec<&[u8]> = [list.out.as_slice()].iter().chain(rest).copied().collect();
        self.body.next(kept.length, &new, &end)
    }
}

/// Elements of a list that are written after others.
struct List {
    is_first: bool,
    joins_results: bool,
    /// True if the closing bytes of a result are still to be written.
    open: bool,
    out: Vec<u8>,
}

impl List {
    /// Adds a message as it was rendered; nothing where that is empty.
    fn add(&mut self, message: &AgentMessage, element: &[u8]) {
        if element.is_empty() {
            return;
        }
        if self.open && message.role == Role::User {
            let mut text = Vec::new();
            put(&mut text, &format!("\n\n{}", message.content));
            let text = text.strip_prefix(b"\"").unwrap_or(&text);
            let text = text.strip_suffix(b"\"").unwrap_or(text);
            self.out.extend_from_slice(text);
            return;
        }
        self.close();
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
        let stays_open = self.joins_results && message.role == Role::Tool;
        let opened = element.strip_suffix(CLOSED).filter(|_| stays_open);
        self.open = opened.is_some();
        self.out.extend_from_slice(opened.unwrap_or(element));
    }

    fn close(&mut self) {
        if self.open {
            self.out.extend_from_slice(CLOSED);
        }
        self.open = false;
    }
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
