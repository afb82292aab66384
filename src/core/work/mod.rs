//! Work items (004): an agent's change to a folder happens completely or not at all, and leaves a receipt.
//!
//! Knows items, the machine of one item, the manifest of a tree, admission, levels, receipts and the statements about them. Reads no
//! file, starts no run and does not know how a change reaches a disk: the host's `work_tree` does that.
//!
//! ```text
//! item file ─▶ WorkPlan ─▶ levels ─▶ WorkItem ─▶ machine ─▶ effects: prepare, run, compare, test, publish
//!                                                   ▲                      │
//!                                                   └──── events ◀─────────┘
//! sealed item ─▶ Receipt ─┬▶ RunResult
//!                         └▶ in-toto Statement ─▶ DSSE envelope
//! ```

mod admission;
mod capsule;
mod entry;
mod event;
mod fold;
mod item;
mod machine;
mod path;
mod plan;
mod receipt;
mod replay;
mod result;
mod statement;
mod test_report;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_explore;
#[cfg(test)]
mod tests_monitor;
#[cfg(test)]
mod tests_plan;
#[cfg(test)]
mod tests_receipt;
#[cfg(test)]
mod tests_transcript;
mod tree;

pub use crate::contract::{RECEIPT_FORMAT, WorkOutcome, WorkState, WorkStatus};
pub use admission::{
    AttemptCalls, Denial, Duplicate, EarlierSuccess, RunLimit, admit, find_duplicate,
};
pub use capsule::{Capsule, Deltas};
pub use entry::{WorkAction, WorkEffect, WorkEnd, WorkEntryKind};
pub use event::{
    AgentEnd, MAX_WORK_REASON_BYTES, TestEnd, WorkDocument, WorkEvent, WorkEventKind, WorkStarted,
};
pub use fold::{WorkFold, WorkFoldError};
pub use item::{Budget, Complexity, Constraints, OnConflict, ToolErrors, WorkItem};
pub use machine::{MAX_ATTEMPTS, MAX_MOVES, Work, WorkDraft};
pub use path::{GIT_NAME, PathError, SCRATCH_NAME, WorkPath};
pub use plan::WorkPlan;
pub use receipt::{Artifact, Metrics, Receipt, ReceiptError, ReceiptFacts, ReceiptPlace};
pub use replay::{first_difference, replay_script};
pub use result::{ResultPlaces, RunResult};
pub use statement::{
    PROVENANCE_PREDICATE, RECEIPT_PREDICATE, STATEMENT_PAYLOAD, Statement, StatementError, Subject,
    TEST_RESULT_PREDICATE,
};
pub use test_report::TestCount;
pub use tree::{MODE_BITS, Manifest, PathChange, TreeNode};
