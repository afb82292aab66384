//! The machine's record of a step: its decision and its effects.

use serde::{Deserialize, Serialize};

use super::{Denial, WorkPath};
use crate::contract::{WorkState, WorkStatus};

/// The end of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkEnd {
    /// Paths that someone else changed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<WorkPath>,
    /// The reason of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<Denial>,
    /// The error of a failure or timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The receipt of an equal item whose changes are in the work tree already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt_id: Option<String>,
    /// True if a partly published change could not be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rollback_failed: bool,
    /// The status.
    pub status: WorkStatus,
}

/// An effect that the host performs once the entry is durable. At most one is under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum WorkEffect {
    /// Takes a snapshot, makes the scratch tree, and judges rule 4.
    Prepare {
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// Runs the agent in the scratch tree; a run that has begun resumes.
    Run {
        /// The number of the attempt.
        attempt: u32,
        /// Milliseconds until the deadline.
        timeout_ms: u64,
    },
    /// Compares the scratch tree with the snapshot.
    Compare,
    /// Runs the test command on a copy of the admitted tree.
    Test {
        /// True if the changes are applied to the work tree as it is now, not to the snapshot.
        is_merged: bool,
        /// Milliseconds until the deadline.
        timeout_ms: u64,
    },
    /// Ends the run or the tests under way.
    Stop,
    /// Puts the changes into the work tree.
    Publish,
    /// Reverts the published changes.
    RollBack,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkEntryKind {
    /// Entry 0.
    Start,
    /// The state or the effect under way changed.
    Transition,
    /// An event that changed neither.
    Noted,
    /// A late or unexpected event; nothing changed.
    Ignored,
    /// The last entry.
    Seal,
}

/// The machine's action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkAction {
    /// The effect that begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<WorkEffect>,
    /// The end, on the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<WorkEnd>,
    /// The state before.
    pub from: WorkState,
    /// The kind of this entry.
    pub kind: WorkEntryKind,
    /// Number of entries, this one included; only on the seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// The entry's number, from 0.
    pub seq: u64,
    /// The state after: the `state` of the chain.
    pub to: WorkState,
}
