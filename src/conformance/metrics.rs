//! The metrics of 002 Phase 1, counted over played runs.

use serde::Serialize;

use monolith_core::kernel::AgentOutcome;

/// The metrics of 002 Phase 1 over the runs of one report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Runs that were played.
    pub runs: u64,
    /// Runs under `required`.
    pub required_runs: u64,
    /// Of those, how many ended FAILED_PROTOCOL_NO_TOOLS although no call was executed.
    pub required_without_call: u64,
    /// Of those, how many ended in success without an executed call. Anything but 0 is a bug.
    pub required_completed_without_tools: u64,
    /// Responses that an adapter judged.
    pub responses: u64,
    /// Of those, how many it rejected.
    pub parse_failures: u64,
    /// Inferences of a run.
    pub inferences: Spread,
    /// Milliseconds of a run; in played cases those of the case's own clock.
    pub duration_ms: Spread,
    /// Runs that ended in FAILED_BUDGET_EXHAUSTED.
    pub budget_exits: u64,
    /// Runs that used up their turns, whether the closing turn answered or not.
    pub max_turns_exits: u64,
}

/// The middle and the upper end of a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The mean, in thousandths.
    pub mean_milli: u64,
    /// The least value that 95 of 100 do not exceed (nearest rank).
    pub p95: u64,
}

/// The facts of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunFacts {
    pub(super) class: Option<AgentOutcome>,
    pub(super) elapsed_ms: u64,
    pub(super) executed: u64,
    pub(super) inferences: u64,
    /// True if it used all of its turns.
    pub(super) out_of_turns: bool,
    pub(super) rejected: u64,
    pub(super) required: bool,
    pub(super) responses: u64,
}

/// Metrics as they are gathered.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    durations_ms: Vec<u64>,
    inferences: Vec<u64>,
    metrics: Metrics,
}

impl Tally {
    pub(super) fn add(&mut self, run: RunFacts) {
        let metrics = &mut self.metrics;
        let exhausted = run.class == Some(AgentOutcome::FailedBudgetExhausted);
        let success = run.class.is_some_and(AgentOutcome::is_success);
        let no_tools = run.class == Some(AgentOutcome::FailedProtocolNoTools);
        metrics.runs += 1;
        metrics.required_runs += u64::from(run.required);
        metrics.required_without_call += u64::from(run.required && no_tools && run.executed == 0);
        metrics.required_completed_without_tools +=
            u64::from(run.required && success && run.executed == 0);
        metrics.responses += run.responses;
        metrics.parse_failures += run.rejected;
        metrics.budget_exits += u64::from(exhausted);
        metrics.max_turns_exits += u64::from(run.out_of_turns);
        self.inferences.push(run.inferences);
        self.durations_ms.push(run.elapsed_ms);
    }

    pub(super) fn metrics(self) -> Metrics {
        Metrics {
            inferences: Spread::of(self.inferences),
            duration_ms: Spread::of(self.durations_ms),
            ..self.metrics
        }
    }
}

impl Spread {
    /// The spread of `values`; zeros where there are none.
    pub(super) fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
        let sum = values
            .iter()
            .fold(0_u64, |sum, value| sum.saturating_add(*value));
        let rank = values.len().saturating_mul(95).div_ceil(100);
        Self {
            mean_milli: sum.saturating_mul(1000).checked_div(count).unwrap_or(0),
            p95: values.get(rank.saturating_sub(1)).copied().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows 002/6.baseline.3, 002/6.baseline.4.
    #[test]
    fn the_spread_is_mean_and_nearest_rank() {
        let check = |values: &[u64], mean_milli, p95| {
            let spread = Spread::of(values.to_vec());
            assert_eq!(spread, Spread { mean_milli, p95 }, "{values:?}");
        };
        check(&[], 0, 0);
        check(&[7], 7000, 7);
        check(&[2, 1], 1500, 2);
        check(&(1..=20).collect::<Vec<_>>(), 10_500, 19);
        check(&(1..=100).collect::<Vec<_>>(), 50_500, 95);
        check(&[u64::MAX, u64::MAX], u64::MAX / 2, u64::MAX);
    }

    /// Shows 002/6.baseline.1, 002/6.baseline.2, 002/6.baseline.5.
    #[test]
    fn a_run_counts_where_it_belongs() {
        let run = RunFacts {
            class: Some(AgentOutcome::FailedProtocolNoTools),
            elapsed_ms: 10,
            executed: 0,
            inferences: 2,
            out_of_turns: false,
            rejected: 1,
            required: true,
            responses: 2,
        };
        let mut tally = Tally::default();
        tally.add(run);
        tally.add(RunFacts {
            class: Some(AgentOutcome::FailedBudgetExhausted),
            out_of_turns: true,
            required: false,
            ..run
        });
        // A call was executed, and did not succeed.
        tally.add(RunFacts { executed: 1, ..run });
        // The closing turn answered.
        tally.add(RunFacts {
            class: Some(AgentOutcome::CompletedWithTools),
            executed: 1,
            out_of_turns: true,
            ..run
        });
        let metrics = tally.metrics();
        assert_eq!((metrics.runs, metrics.required_runs), (4, 3));
        assert_eq!(metrics.required_without_call, 1);
        assert_eq!(metrics.required_completed_without_tools, 0);
        assert_eq!((metrics.responses, metrics.parse_failures), (8, 4));
        assert_eq!((metrics.budget_exits, metrics.max_turns_exits), (1, 2));
        assert_eq!(metrics.inferences.mean_milli, 2000);
    }
}
