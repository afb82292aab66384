use serde::Serialize;

use super::Difference;

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// Whether every entry was decided again, byte for byte, and the transcript is whole.
    pub same: bool,
    /// Entries that were replayed.
    pub entries: u64,
    /// The first difference, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Difference>,
    /// Every difference, the first included; at most 1,000.
    pub differences: Vec<Difference>,
    /// What could not be compared, and why; left out where everything was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}
