//! Calls of agents (semantics §6): what each run below may use, what its end costs, and which of them are refused.

use super::events::well_formed;
use super::*;
use crate::contract::AgentLink;
use crate::kernel::ChildEnd;

/// Maximum wait for the ends of child runs.
const ENDS_MS: u64 = 30_000;

impl Oracle {
    /// Tokens of the run and of those below it.
    pub(super) fn used(&self) -> u64 {
        self.facts.tokens + self.facts.below.0
    }

    /// The same of the cost.
    pub(super) fn spent(&self) -> u64 {
        self.facts.cost + self.facts.below.1
    }

    /// Tokens that runs below may still use.
    pub(super) fn promised(&self) -> u64 {
        self.facts.grants.values().map(|grant| grant.0).sum()
    }

    /// True if only agents still run, and a budget alone ends the run.
    pub(super) fn only_agents_run(&self) -> bool {
        let below = self.gone_on_with();
        let is_agents = |c: &Call| match c.slot {
            Slot::Running(n) => below.contains(&n),
            Slot::Pending(_)
            | Slot::ToAsk(_)
            | Slot::Ready(_)
            | Slot::Answered(_)
            | Slot::Result(_) => true,
            _ => false,
        };
        self.facts.unwanted.is_empty()
            && !self.facts.malformed
            && self.late().is_none()
            && self.facts.batch.iter().all(is_agents)
    }

    pub(super) fn is_agent(&self, name: &str) -> bool {
        self.terms.agents.contains_key(name)
    }

    /// Returns why an agent is refused wherever it is called.
    pub(super) fn may_not_delegate(&self, name: &str) -> Option<String> {
        let agent = self.terms.agents.get(name)?;
        let stands = self.terms.delegation.as_ref()?;
        let name = name.strip_prefix("agent__")?;
        let above: Vec<&str> = stands.chain.iter().map(|link| link.name.as_str()).collect();
        let is_it = |link: &AgentLink| {
            link.digest == agent.digest
                || link
                    .id
                    .as_ref()
                    .is_some_and(|id| agent.id.as_ref() == Some(id))
        };
        if stands.chain.iter().any(is_it) {
            let chain = above.join(" → ");
            return Some(format!("delegation to an ancestor: {chain} → {name}"));
        }
        let depth = above.len() as u64;
        (depth > u64::from(stands.max_depth))
            .then(|| format!("delegation depth {} exceeded", stands.max_depth))
    }

    fn tokens_left(&self) -> u64 {
        let gone = self.used() + self.promised();
        self.terms.max_tokens_consumed.0.saturating_sub(gone)
    }

    fn cost_left(&self) -> Option<u64> {
        let promised: u64 = self.facts.grants.values().filter_map(|grant| grant.1).sum();
        let max = self.terms.max_cost_micro_usd?.0;
        Some(max.saturating_sub(self.spent() + promised))
    }

    /// Divides what is left among the agents of a message; a single one gets half.
    pub(super) fn divide(&mut self) {
        let waits = |c: &&Call| matches!(c.slot, Slot::Pending(_) | Slot::ToAsk(_));
        let agents = self.facts.batch.iter().filter(waits);
        let agents = agents.filter(|c| self.is_agent(&c.name)).count() as u64;
        self.facts.share = match agents {
            0 => (0, None),
            1 => (
                self.tokens_left() / 2,
                self.cost_left().map(|left| left / 2),
            ),
            n => (
                self.tokens_left() / n,
                self.cost_left().map(|left| left / n),
            ),
        };
    }

    /// Returns the grant of that call's run, or how much is needed and left.
    pub(super) fn grant(&self, name: &str, arguments: u64) -> Result<(u64, Option<u64>), String> {
        let agent = &self.terms.agents[name];
        let stated = agent.max_tokens_consumed.map(|max| max.0);
        let tokens = stated.unwrap_or(self.facts.share.0).min(self.tokens_left());
        let needed = agent.least_tokens + arguments;
        if tokens < needed {
            return Err(format!("budget: {needed} needed, {tokens} left"));
        }
        let stated = agent.max_cost_micro_usd.map(|max| max.0);
        let cost = match self.cost_left() {
            None => stated,
            Some(left) => {
                let cost = stated.or(self.facts.share.1).unwrap_or(left).min(left);
                if cost == 0 {
                    return Err("budget: 1 needed, 0 left".to_owned());
                }
                Some(cost)
            }
        };
        Ok((tokens, cost))
    }

