//! Runs below a run (003; semantics §6): what the call of an agent gets of the budgets, what its end adds to the account, and what of it
//! proves something. Begins no run.

use super::batch::{Batch, BatchCall, Settled, Slot};
use super::child_run::{Delegated, Share};
use super::context::window;
use super::guard::{Guard, holds};
use super::machine::Machine;
use super::outbox::Outbox;
use super::texts::FailedReason;
use super::{ChildEnd, DelegateOrder, Outcome, Run};
use crate::contract::{AGENT_PREFIX, DelegateTerms, DelegationGrant, Label};
use crate::message::{
    CallSeq, Digest, EnvelopeStatus, RunId, ToolEnvelope, ToolOutcome, estimate_tokens, exact_sum,
};

impl ChildEnd {
    /// The end of a run that has the outcome, with its number of entries and the hash of the last one.
    #[must_use]
    pub fn of(run_id: RunId, (entries, head): (u64, Digest), outcome: Outcome, run: &Run) -> Self {
        let counters = run.counters();
        Self {
            cost_micro_usd: counters.tree_cost_micro_usd(),
            entries,
            head,
            labels: Some(Label::recorded(run.seen_labels())),
            outcome,
            run_id,
            tokens: counters.tree_tokens(),
            tools_ok: counters.tree_tools_ok(),
        }
    }
}

impl Machine {
    /// The agent that a tool of that exposed name is; `None` if it is no agent.
    pub(super) fn agent(&self, tool: &str) -> Option<&DelegateTerms> {
        self.contract.agents.get(tool)
    }

    /// Returns the initial state of an agent call to that tool.
    pub(super) fn delegated(&self, tool: &str) -> Option<Box<Delegated>> {
        self.agent(tool).map(|_| Box::default())
    }

    /// Returns why an agent must not be delegated to at all, wherever it is called (INV-DT-001, INV-DT-002).
    pub(super) fn delegation_fault(&self, tool: &str) -> Option<FailedReason> {
        let agent = self.agent(tool)?;
        let stands = self.contract.delegation.as_ref()?;
        let name = tool.strip_prefix(AGENT_PREFIX).unwrap_or(tool);
        if holds(Guard::DelegationChain, stands.is_in_chain(agent)) {
            let chain = stands.chain_to(name);
            return Some(FailedReason::DelegationToAncestor { chain });
        }
        if holds(Guard::DelegationDepth, !stands.can_delegate()) {
            let depth = stands.max_depth;
            return Some(FailedReason::DelegationTooDeep { depth });
        }
        None
    }

    /// Tokens that neither this run nor one below it has used, or may still use.
    fn tokens_left(&self) -> u64 {
        let spoken_for = exact_sum(self.counters.tree_tokens(), self.reserved().0);
        self.contract
            .max_tokens_consumed
            .0
            .saturating_sub(spoken_for)
    }

    /// The same of the cost; `None` if nothing limits it.
    fn cost_left(&self) -> Option<u64> {
        let spoken_for = exact_sum(self.counters.tree_cost_micro_usd(), self.reserved().1);
        let max = self.contract.max_cost_micro_usd?;
        Some(max.0.saturating_sub(spoken_for))
    }

    /// True if another run granted the budget of this one.
    pub(super) fn is_granted(&self) -> bool {
        let delegation = self.contract.delegation.as_ref();
        delegation.is_some_and(|delegation| delegation.depth() > 0)
    }

    /// Returns the tokens and the cost that a budget must still have before a request. A first run needs the prompt alone, at its lowest
    /// price. A delegated run also needs a whole answer at the highest price: usage is known only afterwards, and parallel runs hold the
    /// rest of the budget. An answer without a limit, or of a model that broke its limit, may fill the context window.
    pub(super) fn reserved_for(&self, target: usize, prompt: u64) -> (u64, u64) {
        let terms = &self.contract;
        if !holds(Guard::GrantWorstCase, self.is_granted()) {
            return (prompt, terms.least_cost_micro_usd(target, prompt));
        }
        let asked = terms.targets.get(target);
        let window = window(terms, target).saturating_sub(prompt);
        let answer = asked.map_or(0, |asked| {
            let most = asked.sampling.max_output_tokens;
            let is_bound = asked.sampling.sent_limit().is_some() && !self.overran.contains(&target);
            if is_bound { most } else { most.max(window) }
        });
        (
            exact_sum(prompt, answer),
            terms.most_cost_micro_usd(target, prompt, answer),
        )
    }

    /// Begins a call: a tool's, or an agent's where what is left allows its run. False where it does not: then it is answered.
    pub(super) fn start(
        &mut self,
        call: &mut BatchCall<Slot>,
        seq: CallSeq,
        share: Share,
        outbox: &mut Outbox,
    ) -> bool {
        if call.delegated.is_none() {
            call.slot = Slot::Running(seq);
            outbox.execute(call.order(seq));
            return true;
        }
        let grant = match self.granted(call, share) {
            Ok(grant) => grant,
            Err(reason) => {
                call.slot = Settled::Answered(reason).into();
                return false;
            }
        };
        if holds(Guard::DelegationReserve, true) {
            self.delegations.insert(seq, grant);
        }
        if let Some(delegated) = &mut call.delegated {
            delegated.grant = Some(grant);
        }
        call.slot = Slot::Running(seq);
        let labels = self.handed_labels();
        outbox.delegate(DelegateOrder {
            grant,
            labels,
            order: call.order(seq),
        });
        true
    }

