//! The limits on calls, time and tokens, counted from outside.

use super::*;

impl Ledger {
    pub(super) fn limits(&mut self, terms: &ExecutionContract, open: &OpenCall) -> Verdict {
        let of_tool = self.started.entry(open.name.clone()).or_default();
        *of_tool += 1;
        let of_tool = *of_tool;
        let alike = self
            .alike
            .entry((open.name.clone(), open.arguments))
            .or_default();
        *alike += 1;
        let alike = *alike;
        self.turn_started += 1;
        let all: u64 = self.started.values().sum();
        hold(terms.max_calls.run.is_none_or(|max| all <= max), || {
            "too many calls".to_owned()
        })?;
        let max = terms.max_calls.per_tool.get(&open.name);
        hold(max.is_none_or(|max| of_tool <= *max), || {
            "too many calls of a tool".to_owned()
        })?;
        hold(
            terms.max_identical_calls.is_none_or(|max| alike <= max),
            || "too many identical calls".to_owned(),
        )?;
        hold(self.turn_started <= terms.max_tool_calls_per_turn, || {
            "too many calls in a turn".to_owned()
        })
    }

    /// Whether a deadline has passed.
    pub(super) fn late(&self, terms: &ExecutionContract) -> bool {
        let now = self.run_ms();
        now > terms.total_timeout_ms
            || (self.turn > 0 && now - self.turn_began > terms.step_timeout_ms)
    }

    pub(super) fn count(
        &mut self,
        terms: &ExecutionContract,
        inference: InferenceSeq,
        usage: &Usage,
    ) {
        self.tokens += usage.total();
        // Only contracts with one target have prices here; who answers without having been asked has none.
        let asked = (1..=self.inferences).contains(&inference.0);
        let target = asked.then_some(0);
        self.cost += terms.cost_micro_usd(target, usage).unwrap_or(0);
    }
}
