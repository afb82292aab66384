//! EXECUTE: rests until every started call has ended. Nothing starts after a deadline, a stop, a malformed envelope or a
//! result that did not fit the context.

use std::borrow::Cow;
use std::sync::Arc;

use super::batch::{Batch, FailedEnd, Settled, Shown, Slot};
use super::context::{account, target_name};
use super::delegate::{envelope_disagrees, without_a_run};
use super::edges::{FromExecute, Reply};
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::texts::FailedReason;
use super::{
    BlockReason, ChildEnd, ContextBlock, DroppedResult, EventKind, InferenceFailed, LostEffect,
    ToolReturned,
};
use crate::message::{CallSeq, ToolEnvelope, ToolOutcome, estimate_tokens, exact_sum};

/// Maximum number of questions by one call's server to a person or a model.
pub(super) const MOST_QUESTIONS: u32 = 10;

impl Machine {
    pub(super) fn execute(
        &mut self,
        event: &EventKind,
        batch: &mut Batch,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        if batch.ending {
            return self.take_ends(event, batch);
        }
        match event {
            EventKind::ToolReturned(returned) => self.tool_returned(batch, returned, outbox),
            EventKind::ApprovalGiven(approval) => self.approval_given(batch, approval, outbox),
            EventKind::ApprovalDenied(approval) => self.approval_denied(batch, approval, outbox),
            EventKind::TimerFired if self.approval_expired() => {
                let reason = FailedReason::DeniedApproval {
                    reason: None,
                    proposal: None,
                };
                self.refused(batch, outbox, ("the approval came too late", reason))
            }
            EventKind::StopRequested if !self.stop_requested && !batch.is_busy() => {
                self.stop_requested = true;
                self.unpark();
                self.go_on(batch, outbox, "stop requested")
            }
            EventKind::EffectLost(LostEffect::Call(call)) => self.call_lost(batch, *call, outbox),
            EventKind::InferenceReturned(returned) => {
                if let Some(reply) = self.take_sample(batch, returned, outbox) {
                    return reply;
                }
                if !self.take_summary(batch, returned) {
                    return Reply::Defer;
                }
                self.go_on(batch, outbox, "a summary came")
            }
            EventKind::InferenceFailed(failed) => self.inference_failed(batch, failed, outbox),
            EventKind::EffectLost(LostEffect::Inference(lost)) => {
                if let Some(reply) = self.end_sample(batch, *lost, None, outbox) {
                    return reply;
                }
                if !batch.end_summary(*lost, |_| Shown::Cut) {
                    return Reply::Defer;
                }
                self.go_on(batch, outbox, "a summary was lost")
            }
            EventKind::RunStarted(_)
            | EventKind::Probed(_)
            | EventKind::CallStreamed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::EffectLost(LostEffect::Probe | LostEffect::Wait)
            | EventKind::Suspended
            | EventKind::Resumed(_) => Reply::Defer,
        }
    }

    /// A summary, or what a server wanted asked, brought no message.
    fn inference_failed(
        &mut self,
        batch: &mut Batch,
        failed: &InferenceFailed,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        let is_sample = batch.awaits_sample(failed.inference);
        if !is_sample && !batch.end_summary(failed.inference, |_| Shown::Cut) {
            return Reply::Defer;
        }
        if let Some(usage) = &failed.usage {
            self.count_usage(failed.inference, usage);
        }
        let asked = self.asked.get(&failed.inference).copied();
        if let Some(target) = asked {
            self.take_fault(target, &failed.fault, outbox);
        }
        let reply = self.end_sample(batch, failed.inference, None, outbox);
        reply.unwrap_or_else(|| self.go_on(batch, outbox, "no summary came"))
    }

