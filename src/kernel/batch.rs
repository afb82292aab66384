//! The calls of one accepted message, from authorisation to observation.

use super::CallOrder;
use super::texts::FailedReason;
use crate::message::{CallSeq, Digest, ToolInvocation, ToolOutcome};

/// Where one call of the message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Answered by monolith; never started.
    Answered(FailedReason),
    /// Answered by monolith, and it is no failure.
    Said(String),
    /// A call of `agent__final_report`: answered once it is known whether the report counts.
    Report,
    /// Authorised, not yet started.
    Pending(CallSeq),
    /// Authorised, waits for a person.
    Awaiting(CallSeq),
    /// Started.
    Running(CallSeq),
    /// Ended; `dropped` where its result did not fit the context.
    Ended {
        call: CallSeq,
        outcome: Box<ToolOutcome>,
        dropped: bool,
    },
}

/// One call and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchCall {
    pub(super) invocation: ToolInvocation,
    pub(super) arguments_hash: Digest,
    pub(super) slot: Slot,
    /// Where it stands in a container: the container's id, and what the model calls it there.
    pub(super) part: Option<(String, String)>,
}

/// The calls of one message, in the message's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) calls: Vec<BatchCall>,
}

impl Batch {
    pub(super) fn running(&self) -> usize {
        self.running_calls().count()
    }

    /// The calls that were started and have not ended, in call order, which is the order of their start.
    pub(super) fn running_calls(&self) -> impl Iterator<Item = CallSeq> {
        self.calls.iter().filter_map(|call| {
            if let Slot::Running(seq) = call.slot {
                Some(seq)
            } else {
                None
            }
        })
    }

    /// The call that waits for a person, where one does.
    pub(super) fn awaiting(&mut self) -> Option<&mut BatchCall> {
        self.calls
            .iter_mut()
            .find(|c| matches!(c.slot, Slot::Awaiting(_)))
    }

    /// What a person is asked to answer.
    pub(super) fn awaited(&self) -> Option<CallOrder> {
        self.calls.iter().find_map(|one| match one.slot {
            Slot::Awaiting(call) => Some(CallOrder {
                arguments_hash: one.arguments_hash,
                call,
                invocation: one.invocation.clone(),
            }),
            Slot::Answered(_)
            | Slot::Said(_)
            | Slot::Report
            | Slot::Pending(_)
            | Slot::Running(_)
            | Slot::Ended { .. } => None,
        })
    }

    pub(super) fn is_awaiting(&self) -> bool {
        self.calls
            .iter()
            .any(|c| matches!(c.slot, Slot::Awaiting(_)))
    }

    pub(super) fn has_pending(&self) -> bool {
        self.calls
            .iter()
            .any(|c| matches!(c.slot, Slot::Pending(_)))
    }

    pub(super) fn running_call(&mut self, call: CallSeq) -> Option<&mut BatchCall> {
        self.calls
            .iter_mut()
            .find(|c| c.slot == Slot::Running(call))
    }

    /// Answers everything that has not been started with `reason`.
    pub(super) fn start_no_more(&mut self, reason: &FailedReason) {
        for call in &mut self.calls {
            if matches!(call.slot, Slot::Pending(_) | Slot::Awaiting(_)) {
                call.slot = Slot::Answered(reason.clone());
            }
        }
    }

    /// Ends the batch now: what runs has an unknown effect, what does not is not started.
    pub(super) fn cut_short(&mut self) {
        self.start_no_more(&FailedReason::NotStartedCutShort);
        for call in &mut self.calls {
            if matches!(call.slot, Slot::Running(_)) {
                call.slot = Slot::Answered(FailedReason::EffectUnknown);
            }
        }
    }
}
