//! The trait of a request encoder. Knows the request's shape; does not know any protocol or who sends the bytes.

use std::sync::Arc;

use super::RequestShape;
use super::body::RequestBody;
use crate::message::AgentMessage;

/// What renders bodies of one protocol.
pub(super) trait Encode: std::fmt::Debug + Send {
    /// The body of a request; the same conversation and shape always give the same bytes.
    fn encode(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        shape: &RequestShape<'_>,
    ) -> RequestBody;

    /// When the run began, for prompts that name the time.
    fn begun_at(&mut self, _unix_ms: u64) {}
}
