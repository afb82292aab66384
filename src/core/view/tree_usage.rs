//! The combined usage of a run and its child runs. Does not read the child runs: the parent has their usage in its counters.

use serde::Serialize;

use crate::kernel::Counters;
use crate::message::{Usage, exact_sum};

/// The usage of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeUsage {
    /// Cost in millionths of a US dollar, as far as it is known.
    pub cost_micro_usd: u64,
    /// Tokens of all kinds.
    pub tokens: u64,
    /// Calls of tools that are no agents, and reported no error.
    pub tools_ok: u64,
}

impl TreeUsage {
    /// Returns the usage of a run and its child runs.
    pub const fn of(counters: &Counters) -> Self {
        Self {
            cost_micro_usd: counters.tree_cost_micro_usd(),
            tokens: counters.tree_tokens(),
            tools_ok: counters.tree_tools_ok(),
        }
    }

    /// Returns the usage of a run's child runs; `None` if it called no agent that used anything.
    pub fn below(counters: &Counters) -> Option<Self> {
        let below = Self {
            cost_micro_usd: counters.below_cost_micro_usd,
            tokens: counters.below_tokens,
            tools_ok: counters.below_tools_ok,
        };
        (below != Self::default()).then_some(below)
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            cost_micro_usd: self.cost_micro_usd.saturating_add(other.cost_micro_usd),
            tokens: self.tokens.saturating_add(other.tokens),
            tools_ok: self.tools_ok.saturating_add(other.tools_ok),
        }
    }
}

/// The sum of the usage that all requests reported. Every sum has the same ceiling as in the machine.
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
