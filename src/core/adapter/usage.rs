//! Token counts that arrive in several documents. Knows the counters only; does not estimate.

use super::json::{Raw, count};
use crate::message::{Usage, exact_sum};

/// A report of usage whose parts may come in several documents: the last number for each counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsageReport {
    /// Prompt tokens that no other number holds.
    pub beside: Option<u64>,
    pub cache_read: Option<u64>,
    /// Prompt tokens that were written into the cache, where they are no part of `input`.
    pub cache_write: Option<u64>,
    pub input: Option<u64>,
    /// Whether `input` holds the tokens read from the cache too.
    pub input_holds_cache: bool,
    pub output: Option<u64>,
    /// Reasoning, where it is no part of `output`.
    pub reasoning: Option<u64>,
}

impl UsageReport {
    /// Keeps a number where the field holds one.
    pub(super) fn note(slot: &mut Option<u64>, raw: Raw<'_>) {
        if let Some(number) = count(raw) {
            *slot = Some(number);
        }
    }

    /// The report, or none if it holds no token at all. A cache read beyond the prompt is no part of the prompt.
    pub(super) fn usage(&self) -> Option<Usage> {
        let cache_read = self.cache_read.unwrap_or(0);
        let prompt = self.input.unwrap_or(0);
        let without = prompt.checked_sub(cache_read);
        let input = without.filter(|_| self.input_holds_cache).unwrap_or(prompt);
        let cache_write = self.cache_write.unwrap_or(0);
        let usage = Usage {
            cache_read,
            cache_write,
            cost_fault: false,
            cost_micro_usd: None,
            estimated: false,
            input: exact_sum(exact_sum(input, cache_write), self.beside.unwrap_or(0)),
            output: exact_sum(self.output.unwrap_or(0), self.reasoning.unwrap_or(0)),
        };
        (usage.total() > 0).then_some(usage)
    }
}
