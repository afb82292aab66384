//! The report of a live reissue. Plain data.

use serde::Serialize;

use super::Difference;

/// The result of making the requests and calls of a run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveReport {
    /// Whether every entry was decided again and everything that was asked again was answered alike.
    pub same: bool,
    /// Entries that were replayed.
    pub entries: u64,
    /// Requests that were sent again.
    pub inferences: u64,
    /// Calls that were made again.
    pub calls: u64,
    /// The first difference, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Difference>,
    /// Every difference, the first included; at most 1,000.
    pub differences: Vec<Difference>,
    /// Whether the run has no seal yet, and everything that is recorded so far was decided and answered alike; left out where
    /// not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// What differs beside the answers: usage, reasoning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was not compared, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}
