//! The events of a work item: the machine's only input.

use serde::{Deserialize, Serialize};

use super::{AttemptCalls, Capsule, Denial, WorkItem, WorkPath, WorkStatus};
use crate::contract::WORK_FORMAT;
use crate::message::{Digest, RunId};

/// The most bytes of a reason for people.
pub const MAX_WORK_REASON_BYTES: usize = 2_048;

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkEvent {
    /// Milliseconds since the item began, never decreasing, not counting time in which no process drove it.
    pub at_ms: u64,
    /// The event.
    pub event: WorkEventKind,
}

/// An event. Each variant says who raises it and what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    content = "value",
    rename_all = "snake_case",
    deny_unknown_fields
)]
pub enum WorkEventKind {
    /// Raised once, first: the item is queued, or blocked by its dependencies.
    Started(Box<WorkStarted>),
    /// An item of the same file that this one depends on has ended.
    DependencyEnded {
        /// Its id.
        id: String,
        /// Its receipt; none for one that succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt_id: Option<String>,
        /// Its end.
        status: WorkStatus,
    },
    /// The scratch tree is complete: the agent's run begins.
    Prepared {
        /// The tree hash of the snapshot.
        before: Digest,
        /// Required input files that do not exist.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing_inputs: Vec<WorkPath>,
    },
    /// The item is denied before its run begins (rule 4).
    Refused(Denial),
    /// The work tree is as an equal item left it (rule 4): nothing is done.
    AlreadyDone {
        /// The receipt of that item.
        receipt_id: String,
    },
    /// The run of the agent has ended, or could not begin.
    RunEnded(Box<AgentEnd>),
    /// The run waits for an answer of a person, and its process leaves it.
    RunSuspended,
    /// The scratch tree was compared with the snapshot.
    Compared(Box<Capsule>),
    /// The test command has ended.
    Tested(Box<TestEnd>),
    /// The work tree changed since the tests ran, at paths that this item does not change: the tests run again on the merged tree.
    Moved,
    /// The work tree differs from the snapshot at paths that this item changes, before its tests or before publishing. Nothing was
    /// published.
    Conflict {
        /// The paths that differ.
        paths: Vec<WorkPath>,
    },
    /// The changes are in the work tree, durably.
    Published {
        /// The tree hash of the work tree.
        after: Digest,
    },
    /// Publishing failed halfway: the published changes are reverted.
    PublishFailed {
        /// The error.
        reason: String,
    },
    /// The work tree is as it was before publishing.
    RolledBack,
    /// The work tree could not be restored. It stays locked, and the next process tries again.
    RollBackFailed {
        /// The error.
        reason: String,
    },
    /// The host could not do what the machine asked for, and the work tree is unchanged.
    HostFailed {
        /// The error.
        reason: String,
    },
    /// The moment of `next_deadline` has come.
    TimerFired,
    /// A person asked the item to end.
    StopRequested,
    /// Another process resumes the item: the effect under way begins again.
    Resumed,
}

/// The start data of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkStarted {
    /// The contract of the agent.
    pub contract_hash: Digest,
    /// The dependencies that have not succeeded yet.
    pub dependencies: Vec<String>,
    /// The item.
    pub item: WorkItem,
    /// Wall-clock time of the start, in milliseconds since 1970-01-01 UTC. Nothing is decided by it.
    pub started_unix_ms: u64,
    /// The name of this attempt at the item.
    pub work_id: RunId,
}

/// The document that an item's transcript is bound to, as a run's is to its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkDocument {
    contract_hash: Digest,
    format: &'static str,
    item: WorkItem,
}

impl WorkStarted {
    /// The document that the item is bound to.
    #[must_use]
    pub fn document(&self) -> WorkDocument {
        WorkDocument {
            contract_hash: self.contract_hash,
            format: WORK_FORMAT,
            item: self.item.clone(),
        }
    }
}

impl WorkDocument {
    /// Its canonical text (RFC 8785).
    #[must_use]
    pub fn canonical_text(&self) -> String {
        serde_json_canonicalizer::to_string(self).unwrap_or_default()
    }

    /// BLAKE3 of [`Self::canonical_text`].
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of(self.canonical_text().as_bytes())
    }
}

/// The end of the agent's run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEnd {
    /// Its calls.
    pub calls: AttemptCalls,
    /// The outcome and code of a run without success, as people read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The hash of the run's last entry; none if the run could not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// The run.
    pub run_id: RunId,
}

/// The end of the test command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestEnd {
    /// Exit code; none for a command that a signal ended or that could not begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Failed tests, where the output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// The end of the output, cut.
    pub output: String,
    /// BLAKE3 of the kept output, which is a blob of the transcript: the output without secrets, of a long one its end. None for an
    /// empty output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<Digest>,
    /// BLAKE3 of the whole output.
    pub output_digest: Digest,
    /// Passed tests, where the output says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u64>,
}

impl TestEnd {
    /// True for exit code 0.
    #[must_use]
    pub const fn is_pass(&self) -> bool {
        matches!(self.exit_code, Some(0))
    }
}
