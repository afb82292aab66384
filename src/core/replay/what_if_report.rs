//! The report of a what-if. Plain data.

use serde::Serialize;

use crate::kernel::{Outcome, State};
use crate::message::Digest;

/// What would have happened under another contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhatIfReport {
    /// Whether the run would have ended in the same class and code.
    pub same_outcome: bool,
    /// The recorded contract's hash.
    pub recorded_contract: Digest,
    /// The other contract's hash.
    pub other_contract: Digest,
    /// The fields in which the contracts differ; at most 1,000.
    pub contract_differences: Vec<TermsDifference>,
    /// Why the other contract is refused before the first request: the check of PRECHECK that fails; left out where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Entries of the recording.
    pub entries: u64,
    /// How many of them decide the same under the other contract, apart from what follows from the contract alone.
    pub same_decisions: u64,
    /// The first entry that decides otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_other_decision: Option<OtherDecision>,
    /// Where the recording no longer fits: nothing is known from there on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_longer_fits: Option<RecordingMismatch>,
    /// How the recorded run ended; null where it has no end.
    pub recorded_outcome: Option<Outcome>,
    /// How it would have ended; null where the recording does not say.
    pub outcome: Option<Outcome>,
    /// What could not be compared, and why; left out where everything was.
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
    /// What was decided, in words.
    pub recorded: String,
    /// What would be decided, in words.
    pub other: String,
}

/// Where a recording no longer fits a run under another contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordingMismatch {
    /// The entry's number.
    pub seq: u64,
    /// Why, in words.
    pub why: String,
    /// What is recorded there.
    pub recorded: String,
    /// What the run would do there.
    pub other: String,
}
