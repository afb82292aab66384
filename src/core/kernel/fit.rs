//! The fit of requests and results (semantics §5; 000 §2): each target is judged by its own window. Decides nothing.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::commit::Next;
use super::context::{limit, target_name, window};
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::tags::offer_tokens;
use super::{BlockReason, ContextBlock};
use crate::message::{AgentMessage, Role, exact_sum};

impl Machine {
    /// Tokens of the definitions in a request of that turn to a target: in the closing turn only the final report's.
    pub(super) fn schema_tokens(&self, target: usize, closing: bool, turn: u32) -> u64 {
        let offered = self.contract.offered_to(target, closing);
        match self.xml_offer(target, closing, turn) {
            None => offered.fold(0, |sum, tool| exact_sum(sum, tool.schema_tokens)),
            Some(offer) => offer_tokens(&self.contract, offered, &offer),
        }
    }

    /// The most prompt tokens of a request to a target. A target that reported an overflow holds less than what overflowed.
    pub(super) fn limit(&self, target: usize) -> u64 {
        let stated = limit(&self.contract, target);
        let overflowed = self.overflowed.get(&target);
        overflowed.map_or(stated, |projected| stated.min(projected.saturating_sub(1)))
    }

    /// The target asked last does not hold the conversation that it was sent.
    pub(super) fn record_overflow(&mut self) {
        let target = self.turn.target();
        let schema = self.schema_tokens(target, self.closing.is_some(), self.turn.number);
        let projected = self.context.projected(schema);
        let known = self.overflowed.entry(target).or_insert(projected);
        *known = projected.min(*known);
    }

    /// The targets that the request which would follow may go to, in the contract's order.
    fn left(&self, next: Next) -> Vec<usize> {
        let lineup = match next {
            Next::Again | Next::Elsewhere | Next::Retry => self.lineup(),
            Next::Turn | Next::Closing(_) => self.next_lineup(),
        };
        lineup.left().collect()
    }

    /// The room that the request which would follow leaves in a target; negative if it does not fit.
    fn room(&self, target: usize, next: Next) -> i128 {
        i128::from(self.limit(target)) - i128::from(self.projected_at(target, next))
    }

    /// The targets that the request does not go to: the dropped ones, and those that it does not fit. If it fits none, it goes to
    /// those with the most room.
    pub(super) fn passed_over(&self, next: Next) -> BTreeSet<usize> {
        let left = self.left(next);
        let rooms = left.iter().map(|target| self.room(*target, next));
        let least = rooms.max().unwrap_or(0).min(0);
        let is_passed = |target: &usize| {
            !left.contains(target) || holds(Guard::ContextFit, self.room(*target, next) < least)
        };
        let targets = 0..self.contract.attempt_targets();
        targets.filter(is_passed).collect()
    }

    /// Every target that may be asked and does not hold the request that would follow.
    pub(super) fn too_small(&self, next: Next) -> Vec<ContextBlock> {
        let is_too_small = |target: &usize| holds(Guard::ContextFit, self.room(*target, next) < 0);
        let block = |target| {
            let fits = self.limit(target);
            let reason = if fits < limit(&self.contract, target) {
                BlockReason::ProviderOverflow
            } else {
                BlockReason::TurnPreflight
            };
            self.block(target, (fits, self.projected_at(target, next)), reason)
        };
        let left = self.left(next).into_iter();
        left.filter(is_too_small).map(block).collect()
    }

    /// True if no target holds the request that would follow.
    pub(super) fn fits_none(&self, next: Next) -> bool {
        self.too_small(next).len() == self.left(next).len()
    }

    /// Item 5: returns what does not fit; a result that was dropped comes first. Empty if the run may continue.
    pub(super) fn context_blocks(&self, wish: Next) -> Vec<ContextBlock> {
        if let Some(tripped) = &self.context_tripped {
            return vec![tripped.clone()];
        }
        if self.fits_none(wish) {
            return self.too_small(wish);
        }
        let (projected, threshold) = (self.projected(wish), self.ratio_threshold(wish));
        let above = holds(Guard::ContextRatio, projected > threshold);
        let block = || {
            let target = self.next_target(wish);
            self.block(target, (threshold, projected), BlockReason::Ratio)
        };
        above.then(block).into_iter().collect()
    }

    fn block(
        &self,
        target: usize,
        (limit, projected): (u64, u64),
        reason: BlockReason,
    ) -> ContextBlock {
        ContextBlock {
            dropped: None,
            limit,
            projected,
            reason,
            remaining: limit.saturating_sub(projected),
            target: target_name(&self.contract, target),
        }
    }

    /// The target with the most room for messages beside its tools, and its limit: the measure of a tool result. If no target is
    /// left, no request follows, and every result fits.
    pub(super) fn largest(&self) -> (usize, u64) {
        let room = |target: usize| {
            let schema = self.schema_tokens(target, self.closing.is_some(), self.turn.number);
            i128::from(self.limit(target)) - i128::from(schema)
        };
        let left = self.left(Next::Turn).into_iter();
        let largest = left.max_by_key(|target| (room(*target), Reverse(*target)));
        largest.map_or((0, u64::MAX), |target| (target, self.limit(target)))
    }

    /// Returns the limit of the projection by the forced-synthesis ratio: floor(ratio × window of the largest target left).
    fn ratio_threshold(&self, next: Next) -> u64 {
        let left = self.left(next).into_iter();
        let window = left.map(|target| window(&self.contract, target)).max();
        let window = u128::from(window.unwrap_or(0));
        let ratio = u128::from(self.contract.context_budget.ratio_ppm());
        u64::try_from(ratio * window / 1_000_000).unwrap_or(u64::MAX)
    }

    /// Counts the system prompt of the first request as at least `reserved_system`.
    pub(super) fn reserve_system(&mut self, messages: &[AgentMessage]) {
        let system = messages.iter().filter(|m| m.role == Role::System);
        let system = system.fold(0, |sum, message| exact_sum(sum, message.tokens));
        let reserved = self.contract.context_budget.reserved_system;
        self.context.new = exact_sum(self.context.new, reserved.saturating_sub(system));
    }
}
