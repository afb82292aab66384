//! The ends of items in this process, and their sum. Decides none of them.

use crate::exit::Exit;
use monolith_core::message::RunId;
use monolith_core::work::{Denial, Receipt, RunResult, WorkEventKind, WorkStatus};

/// The end of an item in this process.
#[derive(Debug)]
pub enum ItemEnd {
    /// It has ended, with a receipt.
    Ended(Box<EndedItem>),
    /// It was left, and running the file again resumes it.
    Left(Box<LeftItem>),
    /// It was not begun.
    NotBegun(String),
}

/// An item that has ended.
#[derive(Debug)]
pub struct EndedItem {
    /// The item.
    pub id: String,
    /// True if an equal item had succeeded from this tree.
    pub is_duplicate: bool,
    /// Its result.
    pub result: RunResult,
}

impl EndedItem {
    pub(super) fn new(receipt: &Receipt, result: RunResult) -> Self {
        Self {
            id: receipt.item.id.clone(),
            is_duplicate: matches!(receipt.end.denial, Some(Denial::Duplicate { .. })),
            result,
        }
    }
}

/// An item that was left.
#[derive(Debug)]
pub struct LeftItem {
    /// The item.
    pub id: String,
    /// The reason why it cannot be driven on here, and the fix; `None` for one that waits for a person, or was asked to leave.
    pub fault: Option<(String, Option<String>)>,
    /// The run of its agent, where that waits.
    pub run_id: Option<RunId>,
}

/// A dependency that has ended without success.
#[derive(Clone, Debug)]
pub(super) struct Unmet {
    pub(super) id: String,
    pub(super) receipt_id: String,
    pub(super) status: WorkStatus,
}

impl Unmet {
    pub(super) fn event(&self) -> WorkEventKind {
        WorkEventKind::DependencyEnded {
            id: self.id.clone(),
            receipt_id: Some(self.receipt_id.clone()),
            status: self.status,
        }
    }
}

/// The number of items by their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkSummary {
    /// Failures, denials and timeouts.
    pub failed: usize,
    /// Items that were left.
    pub left: usize,
    /// Items that were not begun.
    pub not_begun: usize,
    /// Successes.
    pub succeeded: usize,
}

impl WorkSummary {
    /// Returns the exit code: 0 if all succeeded, 8 if one is left, else 1.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        if self.left > 0 {
            Exit::SUSPENDED
        } else if self.failed > 0 || self.not_begun > 0 {
            Exit::FAILED
        } else {
            Exit::OK
        }
    }

    pub(super) fn take(&mut self, end: &ItemEnd) {
        let count = match end {
            ItemEnd::Ended(ended) if ended.result.status == WorkStatus::Success => {
                &mut self.succeeded
            }
            ItemEnd::Ended(_) => &mut self.failed,
            ItemEnd::Left(_) => &mut self.left,
            ItemEnd::NotBegun(_) => &mut self.not_begun,
        };
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_worst_end() {
        let check = |failed, left, not_begun, expect| {
            let summary = WorkSummary {
                failed,
                left,
                not_begun,
                succeeded: 1,
            };
            assert_eq!(summary.exit(), expect);
        };
        check(0, 0, 0, Exit::OK);
        check(1, 0, 0, Exit::FAILED);
        check(0, 0, 1, Exit::FAILED);
        check(1, 1, 1, Exit::SUSPENDED);
    }
}
