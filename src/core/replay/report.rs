//! The report of a replay. Plain data.

use serde::Serialize;

use super::Difference;
use crate::transcript::FirstBad;

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Whether the run has no seal yet, and everything that is recorded so far was decided again; left out where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// What could not be compared, and why; left out where everything was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}

impl ReplayReport {
    /// The report where the evidence has a flaw: that comes first, then what the decisions differ in. A break of the chain
    /// at the same entry is the same finding and is not reported twice.
    #[must_use]
    pub fn with_flaw(self, flaw: &FirstBad) -> Self {
        let flaw = Difference::of_flaw(flaw, self.entries);
        let is_implied = |other: &Difference| {
            (other.seq, other.attribution, other.pointer.as_str())
                == (flaw.seq, flaw.attribution, flaw.pointer.as_str())
        };
        let others = self
            .differences
            .into_iter()
            .filter(|other| !is_implied(other));
        let differences: Vec<Difference> = std::iter::once(flaw.clone()).chain(others).collect();
        Self {
            same: false,
            first_difference: Some(flaw),
            differences,
            open: false,
            ..self
        }
    }
}
