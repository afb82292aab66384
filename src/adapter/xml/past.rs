use std::fmt::Write as _;

use super::slot::Nonce;
use crate::adapter::marks::XML;

/// One executed call, as later turns are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlPast<'a> {
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The arguments, as the model wrote them.
    pub request: &'a str,
    /// What the model is shown of the result.
    pub response: &'a str,
    /// The number of its slot.
    pub slot: u32,
    /// `ok` or `error`.
    pub status: &'a str,
    /// The tool.
    pub tool: &'a str,
}

impl XmlPast<'_> {
    /// The user message that answers this one call. What it quotes is escaped, so no tag and no block of it is one.
    #[must_use]
    pub fn response_message(&self, nonce: &Nonce) -> String {
        let slot = nonce.slot(self.slot);
        let blocks = self.blocks();
        let tool = self.tool;
        format!("System Notice: tool response for {slot} ({tool})\n\n{blocks}")
    }

    /// The message XML-PAST: calls of earlier turns, in the given order; empty where there are none.
    #[must_use]
    pub fn message(nonce: &Nonce, calls: &[Self]) -> String {
        if calls.is_empty() {
            return String::new();
        }
        let mut out = "System Notice: tools called so far".to_owned();
        for call in calls {
            let slot = nonce.slot(call.slot);
            let (tool, status, duration) = (call.tool, call.status, call.duration_ms);
            let blocks = call.blocks();
            let _ = write!(out, "\n\n{slot} {tool}: {status}, {duration} ms\n{blocks}");
        }
        out
    }

    fn blocks(&self) -> String {
        let (request, response) = (XML.escape(self.request), XML.escape(self.response));
        format!("<request>\n{request}\n</request>\n<response>\n{response}\n</response>")
    }
}
