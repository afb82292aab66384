//! Which calls may not follow what the model was shown (semantics §6, information flow). Patterns here end with their star.

use super::*;

impl Oracle {
    /// The labels of what a call shows: of an agent those that its run saw, with what a rule adds.
    pub(super) fn labels(&self, call: &Call) -> BTreeSet<Label> {
        let mut rules = self.terms.labels.iter();
        let rule = rules.find(|rule| takes(&rule.tool, &call.name));
        let stated = rule.map(|rule| rule.labels.clone());
        let labels = if self.terms.agents.contains_key(&call.name) {
            &call.report_labels | &stated.unwrap_or_default()
        } else {
            stated.unwrap_or_else(|| [Label::Private, Label::Untrusted].into())
        };
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