    fn tool_returned(
        &mut self,
        batch: &mut Batch,
        returned: &ToolReturned,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        let in_flight = self.prompts_in_flight(batch);
        let was_asking = batch.is_asking();
        let nothing_starts = self.nothing_starts();
        batch.leave_sampling(returned.call);
        let Some(call) = batch.running_call(returned.call) else {
            return Reply::Defer;
        };
        if call.asks_for_input() {
            // Its server did not wait for the answer.
            self.unpark();
        }
        call.returned_in = self.seq;
        let child = returned
            .child
            .as_deref()
            .filter(|_| call.delegated.is_some());
        if let Some(delegated) = &mut call.delegated {
            delegated.labels = child.map(ChildEnd::report_labels).unwrap_or_default();
            delegated.tools_ok = child.map_or(0, |child| child.tools_ok);
            self.settle_child(returned.call, child);
        }
        let of = (call.invocation.id.as_str(), call.invocation.name.as_str());
        let outcome = judged_outcome(&returned.outcome, of, child);
        let is_agent = call.delegated.is_some();
        if is_agent
            && child.is_none()
            && let Some(answered) = without_a_run(&outcome)
        {
            call.slot = answered.into();
            return self.go_on(batch, outbox, "no run was begun for an agent");
        }
        let failed = |end| Settled::Failed {
            call: returned.call,
            end,
        };
        call.slot = match outcome.as_ref() {
            ToolOutcome::Returned(envelope) => {
                self.envelope_returned(returned.call, envelope, &in_flight, outbox)
            }
            ToolOutcome::Malformed { .. } => failed(FailedEnd::Malformed).into(),
            ToolOutcome::ConnectionLost { .. } => failed(FailedEnd::ConnectionLost).into(),
            // One person is asked one thing at a time, and none once nothing could be made of the answer.
            // A call whose server asked again and again would never end: no time-out runs while a person is waited for.
            ToolOutcome::InputRequired(_)
                if is_agent || was_asking || nothing_starts || call.questions == MOST_QUESTIONS =>
            {
                Settled::Answered(FailedReason::EffectUnknown).into()
            }
            ToolOutcome::InputRequired(asked) => {
                call.questions += 1;
                call.slot = Slot::Asking {
                    asked: Box::new(asked.clone()),
                    call: returned.call,
                };
                let question = call.question();
                if let Some(question) =
                    question.filter(|_| !holds(Guard::Suspended, self.suspended))
                {
                    self.clock.park(self.at_ms);
                    outbox.await_approval(question);
                }
                return Reply::Stay("the server of a call asks a person");
            }
            ToolOutcome::SamplingRequired(_)
                if is_agent || nothing_starts || call.questions == MOST_QUESTIONS =>
            {
                Settled::Answered(FailedReason::EffectUnknown).into()
            }
            ToolOutcome::SamplingRequired(asked) => {
                call.questions += 1;
                let asked = (returned.call, asked);
                return Reply::Stay(self.sampling_required(call, asked, &in_flight, outbox));
            }
            ToolOutcome::TimedOut => failed(FailedEnd::TimedOut).into(),
            // The driver cancels no running call at a stop, only one that still waits in its queue.
            ToolOutcome::Cancelled if self.stop_requested => {
                Settled::Answered(FailedReason::NotStartedStop).into()
            }
            ToolOutcome::Cancelled => failed(FailedEnd::Cancelled).into(),
            ToolOutcome::ToolChanged { .. } => failed(FailedEnd::ToolChanged).into(),
            ToolOutcome::RestartInProgress => failed(FailedEnd::RestartInProgress).into(),
            ToolOutcome::RestartFailed { .. } => failed(FailedEnd::RestartFailed).into(),
        };
        let malformed = matches!(outcome.as_ref(), ToolOutcome::Malformed { .. });
        if holds(Guard::MalformedEnvelope, malformed) {
            self.verdict = Verdict::EnvelopeMalformed;
            batch.start_no_more(&FailedReason::NotStartedCutShort);
        }
        self.go_on(batch, outbox, "a call returned")
    }

