//! Suspend and resume (semantics §4, §9): a process leaves a run, and another one continues it. While the run is suspended
//! nothing is issued; the machine rests where the next effect is due.

use statig::Outcome as Handled;

use super::batch::{Batch, Settled, Slot};
use super::edges::{FromInfer, Reply};
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::stage::{Awaited, Resting, Stage};
use super::{Interrupter, OutcomeCode, Resumed};

impl Machine {
    /// Sends the running attempt's request, or rests where it is due.
    pub(super) fn issue_or_rest(&mut self, outbox: &mut Outbox) -> Awaited {
        if holds(Guard::Suspended, self.suspended) {
            return Awaited::Due { not_before_ms: 0 };
        }
        self.issue_inference(outbox)
    }

    /// Begins the wait before an attempt, or rests where it is due.
    pub(super) fn begin_wait(&self, until_ms: u64, outbox: &mut Outbox) -> Awaited {
        if holds(Guard::Suspended, self.suspended) {
            return Awaited::Due {
                not_before_ms: until_ms,
            };
        }
        outbox.wait(until_ms);
        Awaited::Wait { until_ms }
    }

    /// Resumes in another process: judges whether it may, and issues what is due.
    pub(super) fn resume(
        &mut self,
        resting: &mut Resting<'_>,
        resumed: &Resumed,
        outbox: &mut Outbox,
    ) -> Handled<Stage> {
        let was_suspended = std::mem::take(&mut self.suspended);
        if let Resting::Execute(batch) = resting
            && batch.ending
        {
            self.end_again(batch, outbox);
            outbox.note(self, resting.view(), "resumed");
            return Handled::Handled;
        }
        if !was_suspended {
            self.counters.resumes = self.counters.resumes.saturating_add(1);
        }
        self.tools_changed
            .extend(resumed.tools_changed.iter().cloned());
        self.holds.pass(resumed.elapsed_ms);
        if let Resting::Infer(
            Awaited::Wait { until_ms: end } | Awaited::Due { not_before_ms: end },
        ) = resting
        {
            *end = end.saturating_sub(resumed.elapsed_ms);
        }
        if holds(
            Guard::ContractMutated,
            resumed.contract_hash != self.contract.contract_hash(),
        ) {
            self.verdict = Verdict::Violation(OutcomeCode::ContractMutated);
            return self.abandon_resumed(resting, outbox);
        }
        if holds(
            Guard::MaxResumes,
            self.counters.resumes > self.contract.max_resumes,
        ) {
            self.interrupted = Some(Interrupter::Shutdown);
            return self.abandon_resumed(resting, outbox);
        }
        if let Resting::Execute(batch) = resting {
            self.delegate_again(batch, outbox);
        }
        let issued = match resting {
            Resting::Infer(awaited) => self.issue_due(awaited, outbox),
            Resting::Execute(batch) if was_suspended && !batch.is_asking() => {
                self.start_due(batch, outbox)
            }
            // What a person is asked about is still asked; a question that came since is asked now.
            Resting::Execute(batch) if was_suspended && self.clock.parked_since().is_none() => {
                match batch.resumable_question() {
                    // What came late may have used a budget up: nothing could be made of an answer.
                    Some(_) if self.nothing_starts() => self.start_due(batch, outbox),
                    Some(question) => {
                        self.clock.park(self.at_ms);
                        outbox.await_approval(question);
                        None
                    }
                    None => None,
                }
            }
            Resting::Precheck | Resting::Execute(_) => None,
        };
        if let Some(stage) = issued {
            return Handled::Transition(stage);
        }
        outbox.note(self, resting.view(), "resumed");
        Handled::Handled
    }

    /// Gives up a run that another process left: resumes its child runs so that they end.
    fn abandon_resumed(
        &mut self,
        resting: &mut Resting<'_>,
        outbox: &mut Outbox,
    ) -> Handled<Stage> {
        if let Resting::Execute(batch) = resting {
            self.delegate_again(batch, outbox);
        }
        self.abandon(resting, outbox)
    }

    /// Sends the request that is due; the way out of INFER where it may not be sent any more.
    fn issue_due(&mut self, awaited: &mut Awaited, outbox: &mut Outbox) -> Option<Stage> {
        let Awaited::Due { not_before_ms } = *awaited else {
            return None;
        };
        let late = self.total_exceeded() || self.step_exceeded();
        if not_before_ms > self.at_ms && !late {
            *awaited = self.begin_wait(not_before_ms, outbox);
        } else if self.request_again_fits() && !late {
            // What came late may have used the budget or the time up: then COMMIT judges.
            *awaited = self.issue_inference(outbox);
        } else {
            self.verdict = Verdict::WaitEnded;
            return Some(FromInfer::Commit.into());
        }
        None
    }

    /// Asks for the summaries that are due and starts the next calls; the way out of EXECUTE where nothing is left to start.
    fn start_due(&mut self, batch: &mut Batch, outbox: &mut Outbox) -> Option<Stage> {
        for nth in 0..batch.calls.len() {
            let in_flight = self.prompts_in_flight(batch);
            let Some(one) = batch.calls.get_mut(nth) else {
                continue;
            };
            if self.sample_due(one, &in_flight, outbox) {
                continue;
            }
            if let Slot::Unsummarised { call, envelope } = &one.slot {
                let (call, envelope) = (*call, envelope.clone());
                one.slot = match self.summarise(call, &envelope, &in_flight, outbox) {
                    Some(inference) => Slot::Summarising {
                        call,
                        envelope,
                        inference,
                    },
                    None => Settled::cut(call, envelope).into(),
                };
            }
        }
        match self.go_on(batch, outbox, "resumed") {
            Reply::Go(edge) => Some(edge.into()),
            Reply::Stay(_) | Reply::Defer => None,
        }
    }
}
