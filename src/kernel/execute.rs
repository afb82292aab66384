//! EXECUTE: rests until every started call has ended. Nothing starts after a deadline, a stop, a malformed envelope or a
//! result that did not fit the context.

use std::borrow::Cow;

use super::batch::Slot;
use super::context::{account, schema_tokens, smallest_limit};
use super::edges::{FromExecute, Reply};
use super::guard::{Guard, holds};
use super::machine::{Machine, Phase, Verdict};
use super::outbox::Outbox;
use super::summary::Summary;
use super::texts::FailedReason;
use super::{
    Approval, BlockReason, CallOrder, ContextBlock, DroppedResult, EventKind, LostEffect, State,
    ToolReturned,
};
use crate::message::{CallSeq, ToolEnvelope, ToolOutcome, estimate_tokens, exact_sum};

impl Machine {
    pub(super) fn execute(&mut self, event: &EventKind, outbox: &mut Outbox) -> Reply<FromExecute> {
        match event {
            EventKind::ToolReturned(returned) => self.tool_returned(returned, outbox),
            EventKind::ApprovalGiven(approval) => self.approved(approval, outbox),
            EventKind::ApprovalDenied(approval) => {
                if self.answer_awaiting(approval, &FailedReason::DeniedApproval) {
                    self.go_on(outbox, "denied")
                } else {
                    Reply::Defer
                }
            }
            EventKind::TimerFired if self.approval_expired() => {
                self.deny_awaiting();
                self.go_on(outbox, "the approval came too late")
            }
            EventKind::StopRequested if !self.stop_requested && !self.batch.is_busy() => {
                self.stop_requested = true;
                self.unpark();
                self.go_on(outbox, "stop requested")
            }
            EventKind::EffectLost(LostEffect::Call(call)) => self.call_lost(*call, outbox),
            EventKind::InferenceReturned(returned) if self.awaits_summary(returned.inference) => {
                self.take_summary(returned);
                self.go_on(outbox, "a summary came")
            }
            EventKind::InferenceFailed(failed) if self.awaits_summary(failed.inference) => {
                if let Some(usage) = &failed.usage {
                    self.count_usage(failed.inference, usage);
                }
                self.give_up_summary(failed.inference);
                self.go_on(outbox, "no summary came")
            }
            EventKind::EffectLost(LostEffect::Inference(lost)) if self.awaits_summary(*lost) => {
                self.give_up_summary(*lost);
                self.go_on(outbox, "a summary was lost")
            }
            EventKind::RunStarted(_)
            | EventKind::Probed(_)
            | EventKind::InferenceReturned(_)
            | EventKind::InferenceFailed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::EffectLost(_)
            | EventKind::Resumed(_) => Reply::Defer,
        }
    }