    /// Returns the slot of a call that returned an envelope. Only such a result can overflow the context or be summarised.
    /// Monolith's answer to a failed call is counted when it is observed.
    fn envelope_returned(
        &mut self,
        call: CallSeq,
        envelope: &ToolEnvelope,
        in_flight: &[(usize, u64)],
        outbox: &mut Outbox,
    ) -> Slot {
        let (largest, fits) = self.largest();
        let schema = self.schema_tokens(largest, self.closing.is_some(), self.turn.number);
        let mut with_result = self.context;
        with_result.new = exact_sum(with_result.new, envelope.tokens);
        let envelope = Box::new(envelope.clone());
        if !holds(Guard::ResultFit, with_result.projected(schema) > fits) {
            self.context.new = with_result.new;
            if self.suspended && self.summarises(&envelope) && holds(Guard::Suspended, true) {
                return Slot::Unsummarised { call, envelope };
            }
            return match self.summarise(call, &envelope, in_flight, outbox) {
                Some(inference) => Slot::Summarising {
                    call,
                    envelope,
                    inference,
                },
                None => Slot::Settled(Settled::Returned {
                    call,
                    envelope,
                    shown: Shown::Cut,
                }),
            };
        }
        let judged = account(&with_result, schema, fits);
        let replacement = estimate_tokens(&FailedReason::ContextExceeded.observation());
        let block = ContextBlock {
            dropped: Some(DroppedResult {
                original: envelope.tokens,
                replacement,
            }),
            limit: fits,
            projected: judged.projected,
            reason: BlockReason::ToolPreflight,
            remaining: judged.remaining,
            target: target_name(&self.contract, largest),
        };
        outbox.context = Some(judged);
        outbox.blocked.push(block.clone());
        self.context_tripped.get_or_insert(block);
        self.context.new = exact_sum(self.context.new, replacement);
        Slot::Settled(Settled::Returned {
            call,
            envelope,
            shown: Shown::Nothing,
        })
    }

    /// True if no further call may start in this step.
    pub(super) fn nothing_starts(&self) -> bool {
        self.head_decides()
            || holds(Guard::StopStartsNothing, self.stop_requested)
            || self.context_tripped.is_some()
            || self.verdict == Verdict::EnvelopeMalformed
    }

    /// True if a budget is exceeded and nothing else ends the run.
    fn is_overdrawn_alone(&self) -> bool {
        self.budget_exceeded().is_some()
            && self.interrupted.is_none()
            && !self.total_exceeded()
            && !self.step_exceeded()
            && self.verdict != Verdict::EnvelopeMalformed
    }

    /// True if a call of that tool restarts after its result is lost.
    pub(super) fn starts_again(&self, tool: &str) -> bool {
        let idempotent = &self.contract.idempotent;
        idempotent.iter().any(|name| name == tool) && !self.nothing_starts()
    }

    fn call_lost(
        &mut self,
        batch: &mut Batch,
        lost: CallSeq,
        outbox: &mut Outbox,
    ) -> Reply<FromExecute> {
        batch.leave_sampling(lost);
        let Some(call) = batch.running_call(lost) else {
            return Reply::Defer;
        };
        if call.grant().is_some() {
            // Its run is resumed.
            return Reply::Defer;
        }
        // A question that its server put within the call is lost with it, and so is what it was answered.
        call.input.take_if(|input| input.resume.is_none());
        if self.starts_again(&call.invocation.name) {
            if holds(Guard::Suspended, self.suspended) {
                call.slot = Slot::Approved(lost);
                self.unpark();
                return Reply::Stay("an idempotent call is due again");
            }
            call.slot = Slot::Running(lost);
            outbox.execute(call.order(lost));
            self.unpark();
            return Reply::Stay("an idempotent call is started again");
        }
        call.slot = Settled::Answered(FailedReason::EffectUnknown).into();
        self.go_on(batch, outbox, "a call was lost")
    }

