//! Sums of usage and cost over a run. Does not know prices.

use crate::message::{Usage, exact_sum};

/// What all requests used, added up as it was reported; every sum ends where the machine's do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageTotals {
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
        self.cache_read = exact_sum(self.cache_read, usage.cache_read);
        self.input = exact_sum(self.input, usage.input);
        self.output = exact_sum(self.output, usage.output);
        let cost = cost_micro_usd.unwrap_or(0);
        self.cost_micro_usd = exact_sum(self.cost_micro_usd, cost);
    }
}
