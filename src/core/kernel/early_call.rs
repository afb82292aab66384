//! A call that starts before its message is complete (semantics §7). Decides nothing.

use serde::{Deserialize, Serialize};

use crate::message::{CallSeq, Digest, InferenceSeq, ToolInvocation};

/// A call that is whole in the part of a response that has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallStreamed {
    /// Its place among the calls of the message, from 0.
    pub index: u64,
    /// The inference that the response answers.
    pub inference: InferenceSeq,
    /// The call, as the message would hold it.
    pub invocation: ToolInvocation,
}

/// A call that was started before its message was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EarlyCall {
    pub(super) invocation: ToolInvocation,
    pub(super) seq: CallSeq,
}

/// The number of discarded calls, and the calls that run: number, id with name, and arguments.
pub(super) type EarlyKey = (u64, Vec<(CallSeq, String, Digest)>);

impl EarlyCall {
    /// True if `call` of the complete message is this call, unchanged.
    pub(super) fn is(&self, call: &ToolInvocation) -> bool {
        let own = &self.invocation;
        (&own.id, &own.name, &own.arguments) == (&call.id, &call.name, &call.arguments)
            && call.fault.is_none()
            && call.raw_payload.is_none()
    }
}
