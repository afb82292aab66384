//! A built-in's own failure. Plain data.

use crate::tools::envelope::ToolResponse;

/// A built-in's own failure: an error envelope, never a fault of the run.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    /// As what the call came to.
    pub(super) fn response(self) -> ToolResponse {
        ToolResponse::failed(self.code, self.message)
    }
}
