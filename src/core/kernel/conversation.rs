//! The conversation of a run and its rolling digest. Knows no entry and no request.

use std::sync::Arc;

use crate::message::{AgentMessage, Digest, DigestContext};

static CONVERSATION_CONTEXT: DigestContext = DigestContext::new("monolith conversation v1");

/// The canonical conversation: messages are only ever appended, and the digest rolls with them.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    messages: Vec<Arc<AgentMessage>>,
    digest: Digest,
}

impl Conversation {
    pub(super) const fn new() -> Self {
        Self {
            messages: Vec::new(),
            digest: Digest::ZERO,
        }
    }

    /// Appends a message: `D_n = H(D_(n-1), message)` over its canonical text.
    pub(super) fn push(&mut self, message: AgentMessage) {
        self.digest = conversation_digest(self.digest, &message);
        self.messages.push(Arc::new(message));
    }

    pub(super) fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
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
