//! The XML-PAST text: the results of earlier calls. Knows the layout; does not know which results are due.

use std::fmt::Write as _;

use crate::adapter::marks::XML;

/// The result of one call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlPast<'a> {
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The arguments, as the model wrote them.
    pub request: &'a str,
    /// The part of the result that the model sees.
    pub response: &'a str,
    /// The id of its slot, such as `0a1b2c3d-0001`.
    pub slot: &'a str,
    /// `ok` or `failed`.
    pub status: &'a str,
    /// The tool.
    pub tool: &'a str,
}

impl XmlPast<'_> {
    /// The message XML-PAST: the calls of one turn, in the given order; empty where there are none. What it quotes is escaped, so no
    /// tag or block in a quotation counts.
    #[must_use]
    pub(crate) fn message(calls: &[Self]) -> String {
        let mut out = String::new();
        for call in calls {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            let (slot, tool, status, duration) =
                (call.slot, call.tool, call.status, call.duration_ms);
            let (request, response) = (XML.escape(call.request), XML.escape(call.response));
            let _ = write!(
                out,
                "System Notice: tool response for {slot} ({tool})\n{status}, {duration} ms\n\
                 <request>\n{request}\n</request>\n<response>\n{response}\n</response>"
            );
        }
        out
    }
}