    /// A run below has ended: what it was promised is free, and what it used counts, once.
    pub(super) fn child_ended(&mut self, call: u64, child: Option<&ChildEnd>) {
        let known = self.facts.grants.remove(&call).is_some();
        if let Some(child) = child.filter(|_| known) {
            self.facts.below.0 += child.tokens;
            self.facts.below.1 += child.cost_micro_usd;
        }
    }

    /// Returns the child runs that another process resumes.
    pub(super) fn gone_on_with(&self) -> Vec<u64> {
        let running = |c: &Call| match c.slot {
            Slot::Running(call) if self.facts.grants.contains_key(&call) => Some(call),
            _ => None,
        };
        self.facts.batch.iter().filter_map(running).collect()
    }

    /// The calls that a step starts, with what their runs may use.
    pub(super) fn starts(&self, calls: Vec<u64>) -> Reaction {
        let grants = calls.iter().filter_map(|call| self.facts.grants.get(call));
        let grants: Vec<_> = grants.copied().collect();
        match (calls.is_empty(), grants.is_empty()) {
            (true, _) => Reaction::Noted,
            (false, true) => Reaction::Starts(calls),
            (false, false) => Reaction::Delegates(calls, grants),
        }
    }

    // ---- §2: the end of a run below which others go on ----

    /// Ends the run, once those below it have ended.
    pub(super) fn leave(&mut self, class: Class, code: Code) -> Reaction {
        if self.waits_to_end(Ending::So(Outcome { class, code })) {
            return Reaction::Noted;
        }
        self.end(class, code)
    }

    /// True if the end waits for those of child runs. Everything else is given up, and the timeouts pause.
    pub(super) fn waits_to_end(&mut self, how: Ending) -> bool {
        let below = self.gone_on_with();
        if self.facts.place != Place::Tools || below.is_empty() {
            return false;
        }
        for call in &mut self.facts.batch {
            if !matches!(&call.slot, Slot::Running(n) if below.contains(n)) {
                call.slot = Slot::Answered(String::new());
            }
        }
        self.facts.unwanted.clear();
        self.facts.ending = Some(how);
        self.unpark();
        self.clock.parked_since = Some(self.clock.at);
        true
    }

    /// One of them has ended.
    pub(super) fn end_of_one(
        &mut self,
        call: u64,
        outcome: &ToolOutcome,
        child: Option<&ChildEnd>,
    ) -> Reaction {
        self.child_ended(call, child);
        let Some(one) = self.facts.batch.iter_mut().find(|c| c.is_under_way(call)) else {
            return Reaction::Ignored;
        };
        one.slot = Slot::Answered(String::new());
        if let (ToolOutcome::Returned(envelope), Some(child)) = (outcome, child) {
            let ok = envelope.status == EnvelopeStatus::Ok;
            let agrees = child.outcome.class.is_success() == ok;
            self.facts.executed += u64::from(agrees && well_formed(envelope, &one.id, &one.name));
        }
        if self.gone_on_with().is_empty() {
            return self.ended_at_last();
        }
        Reaction::Noted
    }

    /// Charges runs that have not ended by then with all that they might use.
    pub(super) fn too_late_for_ends(&mut self) -> Reaction {
        let since = self.clock.parked_since.unwrap_or(self.clock.at);
        if self.clock.at - since <= ENDS_MS {
            return Reaction::Ignored;
        }
        for (tokens, cost) in std::mem::take(&mut self.facts.grants).into_values() {
            self.facts.below.0 += tokens;
            self.facts.below.1 += cost.unwrap_or(0);
        }
        self.ended_at_last()
    }

    fn ended_at_last(&mut self) -> Reaction {
        self.unpark();
        match self.facts.ending.take() {
            Some(Ending::So(outcome)) => self.end(outcome.class, outcome.code),
            _ => self.commit(Found {
                violation: Some(Code::ContractMutated),
                ..Found::default()
            }),
        }
    }
}

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

    /// Returns the ruling of the `flow` rules on a call, and the labels that the rule names.
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
