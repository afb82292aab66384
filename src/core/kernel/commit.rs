//! COMMIT: flushes counters, asks the predicates, and does what they decided.

use super::edges::FromCommit;
use super::machine::{Machine, Verdict};
use super::outbox::Outbox;
use super::stage::Awaited;
use super::texts::{FINAL_INSTRUCTION, REPORT_INSTRUCTION, notice};
use super::turn::{Failure, Turn};
use super::{ClosingReason, Outcome, Predicate, PredicateName};
use crate::message::exact_sum;

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
        self.notices.clear();
        outbox.report = self.report_record();
        outbox.finish(ending.outcome);
        ending.outcome
    }

    fn go_on_with(&mut self, next: Next, outbox: &mut Outbox) -> Awaited {
        if matches!(self.verdict, Verdict::Failed(Failure::Rejected)) {
            self.counters.format_retries = self.counters.format_retries.saturating_add(1);
        }
        outbox.blocked = match next {
            Next::Closing(ClosingReason::Context) => self.context_blocks(self.next_in_turn()),
            Next::Again | Next::Elsewhere | Next::Retry | Next::Turn | Next::Closing(_) => {
                self.too_small(next)
            }
        };
        let target = self.next_target(next);
        let wait = match next {
            Next::Again => None,
            Next::Elsewhere => {
                self.turn.ask_elsewhere(target);
                None
            }
            Next::Retry => {
                let passed_over = self.passed_over(next);
                let lineup = self.lineup_without(&passed_over);
                let wait = self.turn.take_wait(lineup);
                self.turn.next_attempt(target);
                wait
            }
            Next::Turn => {
                self.begin_turn(target);
                None
            }
            Next::Closing(reason) => {
                self.begin_closing(reason, target);
                None
            }
        };
        match wait {
            Some(wait_ms) => {
                let until_ms = exact_sum(self.at_ms, wait_ms);
                self.begin_wait(until_ms, outbox)
            }
            None => self.issue_or_rest(outbox),
        }
    }

    /// The instruction for the closing turn.
    pub(super) fn final_instruction(&self) -> &'static str {
        if self.wants_report() {
            REPORT_INSTRUCTION
        } else {
            FINAL_INSTRUCTION
        }
    }

    fn begin_turn(&mut self, target: usize) {
        let number = self.turn.number.saturating_add(1);
        self.turn = Turn::begin(number, self.run_ms(), self.invalid_turns, target);
        self.counters.turns = self.counters.turns.saturating_add(1);
    }

    /// The closing turn: no user tools, one fixed instruction that stays in the conversation.
    fn begin_closing(&mut self, reason: ClosingReason, target: usize) {
        self.closing = Some(reason);
        self.context_tripped = None;
        self.begin_turn(target);
        self.append_pending(notice(self.final_instruction()));
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
}

impl Ending {
    /// An end by the predicate of that number and name.
    pub(super) const fn by(item: u8, name: PredicateName, outcome: Outcome) -> Self {
        Self {
            predicate: Predicate { item, name },
            outcome,
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
