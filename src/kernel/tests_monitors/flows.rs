//! What the model has seen when it asks for a call, counted from outside.

use std::collections::BTreeSet;

use super::{Verdict, hold};
use crate::contract::{ExecutionContract, FlowAction, FlowRule, Label};

/// The labels of results: of those that a request has shown, and of those that the next one will.
#[derive(Clone, Debug, Default)]
pub(super) struct Shown {
    seen: BTreeSet<Label>,
    next: BTreeSet<Label>,
}

impl Shown {
    /// A call of the tool brought a result.
    pub(super) fn returned(&mut self, terms: &ExecutionContract, tool: &str) {
        let rule = terms.labels.iter().find(|rule| rule.tool == tool);
        let labels = rule.map(|rule| rule.labels.clone());
        let both = || BTreeSet::from([Label::Private, Label::Untrusted]);
        self.next.extend(labels.unwrap_or_else(both));
    }

    /// A request shows the model everything so far.
    pub(super) fn asked(&mut self) {
        self.seen.append(&mut self.next);
    }

    /// Whether a call of the tool may be begun.
    pub(super) fn may_call(&self, terms: &ExecutionContract, tool: &str) -> Verdict {
        hold(!self.ruled(terms, tool, FlowAction::Deny), || {
            format!("a call of {tool} after {:?}", self.seen)
        })
    }

    /// Whether a person is asked before a call of the tool.
    pub(super) fn asks(&self, terms: &ExecutionContract, tool: &str) -> bool {
        self.ruled(terms, tool, FlowAction::Ask)
    }

    fn ruled(&self, terms: &ExecutionContract, tool: &str, action: FlowAction) -> bool {
        let about = |rule: &FlowRule| rule.to.as_deref().is_none_or(|to| to == tool);
        let mut rules = terms.flow.iter();
        rules.any(|rule| rule.action == action && about(rule) && rule.from.is_subset(&self.seen))
    }
}