    /// After something ended: wait for the rest, start what is next, or leave.
    pub(super) fn go_on(
        &mut self,
        batch: &mut Batch,
        outbox: &mut Outbox,
        note: &'static str,
    ) -> Reply<FromExecute> {
        if self.is_overdrawn_alone() && batch.runs_agents_alone() {
            outbox.cancel();
            batch.end_but_delegations();
            self.clock.park(self.at_ms);
            return Reply::Stay(
                "a budget is exceeded: the run ends once its child runs have ended",
            );
        }
        if self.head_decides() && !batch.is_busy() {
            batch.start_no_more(&FailedReason::NotStartedCutShort);
        } else if holds(Guard::StopStartsNothing, self.stop_requested) {
            batch.start_no_more(&FailedReason::NotStartedStop);
        } else if self.context_tripped.is_some() {
            batch.start_no_more(&FailedReason::NotStartedContext);
        } else if !batch.is_busy() && !batch.is_asking() {
            self.start_next(batch, outbox);
        }
        if !batch.is_asking() {
            // What ends another call may have ended the question, too.
            self.unpark();
        }
        match batch.settled() {
            Some(ended) => Reply::Go(FromExecute::Observe(ended)),
            None => Reply::Stay(note),
        }
    }

    /// Starts the next call, or the next run of adjacent calls that the contract allows beside each other.
    pub(super) fn start_next(&mut self, batch: &mut Batch, outbox: &mut Outbox) {
        if holds(Guard::Suspended, self.suspended) {
            return;
        }
        let terms = Arc::clone(&self.contract);
        let share = batch.share;
        let mut group_is_parallel = false;
        let mut started = 0_usize;
        for call in &mut batch.calls {
            let (seq, asked_by) = match call.slot {
                Slot::Pending(seq) | Slot::Approved(seq) => (seq, None),
                Slot::ToAsk(seq, by) => (seq, Some(by)),
                Slot::Running(_) => {
                    // It started before its message was complete.
                    group_is_parallel = terms.runs_in_parallel(&call.invocation.name);
                    started += 1;
                    continue;
                }
                Slot::Settled(_)
                | Slot::Awaiting(..)
                | Slot::Asking { .. }
                | Slot::Unsampled { .. }
                | Slot::Sampling { .. }
                | Slot::Unsummarised { .. }
                | Slot::Summarising { .. } => continue,
            };
            let is_parallel = terms.runs_in_parallel(&call.invocation.name);
            let joins = group_is_parallel && is_parallel && asked_by.is_none();
            if started > 0 && !joins {
                break;
            }
            if let Some(by) = asked_by {
                call.slot = Slot::Awaiting(seq, by);
                self.clock.park(self.at_ms);
                if let Some(question) = call.question() {
                    outbox.await_approval(question);
                }
                break;
            }
            if self.start(call, seq, share, outbox) {
                group_is_parallel = is_parallel;
                started += 1;
            }
        }
    }
}

/// Judges the outcome of a call: an envelope is malformed if it does not fit the call of that id and name, or the run that it
/// ends.
pub(crate) fn judged_outcome<'o>(
    outcome: &'o ToolOutcome,
    (id, name): (&str, &str),
    child: Option<&ChildEnd>,
) -> Cow<'o, ToolOutcome> {
    let fault = match outcome {
        ToolOutcome::Returned(envelope) => {
            envelope_fault(envelope, id, name).or_else(|| envelope_disagrees(envelope, child?))
        }
        ToolOutcome::Malformed { .. }
        | ToolOutcome::InputRequired(_)
        | ToolOutcome::SamplingRequired(_)
        | ToolOutcome::ConnectionLost { .. }
        | ToolOutcome::TimedOut
        | ToolOutcome::Cancelled
        | ToolOutcome::ToolChanged { .. }
        | ToolOutcome::RestartInProgress
        | ToolOutcome::RestartFailed { .. } => None,
    };
    fault.map_or(Cow::Borrowed(outcome), |detail| {
        Cow::Owned(ToolOutcome::Malformed {
            detail,
            raw_hash: None,
        })
    })
}

/// Returns why an envelope does not fit its call.
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
