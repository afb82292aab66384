//! The predicates of COMMIT (semantics §2): first match wins; inside an item the written order decides. Reads the machine,
//! changes nothing.

use super::commit::{Decision, Ending, Next};
use super::guard::{Guard, holds};
use super::lineup::position;
use super::machine::{Machine, Verdict};
use super::predicate::{required_success, unproven_success};
use super::turn::Failure;
use super::{
    AgentOutcome, ClosingReason, Interrupter, Outcome, OutcomeCode, Predicate, PredicateName,
};
use crate::contract::ToolPolicy;

/// The most responses of plain text in a row that draw a notice.
const MAX_PLAIN_TEXTS: u32 = 2;

impl Machine {
    /// All seven items, for the step that COMMIT looks at.
    pub(super) fn decide(&self) -> Decision {
        self.decide_interruption()
            .or_else(|| self.decide_exceeded())
            .or_else(|| self.decide_violation())
            .or_else(|| self.decide_fault())
            .or_else(|| self.decide_terminal())
            .or_else(|| self.decide_given())
            .map_or_else(|| self.decide_next(self.next_in_turn()), Decision::End)
    }

    /// The first request is judged like any other.
    pub(super) fn decide_first(&self) -> Decision {
        match self.decide_next(Next::Turn) {
            Decision::Continue {
                next: next @ Next::Turn,
                ..
            } => Decision::Continue {
                predicate: Predicate {
                    item: 0,
                    name: PredicateName::ChecksPassed,
                },
                next,
            },
            other @ (Decision::Continue { .. } | Decision::End(_)) => other,
        }
    }

    /// Item 1: interrupts, then deadlines.
    pub(super) fn decide_interruption(&self) -> Option<Ending> {
        if let Some(by) = self.interrupted
            && holds(Guard::Interrupted, true)
        {
            let code = match by {
                Interrupter::Abort => OutcomeCode::Abort,
                Interrupter::Shutdown => OutcomeCode::Shutdown,
                Interrupter::Parent => OutcomeCode::Parent,
            };
            let outcome = Outcome::new(AgentOutcome::Interrupted, code);
            return Some(Ending::by(1, PredicateName::Interrupted, outcome));
        }
        if self.total_exceeded() {
            let outcome = Outcome::new(AgentOutcome::FailedTimeout, OutcomeCode::TotalTimeout);
            return Some(Ending::by(1, PredicateName::TotalTimeout, outcome));
        }
        if self.step_exceeded() {
            let outcome = Outcome::new(AgentOutcome::FailedTimeout, OutcomeCode::StepTimeout);
            return Some(Ending::by(1, PredicateName::StepTimeout, outcome));
        }
        None
    }

    /// Item 2: a budget is already exceeded, or a message would have passed a call limit.
    fn decide_exceeded(&self) -> Option<Ending> {
        let passed = if let Verdict::Limit(code) = self.verdict {
            Some(code)
        } else {
            None
        };
        let code = self.budget_exceeded().or(passed)?;
        let outcome = Outcome::new(AgentOutcome::FailedBudgetExhausted, code);
        Some(Ending::by(2, PredicateName::BudgetExceeded, outcome))
    }

    /// Item 3, the first half: the contract was broken.
    fn decide_violation(&self) -> Option<Ending> {
        if let Verdict::Violation(code) = self.verdict {
            let outcome = Outcome::new(AgentOutcome::FailedContractViolation, code);
            return Some(Ending::by(3, PredicateName::ContractViolation, outcome));
        }
        None
    }

    fn unproven_code(&self) -> OutcomeCode {
        if self.counters.executed > 0 {
            OutcomeCode::ProofNotSucceeded
        } else {
            OutcomeCode::NoCallResponse
        }
    }

