//! The end of a run below which runs go on (semantics §2, 003): those are ended first, so that what they used is charged.

use statig::Outcome as Handled;

use super::batch::{Batch, BatchCall, Settled, Slot};
use super::edges::{FromExecute, Reply};
use super::execute::judged_outcome;
use super::machine::Machine;
use super::outbox::Outbox;
use super::stage::{Awaited, Stage, StageView};
use super::texts::FailedReason;
use super::{EventKind, LostEffect, ToolReturned};
use crate::message::{ToolOutcome, exact_sum};

/// Maximum wait for the ends of child runs. A run without an end by then is charged with everything that it might use. The
/// value decides ends, so it changes only with `semantics_version`.
pub(super) const ENDS_TIMEOUT_MS: u64 = 30_000;

impl Machine {
    /// Waits for the ends of the runs below, which were cancelled. The run's own timeouts do not go on meanwhile.
    pub(super) fn await_ends(&mut self, batch: &Batch, outbox: &mut Outbox) -> Handled<Stage> {
        self.clock.park(self.at_ms);
        let note = "the run ends once the runs below it have ended";
        outbox.note(self, StageView::Execute(batch), note);
        Handled::Handled
    }

    /// Takes the end of a run below; leaves EXECUTE with the last one, or once it is too late for them.
    pub(super) fn take_ends(&mut self, event: &EventKind, batch: &mut Batch) -> Reply<FromExecute> {
        match event {
            EventKind::ToolReturned(returned) => self.take_end(returned, batch),
            EventKind::TimerFired if self.ends_too_late() => {
                self.unpark();
                self.charge_grants();
                Reply::Go(FromExecute::Observe(batch.cut_short()))
            }
            EventKind::RunStarted(_)
            | EventKind::Probed(_)
            | EventKind::CallStreamed(_)
            | EventKind::InferenceReturned(_)
            | EventKind::InferenceFailed(_)
            | EventKind::TimerFired
            | EventKind::StopRequested
            | EventKind::Interrupted(_)
            | EventKind::ApprovalGiven(_)
            | EventKind::ApprovalDenied(_)
            | EventKind::EffectLost(
                LostEffect::Call(_)
                | LostEffect::Inference(_)
                | LostEffect::Probe
                | LostEffect::Wait,
            )
            | EventKind::Suspended
            | EventKind::Resumed(_) => Reply::Defer,
        }
    }

    fn take_end(&mut self, returned: &ToolReturned, batch: &mut Batch) -> Reply<FromExecute> {
        let Some(call) = batch.running_call(returned.call) else {
            return Reply::Defer;
        };
        let child = returned.child.as_deref();
        self.settle_child(returned.call, child);
        call.returned_in = self.seq;
        if let (Some(delegated), Some(child)) = (&mut call.delegated, child) {
            delegated.labels = child.report_labels();
        }
        let of = (call.invocation.id.as_str(), call.invocation.name.as_str());
        let outcome = judged_outcome(&returned.outcome, of, child);
        call.slot = match (outcome.as_ref(), child) {
            (ToolOutcome::Returned(envelope), Some(_)) => {
                self.context.new = exact_sum(self.context.new, envelope.tokens);
                Settled::cut(returned.call, Box::new(envelope.clone())).into()
            }
            // No run was begun, or nothing can be made of what it came to: it has no more to say.
            _ => Settled::Answered(FailedReason::EffectUnknown).into(),
        };
        match batch.settled() {
            Some(ended) => {
                self.unpark();
                Reply::Go(FromExecute::Observe(ended))
            }
            None => Reply::Stay("a run below has ended"),
        }
    }

    /// Continues the child runs in this process, to end them.
    pub(super) fn end_again(&self, batch: &Batch, outbox: &mut Outbox) {
        self.delegate_again(batch, outbox);
        outbox.cancel();
    }

    fn ends_too_late(&self) -> bool {
        let since = self.clock.parked_since().unwrap_or(self.at_ms);
        self.at_ms.saturating_sub(since) > ENDS_TIMEOUT_MS
    }
}

impl Batch {
    /// True if agents' runs are under way and nothing else is.
    pub(super) fn runs_agents_alone(&self) -> bool {
        let is_other = |call: &BatchCall<Slot>| match call.slot {
            Slot::Running(_) => call.grant().is_none(),
            Slot::Settled(_) | Slot::Pending(_) | Slot::ToAsk(..) | Slot::Approved(_) => false,
            Slot::Awaiting(..)
            | Slot::Asking { .. }
            | Slot::Unsampled { .. }
            | Slot::Sampling { .. }
            | Slot::Unsummarised { .. }
            | Slot::Summarising { .. } => true,
        };
        self.unwanted.is_empty()
            && self.running_calls().next().is_some()
            && !self.calls.iter().any(is_other)
    }
}

impl Machine {
    /// The earliest moment at which `TimerFired` would change something, in milliseconds since the run began. A timeout is
    /// exceeded one millisecond after it has passed.
    pub(super) fn next_deadline(&self, stage: &Stage) -> Option<u64> {
        let wait = match stage {
            Stage::Terminate(_) => return None,
            Stage::Infer(Awaited::Wait { until_ms }) => Some(*until_ms),
            Stage::Precheck
            | Stage::Infer(Awaited::Inference(_) | Awaited::Due { .. })
            | Stage::ValidateCalls(_)
            | Stage::Execute(_)
            | Stage::Observe(_)
            | Stage::Commit => None,
        };
        if let (Stage::Execute(batch), Some(since)) = (stage, self.clock.parked_since())
            && batch.ending
        {
            return Some(after(since, ENDS_TIMEOUT_MS));
        }
        if let Some(since) = self.clock.parked_since() {
            // A parked run is outside step and total timeout.
            return Some(after(since, self.contract.approval_timeout_ms));
        }
        let parked_ms = self.clock.parked_ms(self.at_ms);
        let on_run_clock =
            |start: u64, timeout: u64| after(start, timeout).saturating_add(parked_ms);
        let total = on_run_clock(0, self.contract.total_timeout_ms);
        let step = (self.turn.number > 0)
            .then(|| on_run_clock(self.turn.started_ms, self.contract.step_timeout_ms));
        [Some(total), step, wait].into_iter().flatten().min()
    }
}

const fn after(start_ms: u64, timeout_ms: u64) -> u64 {
    start_ms.saturating_add(timeout_ms).saturating_add(1)
}
