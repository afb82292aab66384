//! The calls that wait or waited for approval, and the result of each wait. Does not ask anyone.

use crate::contract::RulePlace;
use crate::kernel::{Action, EffectRecord, EntryKind, Event, EventKind};
use crate::message::{CallSeq, Digest};

/// The call that waits for a person, and how many were not allowed. It may be fed with the last entries of a run alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    asked_by: Option<RulePlace>,
    awaited: Option<(CallSeq, Digest)>,
    expired: usize,
    refused: usize,
}

/// The result of a call's wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalEnd {
    /// A person allowed it.
    Allowed,
    /// A person refused it.
    Refused,
    /// `approval_timeout_ms` passed first.
    Expired,
    /// The run was stopped or ended first.
    Stopped,
}

impl Approvals {
    /// Takes the next entry; returns what became of the call that waited, where the entry settles that.
    pub fn take(
        &mut self,
        action: &Action,
        event: Option<&Event>,
    ) -> Option<(CallSeq, ApprovalEnd)> {
        let end = match event.map(|event| &event.event) {
            _ if !Self::is_settled_by(action, event) => None,
            None | Some(EventKind::Suspended | EventKind::Resumed(_)) => None,
            Some(EventKind::ApprovalGiven(_)) => Some(ApprovalEnd::Allowed),
            Some(EventKind::ApprovalDenied(_)) => Some(ApprovalEnd::Refused),
            Some(EventKind::TimerFired) => Some(ApprovalEnd::Expired),
            Some(_) => Some(ApprovalEnd::Stopped),
        };
        let settled = end.and_then(|end| Some((self.awaited.take()?.0, end)));
        match settled {
            Some((_, ApprovalEnd::Refused)) => self.refused = self.refused.saturating_add(1),
            Some((_, ApprovalEnd::Expired)) => self.expired = self.expired.saturating_add(1),
            Some((_, ApprovalEnd::Allowed | ApprovalEnd::Stopped)) | None => {}
        }
        for effect in &action.effects {
            if let EffectRecord::AwaitApproval {
                arguments_hash,
                asked_by,
                call,
            } = effect
            {
                self.asked_by = *asked_by;
                self.awaited = Some((*call, *arguments_hash));
            }
        }
        settled
    }

    /// Returns true if a call that waited before this entry no longer waits after it. An event that the machine ignores leaves
    /// the call waiting. So does a process that suspends or resumes the run.
    pub const fn is_settled_by(action: &Action, event: Option<&Event>) -> bool {
        let stays = match event {
            None => true,
            Some(event) => {
                matches!(event.event, EventKind::Suspended | EventKind::Resumed(_))
            }
        };
        !stays && !matches!(action.kind, EntryKind::Ignored)
    }

    /// The call that waits now, and the hash of its arguments.
    pub const fn awaited(&self) -> Option<(CallSeq, Digest)> {
        self.awaited
    }

    /// The rule of the contract that has a person asked about the last call that was asked about; none for its list
    /// `require_approval`, and for a server's question.
    pub const fn asked_by(&self) -> Option<RulePlace> {
        self.asked_by
    }

    /// Counts the calls that a person refused.
    pub const fn refused(&self) -> usize {
        self.refused
    }

    /// Returns the number of calls that exceeded `approval_timeout_ms`.
    pub const fn expired(&self) -> usize {
        self.expired
    }
}
