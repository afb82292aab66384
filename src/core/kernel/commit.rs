//! COMMIT: flushes counters, asks the predicates, and does what they decided.

use super::context::target_name;
use super::edges::FromCommit;
use super::guard::{Guard, holds};
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::stage::Awaited;
use super::texts::{
    FINAL_INSTRUCTION, REPORT_INSTRUCTION, STEPS_INSTRUCTION, STEPS_REPORT_INSTRUCTION, notice,
};
use super::turn::{Failure, Turn};
use super::{AgentOutcome, ClosingReason, Outcome, OutcomeCode, Predicate, PredicateName};
use crate::message::estimate_tokens;

/// The result of a decision.
pub(super) enum Carried {
    /// The run continues and waits for this.
    On(Awaited),
    /// The run is over.
    Out(Outcome),
}

impl Machine {
    pub(super) fn commit(&mut self, outbox: &mut Outbox) -> FromCommit {
        self.context.flush();
        // A target that does not hold the request took no attempt.
        if let Verdict::Failed(failure) = &self.verdict
            && !failure.is_overflow()
        {
            let failure = failure.clone();
            self.turn.record(&failure);
        }
        let decision = self.decide();
        let carried = self.carry_out(decision, outbox);
        self.verdict = Verdict::None;
        match carried {
            Carried::On(awaited) => FromCommit::Infer(awaited),
            Carried::Out(outcome) => FromCommit::Terminate(outcome),
        }
    }

    /// Does what was decided.
    pub(super) fn carry_out(&mut self, decision: Decision, outbox: &mut Outbox) -> Carried {
        match decision {
            Decision::End(ending) => Carried::Out(self.end(&ending, outbox)),
            Decision::Continue { predicate, next } => {
                outbox.predicate = Some(predicate);
                Carried::On(self.go_on_with(next, outbox))
            }
        }
    }

    /// Ends the run: the outcome is fixed, and the driver gets it as an effect.
    pub(super) fn end(&mut self, ending: &Ending, outbox: &mut Outbox) -> Outcome {
        outbox.predicate = Some(ending.predicate);
        outbox.note = ending.note.clone().or_else(|| outbox.note.take());
        self.notices.clear();
        outbox.report = self.report_record();
        outbox.finish(ending.outcome);
        ending.outcome
    }

    fn go_on_with(&mut self, next: Next, outbox: &mut Outbox) -> Awaited {
        if matches!(self.verdict, Verdict::Failed(Failure::Rejected)) {
            self.counters.format_retries = self.counters.format_retries.saturating_add(1);
        }
        let wait = self.wait_before(next);
        outbox.blocked = match next {
            Next::Closing(ClosingReason::Context) => self.context_blocks(self.next_in_turn()),
            Next::Again | Next::Elsewhere | Next::Retry | Next::Turn | Next::Closing(_) => {
                self.too_small(next)
            }
        };
        let target = self.next_target(next);
        match next {
            Next::Again => {}
            Next::Elsewhere => self.turn.ask_elsewhere(target),
            Next::Retry => self.turn.next_attempt(target),
            Next::Turn => self.begin_turn(target),
            Next::Closing(reason) => self.begin_closing(reason, target),
        }
        match wait {
            Some(until_ms) => self.begin_wait(until_ms, outbox),
            None => self.issue_or_rest(outbox),
        }
    }

    /// The end of the hold of the next request's target, if it is on hold: the earliest, where all are.
    pub(super) fn wait_before(&self, next: Next) -> Option<u64> {
        match next {
            // A stop ends waits; its closing turn begins at once.
            Next::Again | Next::Closing(ClosingReason::Stop) => None,
            Next::Elsewhere | Next::Retry | Next::Turn | Next::Closing(_) => {
                self.holds.until(self.next_target(next), self.at_ms)
            }
        }
    }

