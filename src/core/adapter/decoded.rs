//! The result of decoding a response: a message or a fault. Plain data.

use serde::{Deserialize, Serialize};

use crate::message::{ProtocolAdapterResult, ProviderFault, Usage};

/// The result of decoding a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The model answered: a canonical message, or one that is rejected with its reason. The message's `tokens`
    /// are 0; the session stamps them.
    Message(Box<ProtocolAdapterResult>),
    /// No message came back, and it is not the model's doing.
    Fault {
        /// Cause.
        fault: ProviderFault,
        /// The usage that the provider reported, if any.
        usage: Option<Usage>,
    },
}

/// The head of a response, before its body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseMeta {
    /// Header names and values; names are compared without regard to case. Only `retry-after`,
    /// `retry-after-ms` and `location` are read.
    pub headers: Vec<(String, String)>,
    /// When the head arrived, in milliseconds since 1970-01-01 UTC: what a Retry-After date is relative to.
    pub received_unix_ms: u64,
    /// The HTTP status.
    pub status: u16,
}

impl ResponseMeta {
    /// The values of a header, in their order, without white space around them.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let headers = self.headers.iter();
        headers
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }
}
