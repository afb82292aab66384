use std::fmt::Write as _;

use crate::adapter::marks::XML;

/// What came of one call, as the model is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlPast<'a> {
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The arguments, as the model wrote them.
    pub request: &'a str,
    /// What the model is shown of the result.
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
    /// tag and no block of it is one.
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
