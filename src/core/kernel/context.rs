//! Context accounting (semantics §5; 000 §2): pure arithmetic on recorded token counts.

use super::ContextAccount;
use super::lineup::Lineup;
use crate::contract::Terms;
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

/// Counts the tokens of the definitions in a request to a target: in the closing turn only the final report's.
pub(super) fn schema_tokens(terms: &Terms, target: usize, closing: bool) -> u64 {
    terms
        .offered_to(target, closing)
        .fold(0, |sum, tool| exact_sum(sum, tool.schema_tokens))
}

/// `min(target window, contract window) − buffer − max_output_tokens`; 0 where that is negative.
pub(super) fn limit(terms: &Terms, target: usize) -> u64 {
    let Some(target) = terms.targets.get(target) else {
        return 0;
    };
    let window = target
        .context_window
        .min(terms.context_budget.context_window);
    window
        .saturating_sub(terms.context_budget.buffer)
        .saturating_sub(target.sampling.max_output_tokens)
}

/// The target with the least room for messages beside its tools, and its limit: what a tool result is judged against. Where no
/// target is left, no request follows, and every result fits.
pub(super) fn smallest(terms: &Terms, lineup: Lineup<'_>, closing: bool) -> (usize, u64) {
    let room = |target: &usize| {
        let limit = i128::from(limit(terms, *target));
        limit - i128::from(schema_tokens(terms, *target, closing))
    };
    let smallest = lineup.left().min_by_key(room);
    smallest.map_or((0, u64::MAX), |target| (target, limit(terms, target)))
}

/// Returns the limit of the projection by the forced-synthesis ratio: floor(ratio × window).
pub(super) fn ratio_threshold(terms: &Terms) -> u64 {
    let window = u128::from(terms.context_budget.context_window);
    let threshold = u128::from(terms.context_budget.ratio_ppm()) * window / 1_000_000;
    u64::try_from(threshold).unwrap_or(u64::MAX)
}

/// `provider/model` of a target.
pub(super) fn target_name(terms: &Terms, target: usize) -> String {
    let target = terms.targets.get(target);
    target.map_or_else(String::new, |t| format!("{}/{}", t.provider, t.model))
}

/// The account of one judgement.
pub(super) fn account(
    ledger: &ContextLedger,
    schema: u64,
    limit: u64,
    blocked: Option<String>,
) -> ContextAccount {
    let pending = exact_sum(ledger.pending, ledger.new);
    let projected = ledger.projected(schema);
    ContextAccount {
        blocked,
        ctx: ledger.current,
        expected: projected,
        limit,
        pending,
        projected,
        remaining: limit.saturating_sub(projected),
        schema,
    }
}