    fn tool_returned(
        &mut self,
        returned: &ToolReturned,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        let schema = schema_tokens(&self.contract, self.closing.is_some());
        let fits = smallest_limit(&self.contract);
        let ledger = self.context;
        let Some(call) = self.batch.running_call(returned.call) else {
            return Reply::Defer;
        };
        let invocation = &call.invocation;
        let outcome =
            judged_outcome(&returned.outcome, &invocation.id, &invocation.name).into_owned();
        let malformed = matches!(outcome, ToolOutcome::Malformed { .. });
        // Only a result can overflow; what monolith answers for a failed call is counted when it is observed.
        let result = if let ToolOutcome::Returned(envelope) = &outcome {
            Some(envelope.tokens)
        } else {
            None
        };
        let tokens = result.unwrap_or(0);
        let mut with_result = ledger;
        with_result.new = exact_sum(with_result.new, tokens);
        let overflows = result.is_some() && with_result.projected(schema) > fits;
        let dropped = holds(Guard::ResultFit, overflows);
        // The driver cancels no running call at a stop, only one that still waits in its queue.
        let never_started = self.stop_requested && matches!(outcome, ToolOutcome::Cancelled);
        call.slot = if never_started {
            Slot::Answered(FailedReason::NotStartedStop)
        } else {
            Slot::Ended {
                call: returned.call,
                outcome: Box::new(outcome),
                dropped,
                summary: Summary::None,
            }
        };
        if dropped {
            let target = self.smallest_target();
            let judged = account(&with_result, schema, fits, Some(target.clone()));
            let stub = FailedReason::ContextExceeded.observation();
            let replacement = estimate_tokens(&stub);
            let block = ContextBlock {
                dropped: Some(DroppedResult {
                    original: tokens,
                    replacement,
                }),
                limit: fits,
                projected: judged.projected,
                reason: BlockReason::ToolPreflight,
                remaining: judged.remaining,
                target,
            };
            outbox.context = Some(judged);
            outbox.blocked = Some(block.clone());
            self.context_tripped.get_or_insert(block);
            self.context.new = exact_sum(self.context.new, replacement);
        } else {
            self.context.new = exact_sum(self.context.new, tokens);
        }
        if holds(Guard::MalformedEnvelope, malformed) {
            self.verdict = Verdict::EnvelopeMalformed;
            self.batch.start_no_more(&FailedReason::NotStartedCutShort);
        }
        if let ToolOutcome::Returned(envelope) = &returned.outcome
            && !dropped
            && !malformed
        {
            self.summarise(returned.call, envelope, outbox);
        }
        self.go_on(outbox, "a call returned")
    }

    fn approved(&mut self, approval: &Approval, outbox: &mut Outbox) -> Reply<FromExecute> {
        let exceeded = self.head_decides();
        let Some(call) = self.batch.awaiting() else {
            return Reply::Defer;
        };
        let same = call.slot == Slot::Awaiting(approval.call)
            && call.arguments_hash == approval.arguments_hash;
        if !same {
            return Reply::Defer;
        }
        if exceeded {
            call.slot = Slot::Answered(FailedReason::NotStartedCutShort);
            self.unpark();
            return self.go_on(outbox, "approved, but a budget is exceeded");
        }
        call.slot = Slot::Running(approval.call);
        let order = CallOrder {
            arguments_hash: call.arguments_hash,
            call: approval.call,
            invocation: call.invocation.clone(),
        };
        self.unpark();
        outbox.execute(order);
        outbox.note(self, State::Execute, "approved");
        Reply::Stay
    }

    fn answer_awaiting(&mut self, approval: &Approval, reason: &FailedReason) -> bool {
        let Some(call) = self.batch.awaiting() else {
            return false;
        };
        let same = call.slot == Slot::Awaiting(approval.call)
            && call.arguments_hash == approval.arguments_hash;
        if same {
            call.slot = Slot::Answered(reason.clone());
            self.unpark();
        }
        same
    }

    fn approval_expired(&self) -> bool {
        self.parked_since.is_some_and(|since| {
            self.at_ms.saturating_sub(since) > self.contract.approval_timeout_ms
        })
    }

    fn deny_awaiting(&mut self) {
        if let Some(call) = self.batch.awaiting() {
            call.slot = Slot::Answered(FailedReason::DeniedApproval);
        }
        self.unpark();
    }

    /// Whether no further call may start in this step.
    pub(super) fn nothing_starts(&self) -> bool {
        self.head_decides()
            || holds(Guard::StopStartsNothing, self.stop_requested)
            || self.context_tripped.is_some()
            || self.verdict == Verdict::EnvelopeMalformed
    }

    fn call_lost(&mut self, lost: CallSeq, outbox: &mut Outbox) -> Reply<FromExecute> {
        let nothing_starts = self.nothing_starts();
        let Some(call) = self.batch.running_call(lost) else {
            return Reply::Defer;
        };
        let idempotent = self.contract.idempotent.contains(&call.invocation.name);
        if idempotent && !nothing_starts {
            outbox.execute(CallOrder {
                arguments_hash: call.arguments_hash,
                call: lost,
                invocation: call.invocation.clone(),
            });
            outbox.note(self, State::Execute, "an idempotent call is started again");
            return Reply::Stay;
        }
        call.slot = Slot::Answered(FailedReason::EffectUnknown);
        self.go_on(outbox, "a call was lost")
    }