    /// Item 4: faults of this step that allow no further attempt.
    fn decide_fault(&self) -> Option<Ending> {
        let end = |name, class, code| Some(Ending::by(4, name, Outcome::new(class, code)));
        // A summary that failed drops a target, too, whatever else its step brought.
        let none_left = || self.no_target_is_left().then(|| self.no_target_left());
        let failure = match &self.verdict {
            Verdict::EnvelopeMalformed => {
                return end(
                    PredicateName::MalformedEnvelope,
                    AgentOutcome::FailedValidation,
                    OutcomeCode::ToolEnvelope,
                );
            }
            Verdict::Failed(failure) => failure,
            _ if self.invalid_turns_used_up() => {
                return end(
                    PredicateName::InvalidTurns,
                    AgentOutcome::FailedValidation,
                    OutcomeCode::Arguments,
                );
            }
            Verdict::None
            | Verdict::Advanced
            | Verdict::ReportFailed
            | Verdict::Terminal
            | Verdict::Violation(_)
            | Verdict::Limit(_)
            | Verdict::Lost
            | Verdict::ParametersRefused
            | Verdict::WaitEnded => return none_left(),
        };
        if let Some(code) = failure.fatal_code()
            && holds(Guard::FatalProviderFault, true)
        {
            let class = if self.inference_succeeded {
                AgentOutcome::FailedBudgetExhausted
            } else {
                AgentOutcome::FailedPreflight
            };
            return end(PredicateName::FatalProviderFault, class, code);
        }
        if *failure == Failure::Rejected
            && holds(
                Guard::FormatRetries,
                self.counters.format_retries >= self.contract.max_format_retries,
            )
        {
            return end(
                PredicateName::FormatRetriesExhausted,
                AgentOutcome::FailedProtocolMalformed,
                OutcomeCode::FormatRetriesExhausted,
            );
        }
        if let Some(ending) = none_left() {
            return Some(ending);
        }
        if failure.is_overflow() {
            let spent = self.closing.is_some() && self.fits_none(Next::Elsewhere);
            if spent {
                return end(
                    PredicateName::Context,
                    AgentOutcome::FailedBudgetExhausted,
                    OutcomeCode::Context,
                );
            }
            return None;
        }
        let used_up = self.attempts_used_up();
        if let Failure::Refused(code) = failure {
            let refused = self
                .turn
                .every_target_refused(self.lineup_without(&self.passed_over(Next::Retry)))
                || (used_up && self.turn.only_refusals());
            if holds(Guard::Refused, refused) {
                return end(
                    PredicateName::Refused,
                    AgentOutcome::FailedValidation,
                    *code,
                );
            }
        }
        if !used_up {
            return None;
        }
        if *failure == Failure::Report && holds(Guard::ReportAttempts, self.closing.is_some()) {
            return end(
                PredicateName::FinalReportFailed,
                AgentOutcome::FailedValidation,
                OutcomeCode::FinalReportSchema,
            );
        }
        if holds(Guard::ProviderAttempts, self.turn.only_provider_errors()) {
            return end(
                PredicateName::AttemptsExhausted,
                AgentOutcome::FailedBudgetExhausted,
                OutcomeCode::AttemptsExhausted,
            );
        }
        // A format retry that is left is spent in the next turn, whatever the policy.
        let retry_left = *failure == Failure::Rejected;
        if holds(
            Guard::RequiredAttempts,
            self.required_unproven() && !retry_left,
        ) {
            return end(
                PredicateName::AttemptsExhausted,
                AgentOutcome::FailedProtocolNoTools,
                self.unproven_code(),
            );
        }
        None
    }

    pub(super) fn invalid_turns_used_up(&self) -> bool {
        holds(
            Guard::InvalidTurns,
            self.invalid_turns >= self.contract.max_invalid_turns,
        )
    }

    /// A terminal response: the second half of item 3 where the required proof is missing, else item 6, which item 5 never
    /// keeps from. Item 4 has nothing to say of a step without proof.
    fn decide_terminal(&self) -> Option<Ending> {
        if self.verdict != Verdict::Terminal {
            return None;
        }
        let code = self.success_code();
        let outcome = match (self.contract.tool_policy, &self.proof) {
            (ToolPolicy::Required, Some(proof)) => required_success(proof.clone(), code),
            (ToolPolicy::Required, None) => {
                let class = AgentOutcome::FailedProtocolNoTools;
                let outcome = Outcome::new(class, self.unproven_code());
                return holds(Guard::RequiredProof, true)
                    .then(|| Ending::by(3, PredicateName::RequiredWithoutProof, outcome));
            }
            (ToolPolicy::Optional, _) => unproven_success(self.counters.executed, code),
            (ToolPolicy::Forbidden, _) => unproven_success(0, code),
        };
        Some(Ending::by(6, PredicateName::TerminalResponse, outcome))
    }

    /// Item 6 of a run that asks no model: its one call has ended, and nothing follows.
    fn decide_given(&self) -> Option<Ending> {
        if self.contract.asks_model() {
            return None;
        }
        let outcome = match &self.proof {
            Some(proof) => required_success(proof.clone(), OutcomeCode::ToolResult),
            None if self.stop_requested => {
                Outcome::new(AgentOutcome::Interrupted, OutcomeCode::Stop)
            }
            None => Outcome::new(
                AgentOutcome::FailedProtocolNoTools,
                OutcomeCode::ProofNotSucceeded,
            ),
        };
        Some(Ending::by(6, PredicateName::GivenCall, outcome))
    }

