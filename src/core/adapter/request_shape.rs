//! What a request carries beside the conversation. Plain data; decides nothing.

use crate::kernel::{InferRequest, ToolExposure, XmlOffer};
use crate::message::AgentMessage;

/// What a request carries beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShape<'a> {
    /// Whether this is the closing turn, which offers nothing but the final report.
    pub closing: bool,
    /// Messages after the conversation, in this request only; never kept.
    pub notices: &'a [AgentMessage],
    /// Whether and how tools are offered.
    pub tools: ToolExposure,
    /// The tags that it describes; `None` under the native transport.
    pub xml: Option<XmlOffer>,
}

impl<'a> From<&'a InferRequest> for RequestShape<'a> {
    fn from(request: &'a InferRequest) -> Self {
        Self {
            closing: request.closing.is_some(),
            notices: &request.notices,
            tools: request.tools,
            xml: request.xml,
        }
    }
}
