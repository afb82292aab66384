//! Context accounting (semantics §5; 000 §2): pure arithmetic on recorded token counts.

use super::ContextAccount;
use crate::contract::{TargetTerms, Terms};
use crate::message::{MAX_EXACT, exact_sum};

/// The counters of 000 §2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ContextLedger {
    /// Tokens committed by the last successful response: input + output + cache reads.
    pub(super) current: u64,
    /// Tokens of messages appended since the last successful response.
    pub(super) pending: u64,
    /// Tokens of tool results of the running turn, not yet flushed.
    pub(super) new: u64,
}

impl ContextLedger {
    /// Moves the running turn's tokens to pending: done before every projection.
    pub(super) fn flush(&mut self) {
        self.pending = exact_sum(self.pending, self.new);
        self.new = 0;
    }

    /// A response was accepted: what it used is the new base.
    pub(super) fn commit(&mut self, used: u64) {
        self.current = used.min(MAX_EXACT);
        self.pending = 0;
    }

    /// `current + pending + new + schema`.
    pub(super) fn projected(&self, schema: u64) -> u64 {
        [self.pending, self.new, schema]
            .into_iter()
            .fold(self.current, exact_sum)
    }
}

/// The part of a target's window that the run counts with: at most the contract's.
pub(super) fn window(terms: &Terms, target: usize) -> u64 {
    let window = terms.targets.get(target).map_or(0, |t| t.context_window);
    window.min(terms.context_budget.context_window)
}

/// The room of a request beside the conversation: `window − buffer − max_output_tokens`; 0 where that is negative.
pub(super) fn side_limit(terms: &Terms, target: usize) -> u64 {
    room_beside(terms, target, |t| t.sampling.max_output_tokens)
}

/// `window − buffer − max(max_output_tokens, reserved_synthesis)`; 0 where that is negative.
pub(super) fn limit(terms: &Terms, target: usize) -> u64 {
    let reserved = terms.context_budget.reserved_synthesis;
    room_beside(terms, target, |t| {
        t.sampling.max_output_tokens.max(reserved)
    })
}

fn room_beside(terms: &Terms, target: usize, answer: impl Fn(&TargetTerms) -> u64) -> u64 {
    let answer = terms.targets.get(target).map_or(0, answer);
    let window = window(terms, target);
    let room = window.saturating_sub(terms.context_budget.buffer);
    room.saturating_sub(answer)
}

/// `provider/model` of a target.
pub(super) fn target_name(terms: &Terms, target: usize) -> String {
    let target = terms.targets.get(target);
    target.map_or_else(String::new, |t| format!("{}/{}", t.provider, t.model))
}

/// The account of one judgement.
pub(super) fn account(ledger: &ContextLedger, schema: u64, limit: u64) -> ContextAccount {
    let pending = exact_sum(ledger.pending, ledger.new);
    let projected = ledger.projected(schema);
    ContextAccount {
        ctx: ledger.current,
        expected: projected,
        limit,
        pending,
        projected,
        remaining: limit.saturating_sub(projected),
        schema,
    }
}
