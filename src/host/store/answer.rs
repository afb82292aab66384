//! Answers to calls that wait for approval: how they are left, found and taken. Whether an answer still counts is for the machine.

use serde::{Deserialize, Serialize};

use super::{Store, StoreError, StoreReader};
use monolith_core::kernel::Approval;
use monolith_core::message::{CallSeq, Digest, RunId};

/// A person's answer to a call that waits for one, left for the process that drives the run. It counts for the run, the call and the arguments that it names and for no others, so an answer
/// that comes too late changes nothing, and one that stayed behind answers no later run of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// True if the call may be made.
    pub approved: bool,
    /// The call of the run, by the hash of the exact text that the person saw, and the person's words about it.
    pub approval: Approval,
    /// The hash of the run's first entry: another run of that name has another.
    pub first_entry: Digest,
}

impl Answer {
    /// Returns true if it answers that call, with those arguments.
    pub(super) fn is_to(&self, call: CallSeq, arguments_hash: Digest) -> bool {
        (self.approval.call, self.approval.arguments_hash) == (call, arguments_hash)
    }

    /// Returns true if both answer the same question, whatever they say.
    pub fn is_to_the_same(&self, other: &Self) -> bool {
        let of = |answer: &Self| {
            let approval = &answer.approval;
            (approval.arguments_hash, approval.call, answer.first_entry)
        };
        of(self) == of(other)
    }

    /// Returns true if its signature does not hold.
    pub fn is_forged(&self) -> bool {
        let checked = self
            .approval
            .check_signature(self.first_entry, self.approved);
        checked.is_err()
    }
}

impl StoreReader {
    /// The answer that was left for a run to that call; `None` if nothing there can be read as one. It stays until the run has
    /// recorded it, or any other answer to the call: a process that ends before loses nothing.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there: it stays, and answers nothing. [`StoreError`] where the run cannot be
    /// read.
    pub fn answer_to(
        &self,
        run_id: &RunId,
        (call, arguments_hash): (CallSeq, Digest),
    ) -> Result<Option<Answer>, StoreError> {
        let left = self.left_answer(run_id)?;
        let Some(left) = left.filter(|left| left.is_to(call, arguments_hash)) else {
            return Ok(None);
        };
        let is_of_run = self.database.first_entry(run_id)? == Some(left.first_entry);
        Ok(is_of_run.then_some(left))
    }

    /// The answer that was left for a run and not taken yet; `None` if nothing there can be read as one.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub fn left_answer(&self, run_id: &RunId) -> Result<Option<Answer>, StoreError> {
        self.database.left_answer(run_id)
    }

    /// Leaves an answer in place of the one that was found there, if any, when the run had that many entries. False if
    /// another one was left or taken since that look, or the run went on; nothing is changed then.
    ///
    /// # Errors
    /// [`StoreError`] where the file cannot be written, and [`StoreError::Lock`] where others can write what is there.
    pub fn leave_answer(
        &self,
        run_id: &RunId,
        answer: &Answer,
        found: (Option<&Answer>, u64),
    ) -> Result<bool, StoreError> {
        self.database.leave_answer(run_id, answer, found)
    }
}

impl Store {
    /// As [`StoreReader::answer_to`]. Where nothing was left, no reader is opened.
    pub fn answer_to(
        &self,
        run_id: &RunId,
        call: (CallSeq, Digest),
    ) -> Result<Option<Answer>, StoreError> {
        if self.database.left_answer(run_id)?.is_none() {
            return Ok(None);
        }
        self.reader()?.answer_to(run_id, call)
    }

    /// Removes what was left as an answer to what this one answers, now that it is recorded. Where a person is at it this moment, it stays.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub fn drop_answer(&self, run_id: &RunId, approval: &Approval) -> Result<(), StoreError> {
        self.database.drop_answer(run_id, approval)
    }

    /// Removes whatever was left for a run that is about to ask: no one can have answered that yet.
    ///
    /// # Errors
    /// [`StoreError::Lock`] where others can write what is there.
    pub(crate) fn drop_earlier_answer(&self, run_id: &RunId) -> Result<(), StoreError> {
        self.database.drop_any_answer(run_id)
    }
}
