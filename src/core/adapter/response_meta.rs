//! Status and headers of a response. Plain data; does not know the body.

use serde::{Deserialize, Serialize};

/// What came before the body of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResponseMeta {
    /// Header names and values; names are compared without regard to case. Only `retry-after` and
    /// `retry-after-ms` are read.
    pub headers: Vec<(String, String)>,
    /// When the head arrived, in milliseconds since 1970-01-01 UTC: what a Retry-After date is relative to.
    pub received_unix_ms: u64,
    /// The HTTP status.
    pub status: u16,
}
