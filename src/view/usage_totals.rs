//! Sums of usage and cost over a run. Does not know prices.

use crate::message::Usage;

/// What all requests used, added up as it was reported; every sum ends at what a counter holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UsageTotals {
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Cost in millionths of a US dollar, as far as it is known.
    pub cost_micro_usd: u64,
    /// Prompt tokens, without those read from a cache.
    pub input: u64,
    /// Generated tokens.
    pub output: u64,
}

impl UsageTotals {
    pub(super) fn add(&mut self, usage: &Usage, cost_micro_usd: Option<u64>) {
        self.cache_read = self.cache_read.saturating_add(usage.cache_read);
        self.input = self.input.saturating_add(usage.input);
        self.output = self.output.saturating_add(usage.output);
        let cost = cost_micro_usd.unwrap_or(0);
        self.cost_micro_usd = self.cost_micro_usd.saturating_add(cost);
    }
}