    fn attempts_used_up(&self) -> bool {
        holds(
            Guard::AttemptLimit,
            self.turn.attempt >= self.contract.max_attempts_per_turn,
        )
    }

    /// Returns the next step of the run if nothing prevents it.
    pub(super) fn next_in_turn(&self) -> Next {
        match &self.verdict {
            Verdict::Lost | Verdict::ParametersRefused | Verdict::WaitEnded => Next::Again,
            Verdict::Failed(failure) if failure.is_overflow() => Next::Elsewhere,
            Verdict::Failed(_) if !self.attempts_used_up() => Next::Retry,
            Verdict::None
            | Verdict::Failed(_)
            | Verdict::Advanced
            | Verdict::ReportFailed
            | Verdict::Terminal
            | Verdict::Violation(_)
            | Verdict::Limit(_)
            | Verdict::EnvelopeMalformed => Next::Turn,
        }
    }

    /// Items 5 and 7, and stop between them: the run would continue; whether it may, and how.
    fn decide_next(&self, wish: Next) -> Decision {
        if holds(Guard::Stop, self.stop_requested) {
            return self.decide_stop(wish);
        }
        if self.closing.is_none() && !self.context_blocks(wish).is_empty() {
            if let Some(end) = self.closing_without_proof(5) {
                return end.into();
            }
            return self.within_budgets(
                5,
                PredicateName::Context,
                Next::Closing(ClosingReason::Context),
            );
        }
        let is_plain = self.closing.is_none() && self.plain_texts >= MAX_PLAIN_TEXTS;
        if holds(Guard::PlainText, is_plain) {
            let closing = Next::Closing(ClosingReason::PlainText);
            return self.within_budgets(7, PredicateName::PlainText, closing);
        }
        self.decide_turn(wish)
    }

    /// Item 7, the turn: a closing turn is the last, and the last turn is a closing one.
    fn decide_turn(&self, wish: Next) -> Decision {
        match wish {
            Next::Again | Next::Elsewhere | Next::Retry => {
                self.within_budgets(7, PredicateName::Retry, wish)
            }
            Next::Turn | Next::Closing(_) => {
                if let Some(reason) = self.closing
                    && holds(Guard::ClosingSpent, true)
                {
                    return Self::closing_spent(reason).into();
                }
                let failed = self.verdict == Verdict::ReportFailed;
                if holds(Guard::ReportFailed, failed) {
                    if let Some(end) = self.closing_without_proof(7) {
                        return end.into();
                    }
                    let closing = Next::Closing(ClosingReason::FinalReportFailed);
                    return self.within_budgets(7, PredicateName::FinalReportFailed, closing);
                }
                let is_last = self.turn.number.saturating_add(1) >= self.contract.max_turns;
                if holds(Guard::LastTurn, is_last) {
                    if let Some(end) = self.closing_without_proof(7) {
                        return end.into();
                    }
                    let closing = Next::Closing(ClosingReason::MaxTurns);
                    return self.within_budgets(7, PredicateName::LastTurn, closing);
                }
                self.within_budgets(7, PredicateName::NextTurn, Next::Turn)
            }
        }
    }

    /// A stop was requested and the step brought no acceptable answer: the closing turn, or the end.
    fn decide_stop(&self, wish: Next) -> Decision {
        let stopped = || {
            let outcome = Outcome::new(AgentOutcome::Interrupted, OutcomeCode::Stop);
            Decision::End(Ending::by(7, PredicateName::Stop, outcome))
        };
        match self.closing {
            // The closing turn that the stop asked for takes its course.
            Some(ClosingReason::Stop) => self.decide_turn(wish),
            Some(
                ClosingReason::MaxTurns
                | ClosingReason::Context
                | ClosingReason::FinalReportFailed
                | ClosingReason::PlainText,
            ) => stopped(),
            None if self.turn.number == 0 || self.required_unproven() => stopped(),
            None => {
                let closing = Next::Closing(ClosingReason::Stop);
                match self.within_budgets(7, PredicateName::Stop, closing) {
                    Decision::End(_) => stopped(),
                    go_on @ Decision::Continue { .. } => go_on,
                }
            }
        }
    }

