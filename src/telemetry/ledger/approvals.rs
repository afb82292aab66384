use crate::kernel::{Action, EffectRecord, EntryKind, Event, EventKind};
use crate::message::{CallSeq, Digest};

/// The call that waits for a person, and what became of those that did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Approvals {
    awaited: Option<(CallSeq, Digest)>,
    refused: usize,
    unanswered: usize,
}

/// What became of a call that waited for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Somebody allowed it.
    Allowed,
    /// Somebody refused it.
    Refused,
    /// Nobody answered in time.
    Unanswered,
    /// The run was stopped or ended before anybody answered.
    Stopped,
}

impl Approvals {
    /// Takes the next entry; says what became of the call that waited, where the entry settles that.
    pub(crate) fn take(
        &mut self,
        action: &Action,
        event: Option<&Event>,
    ) -> Option<(CallSeq, Answered)> {
        let answered = match event.map(|event| &event.event) {
            // What the machine ignores, and a process that goes on with the run, leave the call where it is.
            _ if action.kind == EntryKind::Ignored => None,
            None | Some(EventKind::Resumed(_)) => None,
            Some(EventKind::ApprovalGiven(_)) => Some(Answered::Allowed),
            Some(EventKind::ApprovalDenied(_)) => Some(Answered::Refused),
            Some(EventKind::TimerFired) => Some(Answered::Unanswered),
            Some(_) => Some(Answered::Stopped),
        };
        let settled = answered.and_then(|answered| Some((self.awaited.take()?.0, answered)));
        match settled {
            Some((_, Answered::Refused)) => self.refused = self.refused.saturating_add(1),
            Some((_, Answered::Unanswered)) => self.unanswered = self.unanswered.saturating_add(1),
            Some((_, Answered::Allowed | Answered::Stopped)) | None => {}
        }
        for effect in &action.effects {
            if let EffectRecord::AwaitApproval {
                arguments_hash,
                call,
            } = effect
            {
                self.awaited = Some((*call, *arguments_hash));
            }
        }
        settled
    }

    /// The call that waits now, and the hash of its arguments.
    pub(crate) const fn awaited(&self) -> Option<(CallSeq, Digest)> {
        self.awaited
    }

    /// Which calls were not made for want of an approval, in words; none where there are none.
    pub(crate) fn denied(&self) -> Option<String> {
        let times = |count: usize| match count {
            1 => String::new(),
            count => format!(" {count} times"),
        };
        match (self.refused, self.unanswered) {
            (0, 0) => None,
            (refused, 0) => Some(format!("a person refused the approval{}", times(refused))),
            (0, late) => Some(format!(
                "nobody answered in time whether to allow it{}",
                times(late)
            )),
            (refused, late) => Some(format!(
                "a person refused {refused}, and nobody answered in time for {late}"
            )),
        }
    }
}

impl Answered {
    /// What the model is told and why, in words; none where the call was made.
    pub(crate) const fn words(self) -> Option<&'static str> {
        match self {
            Self::Allowed => None,
            Self::Refused => Some("denied: approval, a person refused it"),
            Self::Unanswered => Some("denied: approval, nobody answered in time"),
            Self::Stopped => Some("not started: the run was stopped while it waited"),
        }
    }
}
