//! The report of a replay. Plain data.

use serde::Serialize;

use super::Difference;
use crate::kernel::{Outcome, State};
use crate::message::Digest;
use crate::session::Session;
use crate::transcript::FirstBad;

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    /// True if every entry was decided again, byte for byte, and the transcript is complete.
    pub same: bool,
    /// Entries that were replayed.
    pub entries: u64,
    /// The first difference, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<Difference>,
    /// Every difference, the first included; at most 1,000.
    pub differences: Vec<Difference>,
    /// True if the run has no seal yet, and everything recorded so far was decided again; omitted if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Parts that could not be compared, and why; omitted if none.
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

/// The course of a run under another contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatIfReport {
    /// True if the run would have ended in the same class and code.
    pub same_outcome: bool,
    /// The recorded contract's hash.
    pub recorded_contract: Digest,
    /// The other contract's hash.
    pub other_contract: Digest,
    /// The fields in which the contracts differ; at most 1,000.
    pub contract_differences: Vec<TermsDifference>,
    /// Reason why the other contract is refused before the first request: the check of PRECHECK that fails; omitted if none
    /// fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Entries of the recording.
    pub entries: u64,
    /// Number of entries that decide the same under the other contract, apart from what follows from the contract alone.
    pub same_decisions: u64,
    /// The first entry that decides otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_other_decision: Option<OtherDecision>,
    /// Point where the recording no longer fits: nothing is known from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_longer_fits: Option<RecordingMismatch>,
    /// End of the recorded run; null if it has none.
    pub recorded_outcome: Option<Outcome>,
    /// End under the other contract; null if the recording does not say.
    pub outcome: Option<Outcome>,
    /// Parts that could not be compared, and why; omitted if none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}

/// A field in which two contracts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TermsDifference {
    /// RFC 6901 pointer into the contract's document.
    pub pointer: String,
    /// The recorded contract's value, at most 400 bytes.
    pub recorded: String,
    /// The other contract's value, at most 400 bytes.
    pub other: String,
}

/// An entry that decides otherwise under the other contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherDecision {
    /// The entry's number.
    pub seq: u64,
    /// The recorded state after the entry; absent where nothing is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The first field of the entry that differs: an RFC 6901 pointer.
    pub pointer: String,
    /// Recorded decision, in words.
    pub recorded: String,
    /// Decision under the other contract.
    pub other: String,
}

/// The point where a recording no longer fits a run under another contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingMismatch {
    /// The entry's number.
    pub seq: u64,
    /// Reason, in words.
    pub why: String,
    /// Recorded content there.
    pub recorded: String,
    /// Action of the run there.
    pub other: String,
}

/// The state of a run without an end, after a fresh machine has decided every entry again as recorded.
pub struct Unfinished {
    /// Number of requests that each target has answered, in the contract's order; lost ones do not count.
    pub answered: Vec<usize>,
    /// The last recorded moment, in milliseconds since the run began.
    pub at_ms: u64,
    /// The hash of the last entry.
    pub head: Digest,
    /// The run, to be driven on.
    pub session: Session,
}

/// The result of making the requests and calls of a run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveReport {
    /// True if every entry was decided again and everything that was asked again was answered alike.
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
    /// True if the run has no seal yet, and everything recorded so far was decided and answered alike; omitted if false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Differences outside the answers: usage, reasoning.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Parts that were not compared, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<String>,
}
