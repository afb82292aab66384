//! Sums by model and tool server for the summary. Reads a result document only.

use std::collections::BTreeMap;

use monolith_core::message::amount;
use monolith_core::view::RunView;

use super::log_line::{LogLine, Severity};
use super::{AccountingLine, AccountingStatus, AgentResult, LlmLine};

/// The totals for one model or one tool server.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ok: u64,
    failed: u64,
    latency_ms: u64,
    /// Tokens or bytes in and out.
    moved_in: u64,
    moved_out: u64,
    cached: u64,
    cost_micro_usd: u64,
    estimated: bool,
    unpriced: bool,
}

impl AgentResult {
    /// Returns true if a part of the tokens has no known price.
    pub fn is_partly_unpriced(&self) -> bool {
        let mut lines = self.accounting.iter();
        lines.any(|line| matches!(line, AccountingLine::Llm(line) if line.is_unpriced()))
    }

    /// Returns the end and the usage of the run, for people: the line with the exit tag, then the FIN lines of 001 §1, also for
    /// a failed run. Words of models and tools appear unchanged.
    #[must_use]
    pub fn summary(&self) -> Vec<LogLine> {
        let tag = self.exit_tag;
        let (severity, end) = match (&self.outcome, &self.error) {
            (_, Some(error)) => (Severity::Error, format!("{tag} fatal=true: {error}")),
            (Some(outcome), None) => (Severity::Verbose, format!("{tag} fatal=false: {outcome}")),
            (None, None) => (Severity::Verbose, format!("{tag} fatal=true")),
        };
        let mut models = BTreeMap::<String, Sum>::new();
        let mut tools = BTreeMap::<String, Sum>::new();
        for line in &self.accounting {
            match line {
                AccountingLine::Llm(line) => {
                    let name = format!("{}:{}", line.provider, line.model);
                    let sum = models.entry(name).or_default();
                    sum.count(line.status, line.latency);
                    sum.moved_in = sum.moved_in.saturating_add(line.tokens.input_tokens);
                    sum.moved_out = sum.moved_out.saturating_add(line.tokens.output_tokens);
                    sum.cached = sum.cached.saturating_add(line.tokens.cached_tokens);
                    sum.estimated |= line.tokens.estimated;
                    match line.cost_micro_usd {
                        Some(cost) => sum.cost_micro_usd = sum.cost_micro_usd.saturating_add(cost),
                        None => sum.unpriced |= line.is_unpriced(),
                    }
                }
                AccountingLine::Tool(line) => {
                    let name = format!("{}:{}", line.mcp_server, line.command);
                    let sum = tools.entry(name).or_default();
                    sum.count(line.status, line.latency);
                    sum.moved_in = sum.moved_in.saturating_add(line.characters_in);
                    sum.moved_out = sum.moved_out.saturating_add(line.characters_out);
                }
            }
        }
        let counters = &self.counters;
        let whole = format!(
            "run: {} turns, {} ms, {} requests, {} of {} executed, {} tokens in, {} out, {}",
            counters.turns,
            counters.elapsed_ms,
            counters.inferences,
            counters.tools_executed,
            amount(counters.tool_calls, "call"),
            counters.tokens_in,
            counters.tokens_out,
            cost(self.is_partly_unpriced(), counters.cost_micro_usd),
        );
        let below = counters.below.map(|below| {
            let tokens = amount(below.tokens, "token");
            format!(
                "; its child runs: {tokens}, {}",
                dollars(below.cost_micro_usd)
            )
        });
        let whole = format!("{whole}{}", below.unwrap_or_default());
        let models = models.iter().map(|(name, sum)| {
            let cost = cost(sum.unpriced, sum.cost_micro_usd);
            let estimated = if sum.estimated { ", partly estimated" } else { "" };
            format!(
                "llm {name}: {} ok, {} failed, {} ms, tokens {} in, {} out, {} cached{estimated}, {cost}",
                sum.ok, sum.failed, sum.latency_ms, sum.moved_in, sum.moved_out, sum.cached,
            )
        });
        let tools = tools.iter().map(|(name, sum)| {
            format!(
                "tool {name}: {} ok, {} failed, {} ms, characters {} in, {} out",
                sum.ok, sum.failed, sum.latency_ms, sum.moved_in, sum.moved_out,
            )
        });
        let used = models.chain(tools).chain([whole]);
        let used = used.map(|words| LogLine::new(Severity::Final, words));
        [LogLine::new(severity, end)]
            .into_iter()
            .chain(used)
            .collect()
    }
}