    /// Returns the share of each agent call whose file states none: an equal part of what is left, or half of it for a single
    /// call.
    pub(super) fn share_among(&self, calls: &[BatchCall<Slot>]) -> Share {
        let waits = |call: &&BatchCall<Slot>| {
            call.delegated.is_some() && matches!(call.slot, Slot::Pending(_) | Slot::ToAsk(..))
        };
        let agents = u64::try_from(calls.iter().filter(waits).count()).unwrap_or(u64::MAX);
        if agents == 0 {
            return Share::default();
        }
        let parts = agents.max(2);
        Share {
            cost_micro_usd: self.cost_left().map(|left| left / parts),
            tokens: self.tokens_left() / parts,
        }
    }

    /// Returns the grant of an agent call's run, if that is enough to start it.
    fn granted(
        &self,
        call: &BatchCall<Slot>,
        share: Share,
    ) -> Result<DelegationGrant, FailedReason> {
        let Some(agent) = self.agent(&call.invocation.name) else {
            return Err(FailedReason::EffectUnknown);
        };
        let left = self.tokens_left();
        let stated = agent.max_tokens_consumed.map_or(share.tokens, |max| max.0);
        let max_tokens = stated.min(left);
        let arguments = estimate_tokens(call.invocation.arguments.as_str());
        let needed = exact_sum(agent.least_tokens, arguments);
        if holds(Guard::DelegationBudget, needed > max_tokens) {
            return Err(FailedReason::DelegationBudget {
                needed,
                left: max_tokens,
            });
        }
        let cost_left = self.cost_left();
        let cost_share = share.cost_micro_usd;
        let stated = agent.max_cost_micro_usd.map(|max| max.0).or(cost_share);
        let max_cost_micro_usd = match (stated, cost_left) {
            (Some(stated), Some(left)) => Some(stated.min(left)),
            (stated, left) => stated.or(left),
        };
        if holds(
            Guard::DelegationBudget,
            cost_left.is_some() && max_cost_micro_usd == Some(0),
        ) {
            return Err(FailedReason::DelegationBudget { needed: 1, left: 0 });
        }
        let run_ms = self.run_ms();
        let of_run = self.contract.total_timeout_ms.saturating_sub(run_ms);
        let in_step = run_ms.saturating_sub(self.turn.started_ms);
        let of_step = self.contract.step_timeout_ms.saturating_sub(in_step);
        Ok(DelegationGrant {
            max_cost_micro_usd,
            max_tokens,
            total_timeout_ms: agent.total_timeout_ms.min(of_run).min(of_step).max(1),
        })
    }

    /// Continues the runs of calls in flight: nothing of them is lost with a process (semantics §9).
    pub(super) fn delegate_again(&self, batch: &Batch, outbox: &mut Outbox) {
        for call in &batch.calls {
            if let (Slot::Running(seq), Some(grant)) = (&call.slot, call.grant()) {
                outbox.delegate(DelegateOrder {
                    grant,
                    labels: self.handed_labels(),
                    order: call.order(*seq),
                });
            }
        }
    }

    /// Sums what active child runs may still use: tokens, and cost in millionths of a US dollar.
    pub(super) fn reserved(&self) -> (u64, u64) {
        let grants = self.delegations.values();
        grants.fold((0, 0), |(tokens, cost), grant| {
            let max_cost = grant.max_cost_micro_usd.unwrap_or(0);
            (
                exact_sum(tokens, grant.max_tokens),
                exact_sum(cost, max_cost),
            )
        })
    }

    /// The run of a call has ended, or was not begun: what was set aside for it is free, and what it used counts, once.
    pub(super) fn settle_child(&mut self, call: CallSeq, child: Option<&ChildEnd>) {
        if self.delegations.remove(&call).is_some()
            && let Some(child) = child
        {
            self.count_child(child);
        }
    }

    /// Charges runs whose ends are not known with everything that they might use.
    pub(super) fn charge_grants(&mut self) {
        let (tokens, cost) = self.reserved();
        self.delegations.clear();
        let c = &mut self.counters;
        c.below_tokens = exact_sum(c.below_tokens, tokens);
        c.below_cost_micro_usd = exact_sum(c.below_cost_micro_usd, cost);
    }

    /// Charges what a run used, whatever became of it.
    fn count_child(&mut self, child: &ChildEnd) {
        let c = &mut self.counters;
        c.below_tokens = exact_sum(c.below_tokens, child.tokens);
        c.below_cost_micro_usd = exact_sum(c.below_cost_micro_usd, child.cost_micro_usd);
        c.below_tools_ok = exact_sum(c.below_tools_ok, child.tools_ok);
    }
}

impl<S> BatchCall<S> {
    /// Returns the grant of its run, if it is an agent's and its run was started.
    pub(super) fn grant(&self) -> Option<DelegationGrant> {
        self.delegated.as_ref()?.grant
    }
}

/// Settles an agent call whose run never started: nothing was executed.
pub(super) fn without_a_run(outcome: &ToolOutcome) -> Option<Settled> {
    let ToolOutcome::Returned(envelope) = outcome else {
        return None;
    };
    Some(Settled::Answered(FailedReason::Tool(envelope.text())))
}

/// Returns why an envelope does not fit the run that it ends.
pub(super) fn envelope_disagrees(envelope: &ToolEnvelope, child: &ChildEnd) -> Option<String> {
    let is_ok = envelope.status == EnvelopeStatus::Ok;
    let completed = child.outcome.class.is_success();
    (is_ok != completed).then(|| {
        let outcome = child.outcome;
        format!(
            "the envelope is {}, and the run ended {outcome}",
            if is_ok { "ok" } else { "an error" }
        )
    })
}
