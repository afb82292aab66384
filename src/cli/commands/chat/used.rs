//! What a conversation has used so far, summed over its runs, and as a line.

use monolith_host::telemetry::{AgentResult, cost};
use monolith_service::text::numbers::{counted, grouped, seconds};

/// What all runs of a conversation used, those that were taken back too.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    cost_micro_usd: u64,
    elapsed_ms: u64,
    runs: usize,
    tokens_in: u64,
    tokens_out: u64,
    /// Whether a part of it has no known price.
    unpriced: bool,
}

impl Used {
    pub(super) fn add(&mut self, result: &AgentResult) {
        let counters = &result.counters;
        self.unpriced |= result.is_partly_unpriced();
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.cost_micro_usd, counters.cost_micro_usd);
        add(&mut self.elapsed_ms, counters.elapsed_ms);
        add(&mut self.tokens_in, counters.tokens_in);
        add(&mut self.tokens_out, counters.tokens_out);
        self.runs = self.runs.saturating_add(1);
    }

    pub(super) fn line(&self) -> String {
        format!(
            "{}, {} in, {} out, {}, {}\n",
            counted(self.runs, "run"),
            counted(self.tokens_in, "token"),
            grouped(self.tokens_out),
            cost(self.unpriced, self.cost_micro_usd),
            seconds(self.elapsed_ms)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_host::telemetry::ResultCounters;

    #[test]
    fn what_was_used_adds_up() {
        let mut used = Used::default();
        let mut result = AgentResult::without_run(0, "", String::new(), 0);
        result.counters = ResultCounters {
            cost_micro_usd: 1_500_000,
            elapsed_ms: 1_200,
            tokens_in: 1_000,
            tokens_out: 20,
            ..ResultCounters::default()
        };
        used.add(&result);
        used.add(&result);
        assert_eq!(
            used.line(),
            "2 runs, 2,000 tokens in, 40 out, 3.000000 USD, 2.400s\n"
        );
    }
}