impl LlmLine {
    /// Returns true if it used tokens that neither the provider nor the contract gives a price.
    fn is_unpriced(&self) -> bool {
        self.cost_micro_usd.is_none() && self.tokens.total_tokens > 0
    }
}

impl Sum {
    fn count(&mut self, status: AccountingStatus, latency_ms: u64) {
        match status {
            AccountingStatus::Ok => self.ok = self.ok.saturating_add(1),
            AccountingStatus::Failed => self.failed = self.failed.saturating_add(1),
        }
        self.latency_ms = self.latency_ms.saturating_add(latency_ms);
    }
}

/// Returns the cost, as far as known; `unpriced` if the price of some of it is not.
pub fn cost(unpriced: bool, micro_usd: u64) -> String {
    match (unpriced, micro_usd) {
        (false, micro_usd) => dollars(micro_usd),
        (true, 0) => "cost unknown".to_owned(),
        (true, micro_usd) => format!("{}, and a part of unknown cost", dollars(micro_usd)),
    }
}

/// Exact, with as many decimals as are counted.
fn dollars(micro: u64) -> String {
    format!("{}.{:06} USD", micro / 1_000_000, micro % 1_000_000)
}

/// Maximum number of calls named.
const MOST_NAMED: usize = 3;

/// Names the results that the model did not see, and a remedy; `None` if it saw all.
#[must_use]
pub fn unseen_results(view: &RunView) -> Option<String> {
    let calls = view.calls().iter().filter(|(_, call)| {
        let last = call.executions.last();
        last.is_some_and(|execution| execution.dropped.is_some())
    });
    let mut named: Vec<String> = calls
        .map(|(number, call)| format!("{number} ({})", call.name))
        .collect();
    let (results, calls, them) = match named.len() {
        0 => return None,
        1 => ("the result", "call", "it"),
        _ => ("the results", "calls", "them"),
    };
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let named = named.join(", ");
    Some(format!(
        "{results} of {calls} {named} did not fit the context, and the model did not see {them}: \
         a larger context_window of the target or a smaller tool_output_budget.max_bytes_per_call helps"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::view::TreeUsage;

    #[test]
    fn dollars_are_rendered_exactly() {
        let check = |micro, expect: &str| assert_eq!(dollars(micro), expect);
        check(0, "0.000000 USD");
        check(1, "0.000001 USD");
        check(1_500_000, "1.500000 USD");
        check(u64::MAX, "18446744073709.551615 USD");
    }

    #[test]
    fn a_cost_that_is_not_known_is_not_called_nothing() {
        let check = |unpriced, micro_usd, expect: &str| {
            assert_eq!(cost(unpriced, micro_usd), expect);
        };
        check(false, 0, "0.000000 USD");
        check(true, 0, "cost unknown");
        check(true, 1, "0.000001 USD, and a part of unknown cost");
    }

    #[test]
    fn the_usage_of_child_runs_is_named_as_theirs() {
        let mut result = AgentResult::without_run(4, "usage", "no such file".to_owned(), 0);
        result.counters.below = Some(TreeUsage {
            cost_micro_usd: 2,
            tokens: 60,
            tools_ok: 1,
        });
        let last = result.summary().pop().unwrap().to_string();
        let expect = "0 tokens in, 0 out, 0.000000 USD; its child runs: 60 tokens, 0.000002 USD";
        assert!(last.ends_with(expect), "{last}");
    }

    #[test]
    fn a_command_that_began_no_run_has_a_summary_too() {
        let result = AgentResult::without_run(4, "usage", "no such file".to_owned(), 0);
        let lines: Vec<String> = result.summary().iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        [ERR] EXIT-CONFIGURATION fatal=true: no such file
        [FIN] run: 0 turns, 0 ms, 0 requests, 0 of 0 calls executed, 0 tokens in, 0 out, 0.000000 USD
        ");
    }
}
