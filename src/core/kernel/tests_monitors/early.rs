//! The rules for calls that start before their message is complete.

use super::super::CallOrder;
use super::*;

/// The calls of the arriving message that have started.
#[derive(Clone, Debug, Default)]
pub(super) struct Early {
    calls: Vec<OpenCall>,
    inference: Option<InferenceSeq>,
}

impl Ledger {
    /// A call starts while the inference that asks for it is in flight.
    pub(super) fn starts_early(&mut self, terms: &ExecutionContract, order: &CallOrder) -> Verdict {
        let open = OpenCall {
            call: order.call,
            id: order.invocation.id.clone(),
            name: order.invocation.name.clone(),
            arguments: order.arguments_hash,
        };
        let tool = terms.tool(&open.name);
        let hint = tool.and_then(|tool| tool.annotations.get("readOnlyHint"));
        let reads = hint.is_some_and(|hint| *hint == true) && terms.idempotent.contains(&open.name);
        hold(terms.speculative_exec && reads, || {
            "a call that may write starts before its message is complete".to_owned()
        })?;
        hold(self.inflight.is_some(), || {
            "a call starts early, and no message arrives".to_owned()
        })?;
        let stopped = self.stopped || self.closing_turn.is_some() || self.late(terms);
        hold(!stopped && terms.allows(&open.name), || {
            "a call starts early that its message may not start".to_owned()
        })?;
        let ruled = rule_result(terms, &open.name, order.invocation.arguments.as_str());
        let asks = self.flows.asks(terms, &open.name);
        hold(ruled == RuleResult::Runs && !asks, || {
            "a call starts early without its approval".to_owned()
        })?;
        let used = |one: &OpenCall| one.call >= open.call;
        hold(!self.early.calls.iter().any(used), || {
            "two early calls of one number".to_owned()
        })?;
        self.early.inference = self.inflight;
        self.early.calls.push(open);
        Ok(())
    }

    /// The step has ended: early calls still run beside their inference, belong to its message now, or were given up.
    pub(super) fn early_calls(&mut self, terms: &ExecutionContract, rest: &[Effect]) -> Verdict {
        let arrives = self.place == State::Infer && self.inflight == self.early.inference;
        if self.early.calls.is_empty() || arrives {
            return Ok(());
        }
        let early = std::mem::take(&mut self.early.calls);
        if rest.contains(&Effect::Cancel) {
            return Ok(());
        }
        hold(self.place == State::Execute, || {
            "early calls are neither taken nor given up".to_owned()
        })?;
        for open in &early {
            self.limits(terms, open)?;
        }
        self.running.splice(0..0, early);
        Ok(())
    }
}
