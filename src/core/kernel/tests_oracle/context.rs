//! §5: what a request weighs, what its targets hold, and which of them it goes to.

use super::*;

/// Tokens of the conversation that the run starts with, in which the system prompt counts as at least its reserve.
pub(super) fn pending(terms: &ExecutionContract, started: &RunStarted) -> u64 {
    let of = |system: bool| -> u64 {
        let messages = started.messages.iter();
        let messages = messages.filter(|m| (m.role == Role::System) == system);
        messages.map(|m| m.tokens).sum()
    };
    of(false) + of(true).max(terms.context_budget.reserved_system)
}

impl Oracle {
    pub(super) fn schema(&self, closing: bool) -> u64 {
        let allowed = |name: &String| {
            self.terms
                .allowed_tools
                .as_ref()
                .is_none_or(|a| a.contains(name))
        };
        let withheld = closing || self.terms.tool_policy == ToolPolicy::Forbidden;
        let user = self
            .terms
            .tools
            .iter()
            .filter(|t| !withheld && allowed(&t.name));
        // The session's own: the report always, progress before the closing turn, a container where there are tools.
        let own = self.terms.session_tools.iter().filter(|t| {
            t.name == FINAL_REPORT
                || (t.name == PROGRESS_REPORT && !closing)
                || (t.name == BATCH && !withheld)
        });
        user.chain(own).map(|t| t.schema_tokens).sum()
    }

    pub(super) fn instruction(&self) -> u64 {
        estimate(if self.reports() {
            "You are not allowed to run any more tools. Give your final report now with agent__final_report, \
             using only the information you already have."
        } else {
            texts::FINAL_INSTRUCTION
        })
    }

    pub(super) fn reports(&self) -> bool {
        self.terms.completion == Completion::FinalReport
    }

    pub(super) fn limit(&self, target: usize) -> u64 {
        let t = &self.terms.targets[target];
        let budget = &self.terms.context_budget;
        let answer = t.sampling.max_output_tokens.max(budget.reserved_synthesis);
        let window = t.context_window.min(budget.context_window);
        let limit = window.saturating_sub(budget.buffer + answer);
        match self.facts.overflowed.get(&target) {
            Some(projected) => limit.min(projected.saturating_sub(1)),
            None => limit,
        }
    }

    /// The most that a request beside the conversation may have: no final answer follows it.
    pub(super) fn side_limit(&self, target: usize) -> u64 {
        let t = &self.terms.targets[target];
        let budget = &self.terms.context_budget;
        let window = t.context_window.min(budget.context_window);
        window.saturating_sub(budget.buffer + t.sampling.max_output_tokens)
    }

    /// The targets that the request may go to if each holds it.
    pub(super) fn left_for(&self, wish: Wish) -> Vec<usize> {
        match wish {
            Wish::Again | Wish::Elsewhere | Wish::Retry => self.left().collect(),
            Wish::Turn | Wish::Closing(_) => self.left_next().collect(),
        }
    }

    /// The targets that may be asked and hold the request.
    pub(super) fn holding(&self, wish: Wish) -> Vec<usize> {
        let needs = self.projected(wish);
        let mut left = self.left_for(wish);
        left.retain(|t| needs <= self.limit(*t));
        left
    }

    /// The targets that the request may go to: those that hold it, else those that hold the most.
    pub(super) fn fitting(&self, wish: Wish) -> Vec<usize> {
        let holding = self.holding(wish);
        if !holding.is_empty() {
            return holding;
        }
        let mut left = self.left_for(wish);
        let most = left.iter().map(|t| self.limit(*t)).max();
        left.retain(|t| Some(self.limit(*t)) == most);
        left
    }

    /// Prompt tokens of the request as it would be sent.
    pub(super) fn projected(&self, wish: Wish) -> u64 {
        let f = &self.facts;
        let base = f.current + f.pending;
        match wish {
            Wish::Closing(_) => base + self.instruction() + self.schema(true),
            Wish::Again | Wish::Elsewhere | Wish::Retry | Wish::Turn => {
                base + f.notices + self.schema(f.closing.is_some())
            }
        }
    }

    /// Returns the target of attempt `attempt` in a turn that follows `invalid` invalid turns, among those that hold the request
    /// (§4).
    fn target(&self, wish: Wish, invalid: u32, attempt: u32) -> usize {
        let len = self.targets();
        let fitting = self.fitting(wish);
        let first = (invalid + attempt - 1) as usize % len;
        let round = (first..len).chain(0..first);
        let round: Vec<usize> = round.filter(|t| fitting.contains(t)).collect();
        let free = round.iter().find(|t| self.hold(**t).is_none());
        let earliest = round.iter().min_by_key(|t| self.hold(**t));
        *free.or(earliest).unwrap_or(&first)
    }

    pub(super) fn target_of(&self, wish: Wish) -> usize {
        let f = &self.facts;
        match wish {
            Wish::Again => f.asked,
            Wish::Elsewhere => self.target(wish, f.invalid_before, f.attempt),
            Wish::Retry => self.target(wish, f.invalid_before, f.attempt + 1),
            Wish::Turn | Wish::Closing(_) => self.target(wish, f.invalid, 1),
        }
    }

    /// The targets that may be asked in this turn.
    pub(super) fn left(&self) -> impl Iterator<Item = usize> {
        let in_turn = &self.facts.dropped_in_turn;
        self.left_next().filter(|t| !in_turn.contains(t))
    }

    /// The targets that may be asked in the next turn.
    pub(super) fn left_next(&self) -> impl Iterator<Item = usize> {
        (0..self.targets()).filter(|t| !self.facts.dropped.contains(t))
    }

    /// §1: drops the targets that cannot hold the first request; false where none can.
    pub(super) fn first_fits(&mut self) -> bool {
        let holds = |me: &Self, needs: u64| -> BTreeSet<usize> {
            let mut targets: BTreeSet<usize> = (0..me.targets()).collect();
            targets.retain(|t| needs <= me.limit(*t));
            targets
        };
        let mut hold = holds(self, self.projected(Wish::Turn));
        if hold.is_empty() && self.terms.tool_policy != ToolPolicy::Required {
            hold = holds(self, self.projected(Wish::Closing(ClosingReason::Context)));
        }
        if hold.is_empty() {
            return false;
        }
        self.facts.dropped = (0..self.targets()).filter(|t| !hold.contains(t)).collect();
        true
    }

    pub(super) fn attempt_of(&self, wish: Wish) -> u32 {
        match wish {
            Wish::Again | Wish::Elsewhere => self.facts.attempt,
            Wish::Retry => self.facts.attempt + 1,
            Wish::Turn | Wish::Closing(_) => 1,
        }
    }
}
