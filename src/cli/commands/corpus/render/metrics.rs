//! The figures of all runs of a corpus, as text.

use monolith_conformance::{Metrics, Spread};

/// The metrics of 002 Phase 1.
pub(super) fn metrics_text(metrics: &Metrics) -> String {
    let spread = |spread: Spread| {
        let Spread { mean_milli, p95 } = spread;
        format!(
            "{}.{:03} mean, {p95} p95",
            mean_milli / 1000,
            mean_milli % 1000
        )
    };
    format!(
        "required runs     {}, {} without a call, {} completed without an executed one\n\
         parse failures    {} of {} responses\n\
         inferences        {}\n\
         duration in ms    {}\n\
         budget exits      {} of {} runs\n\
         max-step exits    {} of {} runs\n\n",
        metrics.required_runs,
        metrics.required_without_call,
        metrics.required_completed_without_tools,
        metrics.parse_failures,
        metrics.responses,
        spread(metrics.inferences),
        spread(metrics.duration_ms),
        metrics.budget_exits,
        metrics.runs,
        metrics.max_turns_exits,
        metrics.runs,
    )
}
