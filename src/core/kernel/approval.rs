//! The questions to a person while EXECUTE rests: the approval of a call, and the input that a call's server requests
//! (semantics §6). Asks no one.

use super::batch::{Batch, BatchCall, Settled, Slot};
use super::edges::{FromExecute, Reply};
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::outbox::Outbox;
use super::texts::FailedReason;
use super::{Approval, GivenInput};
use crate::message::ObjectText;

impl Machine {
    /// A person allowed the call, or entered what its server asks for.
    pub(super) fn approval_given(
        &mut self,
        batch: &mut Batch,
        approval: &Approval,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        let exceeded = self.head_decides();
        let Some(call) = self.asked_of(batch, approval) else {
            return Reply::Defer;
        };
        let content = approval.content.clone().unwrap_or_else(ObjectText::empty);
        self.unpark();
        // What its run may use is judged where calls are started.
        if let (Slot::Awaiting(seq, _), true, false) =
            (&call.slot, call.delegated.is_some(), exceeded)
        {
            call.slot = Slot::Approved(*seq);
            return self.go_on(batch, outbox, "approved");
        }
        match self.answered(call, Some(content), exceeded, outbox) {
            Some(note) => Reply::Stay(note),
            None => self.go_on(batch, outbox, "approved, but a budget is exceeded"),
        }
    }

    /// A person refused it.
    pub(super) fn approval_denied(
        &mut self,
        batch: &mut Batch,
        approval: &Approval,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        if self.asked_of(batch, approval).is_none() {
            return Reply::Defer;
        }
        let reason = FailedReason::DeniedApproval {
            reason: approval.reason.clone(),
            proposal: approval.proposal.as_ref().map(ToString::to_string),
        };
        self.refused(batch, outbox, ("denied", reason))
    }

    /// Handles a person's answer: starts the approved call, or continues the call whose server asked. Returns `None` if nothing
    /// may start any more: the call is then settled.
    fn answered(
        &mut self,
        call: &mut BatchCall<Slot>,
        content: Option<ObjectText>,
        exceeded: bool,
        outbox: &mut Outbox,
    ) -> Option<&'static str> {
        let (seq, input) = match &call.slot {
            Slot::Awaiting(seq, _) => (*seq, None),
            Slot::Asking { call, asked } => {
                let resume = asked.resume.clone();
                (*call, Some(Box::new(GivenInput { content, resume })))
            }
            Slot::Settled(_)
            | Slot::Pending(_)
            | Slot::ToAsk(..)
            | Slot::Approved(_)
            | Slot::Running(_)
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => return None,
        };
        if exceeded {
            let reason = match input {
                Some(_) => FailedReason::EffectUnknown,
                None => FailedReason::NotStartedCutShort,
            };
            call.slot = Settled::Answered(reason).into();
            return None;
        }
        if holds(Guard::Suspended, self.suspended) {
            if input.as_ref().is_some_and(|input| input.resume.is_none()) {
                // The call waits with its question in the process that leaves: it ends there, or is lost with it.
                call.slot = Slot::Running(seq);
                return Some("answered, but the process that waits for it leaves");
            }
            call.input = input;
            call.slot = Slot::Approved(seq);
            return Some("approved, and due when the run is resumed");
        }
        call.input = input;
        call.slot = Slot::Running(seq);
        outbox.execute(call.order(seq));
        Some(if call.input.is_some() {
            "the server has its answer"
        } else {
            "approved"
        })
    }

    /// Handles a question that no person allowed: the call is not made, or continues without the input for its server.
    pub(super) fn refused(
        &mut self,
        batch: &mut Batch,
        outbox: &mut Outbox,
        (note, reason): (&'static str, FailedReason),
    ) -> Reply<FromExecute> {
        let exceeded = self.head_decides();
        self.unpark();
        if let Some(call) = batch.awaiting() {
            if !call.asks_for_input() {
                call.slot = Settled::Answered(reason).into();
            } else if self.answered(call, None, exceeded, outbox).is_some() {
                return Reply::Stay(note);
            }
        }
        self.go_on(batch, outbox, note)
    }

    /// The call that waits for exactly this answer, where it is of one of those whose answers count.
    fn asked_of<'b>(
        &self,
        batch: &'b mut Batch,
        approval: &Approval,
    ) -> Option<&'b mut BatchCall<Slot>> {
        let approvers = &self.contract.approvers;
        let of_one = || {
            let answerer = approval.answerer.as_ref();
            answerer.is_some_and(|answerer| approvers.contains(&answerer.key))
        };
        if holds(Guard::Approvers, !approvers.is_empty() && !of_one()) {
            return None;
        }
        batch.awaiting().filter(|call| {
            call.question().is_some_and(|asked| {
                asked.call == approval.call && asked.arguments_hash == approval.arguments_hash
            })
        })
    }

    pub(super) fn approval_expired(&self) -> bool {
        self.clock.parked_since().is_some_and(|since| {
            self.at_ms.saturating_sub(since) > self.contract.approval_timeout_ms
        })
    }
}
