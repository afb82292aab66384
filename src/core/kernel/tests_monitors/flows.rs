//! A monitor of the labels that the model has seen when it requests a call.

use std::collections::BTreeSet;

use super::super::{ChildEnd, Effect, EventKind};
use super::{Verdict, hold, *};
use crate::contract::{ExecutionContract, FlowAction, FlowRule, Label};

/// The labels of results: of those that a request has shown, and of those that the next one will.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    seen: BTreeSet<Label>,
    next: BTreeSet<Label>,
}

impl Shown {
    /// The labels of what entry 0 says that the run inherits.
    pub(super) fn beginning(first: &[Effect]) -> Self {
        let mut shown = Self::default();
        for draft in first.iter().filter_map(|effect| match effect {
            Effect::Append(drafts) => drafts.first(),
            _ => None,
        }) {
            if let Some(EventKind::RunStarted(started)) = draft.event.as_ref().map(|e| &e.event)
                && let Some(inherited) = &started.inherited
            {
                shown.next.extend(&inherited.labels);
            }
        }
        shown
    }

    /// A call of the tool brought a result; of an agent, the end of its run.
    pub(super) fn returned(
        &mut self,
        terms: &ExecutionContract,
        tool: &str,
        child: Option<&ChildEnd>,
    ) {
        let rule = terms.labels.iter().find(|rule| rule.tool == tool);
        let stated = rule.map(|rule| rule.labels.clone());
        let both = || BTreeSet::from([Label::Private, Label::Untrusted]);
        if terms.agents.contains_key(tool) {
            let seen = child.and_then(|child| child.labels.clone());
            self.next.extend(seen.unwrap_or_else(both));
            self.next.extend(stated.unwrap_or_default());
        } else {
            self.next.extend(stated.unwrap_or_else(both));
        }
        self.next.remove(&Label::Trusted);
    }

    /// True if the task of a child run has the labels that the model has seen.
    pub(super) fn are_handed(&self, labels: &BTreeSet<Label>) -> Verdict {
        hold(*labels == self.seen, || {
            format!("a task with {labels:?} after {:?}", self.seen)
        })
    }

    /// A request shows the model everything so far.
    pub(super) fn asked(&mut self) {
        self.seen.append(&mut self.next);
    }

    /// Fails if the call of a tool may not begin.
    pub(super) fn may_call(&self, terms: &ExecutionContract, tool: &str) -> Verdict {
        hold(!self.ruled(terms, tool, FlowAction::Deny), || {
            format!("a call of {tool} after {:?}", self.seen)
        })
    }

    /// True if a person is asked before a call of the tool.
    pub(super) fn asks(&self, terms: &ExecutionContract, tool: &str) -> bool {
        self.ruled(terms, tool, FlowAction::Ask)
    }

    fn ruled(&self, terms: &ExecutionContract, tool: &str, action: FlowAction) -> bool {
        let about = |rule: &FlowRule| rule.to.as_deref().is_none_or(|to| to == tool);
        let mut rules = terms.flow.iter();
        rules.any(|rule| rule.action == action && about(rule) && rule.from.is_subset(&self.seen))
    }
}

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

    /// True if a deadline has passed.
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
