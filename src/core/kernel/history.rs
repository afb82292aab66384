//! The calls that a run has authorised so far, for the limits that look back (semantics §2).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::message::{AgentMessage, Digest, DigestContext, ToolInvocation};

static CALL_CONTEXT: DigestContext = DigestContext::new("monolith calls v1");
static IDENTITY_CONTEXT: DigestContext = DigestContext::new("monolith identical call v1");

/// The calls that the run has authorised so far, for the limits that look back.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallHistory {
    pub(super) digest: Digest,
    pub(super) last: Option<String>,
    pub(super) per_tool: BTreeMap<String, u64>,
    pub(super) identical: BTreeMap<Digest, u64>,
    pub(super) exceptions_used: BTreeMap<(String, String), u64>,
}

impl CallHistory {
    pub(super) fn authorise(&mut self, invocation: &ToolInvocation, excepted: bool) {
        if let (true, Some(last)) = (excepted, &self.last) {
            let pair = (last.clone(), invocation.name.clone());
            *self.exceptions_used.entry(pair).or_default() += 1;
        }
        let id = identity(invocation);
        let call = CALL_CONTEXT.framed(&[id.as_bytes(), &[u8::from(excepted)]]);
        self.digest = CALL_CONTEXT.rolled(self.digest, call.as_bytes());
        self.last = Some(invocation.name.clone());
        *self.per_tool.entry(invocation.name.clone()).or_default() += 1;
        *self.identical.entry(id).or_default() += 1;
    }
}

/// The identity of a call for `max_identical_calls`: its name and its arguments in RFC 8785 form.
pub(super) fn identity(invocation: &ToolInvocation) -> Digest {
    let canonical = serde_json::from_str::<serde_json::Value>(invocation.arguments.as_str())
        .ok()
        .and_then(|value| serde_json_canonicalizer::to_string(&value).ok());
    let arguments = canonical
        .as_deref()
        .unwrap_or_else(|| invocation.arguments.as_str());
    IDENTITY_CONTEXT.framed(&[invocation.name.as_bytes(), arguments.as_bytes()])
}

/// The part of the history that pairs are judged by.
#[derive(Clone, Debug)]
pub(super) struct CycleTrace {
    pub(super) last: Option<String>,
    pub(super) exceptions_used: BTreeMap<(String, String), u64>,
}

impl CallHistory {
    pub(super) fn clone_for_cycles(&self) -> CycleTrace {
        CycleTrace {
            last: self.last.clone(),
            exceptions_used: self.exceptions_used.clone(),
        }
    }
}

impl CycleTrace {
    pub(super) fn step(&mut self, next: &str, excepted: bool) {
        if let (true, Some(last)) = (excepted, self.last.take()) {
            *self
                .exceptions_used
                .entry((last, next.to_owned()))
                .or_default() += 1;
        }
        self.last = Some(next.to_owned());
    }
}

static CONVERSATION_CONTEXT: DigestContext = DigestContext::new("monolith conversation v1");

/// The canonical conversation: messages are only ever appended, and the digest rolls with them.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    messages: Vec<Arc<AgentMessage>>,
    digest: Digest,
    /// The turn of the model's last message, and the place of that message.
    answer: Option<(u32, usize)>,
    /// The places of attempts that a later one of their turn replaced: the model's message and its observations.
    replaced: Vec<Range<usize>>,
}

impl Conversation {
    pub(super) const fn new() -> Self {
        Self {
            messages: Vec::new(),
            digest: Digest::ZERO,
            answer: None,
            replaced: Vec::new(),
        }
    }

    /// Marks the next message as the model's answer of that turn. It replaces an earlier answer of the same turn.
    pub(super) fn begin_answer(&mut self, turn: u32) {
        let place = self.messages.len();
        if let Some((_, from)) = self.answer.filter(|(of, _)| *of == turn) {
            self.replaced.push(from..place);
        }
        self.answer = Some((turn, place));
    }

    /// Appends a message: `D_n = H(D_(n-1), message)` over its canonical text.
    pub(super) fn push(&mut self, message: AgentMessage) {
        self.digest = conversation_digest(self.digest, &message);
        self.messages.push(Arc::new(message));
    }

    pub(super) fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
    }

    /// The messages without attempts that were replaced: at most one of the model in each turn (000 §9).
    pub(super) fn settled(&self) -> impl DoubleEndedIterator<Item = &Arc<AgentMessage>> {
        let messages = self.messages.iter().enumerate();
        let is_replaced = |place: usize| self.replaced.iter().any(|range| range.contains(&place));
        messages.filter_map(move |(place, message)| (!is_replaced(place)).then_some(message))
    }

    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }
}

/// The digest of a conversation whose digest was `before`, with one message more: what entries say of it.
#[must_use]
pub(crate) fn conversation_digest(before: Digest, message: &AgentMessage) -> Digest {
    // A message holds strings and integers only: serialising it cannot fail.
    let text = serde_json::to_string(message).unwrap_or_default();
    CONVERSATION_CONTEXT.rolled(before, text.as_bytes())
}
