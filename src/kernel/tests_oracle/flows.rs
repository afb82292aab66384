//! Which calls may not follow what the model was shown (semantics §6, information flow). Patterns here end with their star.

use super::*;

impl Oracle {
    /// The labels of a tool's results.
    pub(super) fn labels(&self, tool: &str) -> BTreeSet<Label> {
        let mut rules = self.terms.labels.iter();
        let labels = rules.find(|rule| takes(&rule.tool, tool));
        let labels = labels.map_or_else(
            || [Label::Private, Label::Untrusted].into(),
            |rule| rule.labels.clone(),
        );
        labels
            .into_iter()
            .filter(|l| *l != Label::Trusted)
            .collect()
    }

    /// What the rules of `flow` say of a call, and the labels that the rule names.
    pub(super) fn flow(&self, tool: &str) -> Option<(FlowAction, String)> {
        let rules = self.terms.flow.iter();
        let rules = rules.filter(|rule| {
            let to = rule.to.as_deref();
            rule.from.is_subset(&self.facts.seen) && to.is_none_or(|to| takes(to, tool))
        });
        let said: Vec<(FlowAction, String)> = rules
            .map(|rule| {
                let from: Vec<String> = rule.from.iter().map(ToString::to_string).collect();
                (rule.action, from.join(" and "))
            })
            .collect();
        let denies = said.iter().find(|(action, _)| *action == FlowAction::Deny);
        denies.or(said.first()).cloned()
    }
}

fn takes(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => tool.starts_with(head),
        None => tool == pattern,
    }
}