    /// Item 7, the deadlines: a wait that does not end before one is not begun.
    pub(super) fn waits_too_long(&self, next: Next) -> Option<Ending> {
        let until_ms = self.wait_before(next)?;
        let wait_ms = until_ms.saturating_sub(self.at_ms);
        let step_ms = match next {
            Next::Again | Next::Elsewhere | Next::Retry => {
                self.run_ms().saturating_sub(self.turn.started_ms)
            }
            Next::Turn | Next::Closing(_) => 0,
        };
        let terms = &self.contract;
        let limits = [
            (
                terms.total_timeout_ms,
                self.run_ms(),
                (
                    PredicateName::TotalTimeout,
                    OutcomeCode::TotalTimeout,
                    "total_timeout_ms",
                ),
            ),
            (
                terms.step_timeout_ms,
                step_ms,
                (
                    PredicateName::StepTimeout,
                    OutcomeCode::StepTimeout,
                    "step_timeout_ms",
                ),
            ),
        ];
        let left = |(limit, used, _): &(u64, u64, _)| limit.saturating_sub(*used);
        let first = limits.into_iter().min_by_key(left)?;
        let (limit_ms, _, (name, code, key)) = first;
        let left_ms = left(&first);
        holds(Guard::WaitFits, wait_ms > left_ms).then(|| {
            let target = target_name(terms, self.next_target(next));
            let note = format!(
                "{target} is on hold for {wait_ms} ms, and {left_ms} of {limit_ms} ms ({key}) are left"
            );
            Ending {
                note: Some(note),
                ..Ending::by(7, name, Outcome::new(AgentOutcome::FailedTimeout, code))
            }
        })
    }

    /// The instruction for the closing turn.
    fn final_instruction(&self, reason: ClosingReason) -> &'static str {
        match (reason, self.wants_report()) {
            (ClosingReason::Context, false) => STEPS_INSTRUCTION,
            (ClosingReason::Context, true) => STEPS_REPORT_INSTRUCTION,
            (_, false) => FINAL_INSTRUCTION,
            (_, true) => REPORT_INSTRUCTION,
        }
    }

    /// Tokens of the instruction for the closing turn, whatever its reason.
    pub(super) fn instruction_tokens(&self) -> u64 {
        estimate_tokens(self.final_instruction(ClosingReason::MaxTurns))
    }

    pub(super) fn begin_turn(&mut self, target: usize) {
        let number = self.turn.number.saturating_add(1);
        self.turn = Turn::begin(number, self.run_ms(), self.invalid_turns, target);
        self.counters.turns = self.counters.turns.saturating_add(1);
    }

    /// The closing turn: no user tools, one fixed instruction that stays in the conversation.
    fn begin_closing(&mut self, reason: ClosingReason, target: usize) {
        self.closing = Some(reason);
        self.context_tripped = None;
        self.begin_turn(target);
        self.append_pending(notice(self.final_instruction(reason)));
        self.context.flush();
        // The instruction replaces the notices for the last attempt.
        self.notices.clear();
    }
}

/// A decision of COMMIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The run ends.
    End(Ending),
    /// The run continues.
    Continue { predicate: Predicate, next: Next },
}

/// The end of a run, and what decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) predicate: Predicate,
    pub(super) outcome: Outcome,
    /// A sentence for people, where the predicate does not say enough.
    pub(super) note: Option<String>,
}

impl Ending {
    /// An end by the predicate of that number and name.
    pub(super) const fn by(item: u8, name: PredicateName, outcome: Outcome) -> Self {
        Self {
            predicate: Predicate { item, name },
            outcome,
            note: None,
        }
    }
}

impl From<Ending> for Decision {
    fn from(ending: Ending) -> Self {
        Self::End(ending)
    }
}

/// The next step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The same attempt again: its inference was lost.
    Again,
    /// The same attempt at another target: the one asked last does not hold the request.
    Elsewhere,
    /// The next attempt of the turn.
    Retry,
    /// The next turn.
    Turn,
    /// The next turn, as the closing one.
    Closing(ClosingReason),
}
