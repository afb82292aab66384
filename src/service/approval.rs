//! The approval status of a call: it waits for a person, or has an answer that no process has taken yet. Leaves and takes none.

use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_host::store::StoreReader;

/// The status of a call that needs an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalStatus {
    /// No person has answered.
    Waits,
    /// A person allowed or denied it. The process that drives the run takes the answer, or the next one that does.
    Answered {
        /// True if the answer allows the call.
        approved: bool,
    },
}

impl ApprovalStatus {
    /// Returns the status of that call in a run of the store. An answer that others could have written does not count.
    pub fn of(reader: &StoreReader, run_id: &RunId, awaited: (CallSeq, Digest)) -> Self {
        match reader.answer_to(run_id, awaited) {
            Ok(Some(answer)) => Self::Answered {
                approved: answer.approved,
            },
            Ok(None) | Err(_) => Self::Waits,
        }
    }

    /// The answer in a word, where there is one.
    pub const fn answer(self) -> Option<&'static str> {
        match self {
            Self::Waits => None,
            Self::Answered { approved } => Some(verdict(approved)),
        }
    }
}

/// An answer in a word.
pub const fn verdict(approved: bool) -> &'static str {
    if approved { "allowed" } else { "denied" }
}