    /// After something ended: wait for the rest, start what is next, or leave.
    fn go_on(&mut self, outbox: &mut Outbox, note: &str) -> Reply<FromExecute> {
        if self.head_decides() && !self.batch.is_busy() {
            self.batch.start_no_more(&FailedReason::NotStartedCutShort);
        } else if holds(Guard::StopStartsNothing, self.stop_requested) {
            self.batch.start_no_more(&FailedReason::NotStartedStop);
        } else if self.context_tripped.is_some() {
            self.batch.start_no_more(&FailedReason::NotStartedContext);
        } else if !self.batch.is_busy() && self.batch.has_pending() {
            self.start_next(outbox);
        }
        if self.batch.is_busy() || self.batch.is_awaiting() {
            outbox.note(self, State::Execute, note);
            return Reply::Stay;
        }
        Reply::Go(FromExecute::Observe)
    }

    /// Starts the next call, or the next run of adjacent calls that the contract allows beside each other.
    pub(super) fn start_next(&mut self, outbox: &mut Outbox) {
        self.phase = Phase::Calls;
        let terms = &self.contract;
        let parallel = |name: &str| {
            terms.parallel_tool_calls && terms.parallel_safe.iter().any(|safe| safe == name)
        };
        let needs_approval = |name: &str| terms.require_approval.iter().any(|n| n == name);
        let mut group_is_parallel = false;
        let mut started = 0_usize;
        for call in &mut self.batch.calls {
            let Slot::Pending(seq) = call.slot else {
                continue;
            };
            let name = &call.invocation.name;
            if started > 0 && !(group_is_parallel && parallel(name) && !needs_approval(name)) {
                break;
            }
            let order = CallOrder {
                arguments_hash: call.arguments_hash,
                call: seq,
                invocation: call.invocation.clone(),
            };
            started += 1;
            if needs_approval(name) {
                call.slot = Slot::Awaiting(seq);
                self.parked_since = Some(self.at_ms);
                outbox.await_approval(order);
                break;
            }
            group_is_parallel = parallel(name);
            call.slot = Slot::Running(seq);
            outbox.execute(order);
        }
    }

    /// `provider/model` of the target whose limit is the smallest.
    fn smallest_target(&self) -> String {
        let targets = 0..self.contract.attempt_targets();
        let smallest = targets.min_by_key(|target| super::context::limit(&self.contract, *target));
        super::context::target_name(&self.contract, smallest.unwrap_or(0))
    }
}

/// What a call came to: an envelope that does not fit the call of that id and name is malformed.
pub(crate) fn judged_outcome<'o>(
    outcome: &'o ToolOutcome,
    id: &str,
    name: &str,
) -> Cow<'o, ToolOutcome> {
    let fault = match outcome {
        ToolOutcome::Returned(envelope) => envelope_fault(envelope, id, name),
        ToolOutcome::Malformed { .. }
        | ToolOutcome::ConnectionLost { .. }
        | ToolOutcome::TimedOut
        | ToolOutcome::Cancelled
        | ToolOutcome::ToolChanged => None,
    };
    fault.map_or(Cow::Borrowed(outcome), |detail| {
        Cow::Owned(ToolOutcome::Malformed {
            detail,
            raw_hash: None,
        })
    })
}

/// What makes an envelope unfit for the call that it answers.
fn envelope_fault(envelope: &ToolEnvelope, id: &str, name: &str) -> Option<String> {
    if envelope.tool_call_id != id {
        return Some(format!(
            "the envelope answers call {:?}, expected {id:?}",
            envelope.tool_call_id
        ));
    }
    if envelope.tool != name {
        return Some(format!(
            "the envelope is of tool {:?}, expected {name:?}",
            envelope.tool
        ));
    }
    let error_stated = envelope.error.is_some();
    let is_error = envelope.status == crate::message::EnvelopeStatus::Error;
    (error_stated != is_error)
        .then(|| "status and error of the envelope contradict each other".to_owned())
}