    /// Under `required` without proof no closing turn is begun.
    fn closing_without_proof(&self, item: u8) -> Option<Ending> {
        holds(Guard::ClosingProof, self.required_unproven()).then(|| {
            let outcome = Outcome::new(
                AgentOutcome::FailedProtocolNoTools,
                OutcomeCode::SynthesisWithoutTools,
            );
            Ending::by(item, PredicateName::SynthesisWithoutProof, outcome)
        })
    }

    /// A closing turn ended without an acceptable answer.
    fn closing_spent(reason: ClosingReason) -> Ending {
        let (class, code) = match reason {
            ClosingReason::MaxTurns => (
                AgentOutcome::FailedBudgetExhausted,
                OutcomeCode::MaxTurnsExhausted,
            ),
            ClosingReason::Context => (AgentOutcome::FailedBudgetExhausted, OutcomeCode::Context),
            ClosingReason::Stop => (AgentOutcome::Interrupted, OutcomeCode::Stop),
            ClosingReason::FinalReportFailed | ClosingReason::PlainText => (
                AgentOutcome::FailedValidation,
                OutcomeCode::FinalReportSchema,
            ),
        };
        Ending::by(
            7,
            PredicateName::NextExceedsBudget,
            Outcome::new(class, code),
        )
    }

    /// Item 7, the budgets: the request is judged before it is issued.
    fn within_budgets(&self, item: u8, name: PredicateName, next: Next) -> Decision {
        match self.request_over(self.next_target(next), self.projected(next)) {
            Some(code) => {
                let outcome = Outcome::new(AgentOutcome::FailedBudgetExhausted, code);
                Ending::by(7, PredicateName::NextExceedsBudget, outcome).into()
            }
            None => self.waits_too_long(next).map_or(
                Decision::Continue {
                    predicate: Predicate { item, name },
                    next,
                },
                Decision::End,
            ),
        }
    }

    /// The budget that a request of so many prompt tokens to that target would put over its limit.
    pub(super) fn request_over(&self, target: usize, prompt: u64) -> Option<OutcomeCode> {
        let terms = &self.contract;
        let inference_over = self.counters.inferences.saturating_add(1) > terms.max_inferences;
        let (tokens, cost) = self.reserved_for(target, prompt);
        let tokens = self.counters.tree_tokens().saturating_add(tokens);
        let cost = self.counters.tree_cost_micro_usd().saturating_add(cost);
        let cost_over = terms.max_cost_micro_usd.is_some_and(|max| cost > max.0);
        if holds(Guard::NextInference, inference_over) {
            Some(OutcomeCode::MaxInferences)
        } else if holds(Guard::NextTokens, tokens > terms.max_tokens_consumed.0) {
            Some(OutcomeCode::MaxTokens)
        } else if holds(Guard::NextCost, cost_over) {
            Some(OutcomeCode::MaxCost)
        } else {
            None
        }
    }

    /// True if the running attempt's request may still be issued.
    pub(super) fn request_again_fits(&self) -> bool {
        let again = self.within_budgets(7, PredicateName::Retry, Next::Again);
        self.budget_exceeded().is_none() && matches!(again, Decision::Continue { .. })
    }

    /// Prompt tokens of the request that would follow.
    pub(super) fn projected(&self, next: Next) -> u64 {
        self.projected_at(self.next_target(next), next)
    }

    /// The same, if it goes to that target.
    pub(super) fn projected_at(&self, target: usize, next: Next) -> u64 {
        let closing = self.closing.is_some() || matches!(next, Next::Closing(_));
        // The final instruction replaces the notices.
        let words = match next {
            Next::Closing(_) => self.instruction_tokens(),
            Next::Again | Next::Elsewhere | Next::Retry | Next::Turn => self
                .notices
                .iter()
                .fold(0, |sum: u64, notice| sum.saturating_add(notice.tokens)),
        };
        let turn = match next {
            Next::Turn | Next::Closing(_) => self.turn.number.saturating_add(1),
            Next::Again | Next::Elsewhere | Next::Retry => self.turn.number,
        };
        self.context
            .projected(self.schema_tokens(target, closing, turn))
            .saturating_add(words)
    }

    /// The target of the request that would follow.
    pub(super) fn next_target(&self, next: Next) -> usize {
        let passed_over = self.passed_over(next);
        let lineup = self.lineup_without(&passed_over);
        match next {
            Next::Again => self.turn.target(),
            Next::Elsewhere => self.turn.same_target(lineup),
            Next::Retry => self.turn.next_target(lineup),
            Next::Turn | Next::Closing(_) => lineup.at(position(self.invalid_turns, 1)),
        }
    }
}
