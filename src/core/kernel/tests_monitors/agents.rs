//! The runs below a run, counted from outside.

use super::super::{ChildEnd, Counters, DelegateOrder, InferRequest, ToolReturned};
use super::*;
use crate::contract::DelegationGrant;
use crate::message::ToolEnvelope;

/// The usage of child runs, and the grants of active ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Below {
    agents_ok: u64,
    cost: u64,
    grants: BTreeMap<CallSeq, DelegationGrant>,
    pub(super) tokens: u64,
    tools_ok: u64,
}

impl Below {
    /// Takes a result: true if it comes from an agent whose run is active. Its usage counts once.
    pub(super) fn ended(&mut self, returned: &ToolReturned) -> bool {
        let known = self.grants.remove(&returned.call).is_some();
        if let Some(child) = returned.child.as_deref().filter(|_| known) {
            self.tokens += child.tokens;
            self.cost += child.cost_micro_usd;
            self.tools_ok += child.tools_ok;
        }
        known
    }

    /// Charges the runs still active when EXECUTE is left with all that they might use: none of their ends counts.
    pub(super) fn charge_grants(&mut self) {
        for grant in std::mem::take(&mut self.grants).into_values() {
            self.tokens += grant.max_tokens;
            self.cost += grant.max_cost_micro_usd.unwrap_or(0);
        }
    }

    pub(super) fn goes_on(&self, call: CallSeq) -> bool {
        self.grants.contains_key(&call)
    }

    /// An executed call: of an agent that completed it is no tool's.
    pub(super) fn returned(&mut self, of_agent: bool, ok: bool, child: Option<&ChildEnd>) {
        self.agents_ok += u64::from(of_agent && ok && child.is_some());
    }

    /// Ok results of tools that are no agents.
    pub(super) fn lineage(&self, executed_ok: u64) -> u64 {
        executed_ok - self.agents_ok + self.tools_ok
    }

    pub(super) fn counted(&self, c: &Counters) -> Verdict {
        let counted = (c.below_tokens, c.below_cost_micro_usd, c.below_tools_ok);
        let expected = (self.tokens, self.cost, self.tools_ok);
        hold(counted == expected, || {
            format!("{expected:?} used below, counted {counted:?}")
        })
    }
}

/// True if the result of a call counts as executed: for an agent, if its run ended as the envelope says.
pub(super) fn executes(of_agent: bool, returned: &ToolReturned, envelope: &ToolEnvelope) -> bool {
    let ok = envelope.status == EnvelopeStatus::Ok;
    let agrees = |child: &ChildEnd| child.outcome.class.is_success() == ok;
    !of_agent || returned.child.as_deref().is_some_and(agrees)
}

impl Ledger {
    /// A run that is to end waits for nothing but runs below it, and begins nothing.
    pub(super) fn ends_below(&self, was_ending: bool, rest: &[Effect]) -> Verdict {
        hold(!self.ending || !self.agents.grants.is_empty(), || {
            "the end waits, and no run below goes on".to_owned()
        })?;
        let begins_nothing = |e: &Effect| {
            matches!(e, Effect::Cancel | Effect::Finish(_))
                || matches!(e, Effect::Delegate(_) if self.resumes)
        };
        hold(
            !(was_ending || self.ending) || rest.iter().all(begins_nothing),
            || "a run that is to end begins something".to_owned(),
        )?;
        let cancels = rest.contains(&Effect::Cancel);
        hold(!self.ending || was_ending || cancels, || {
            "the end waits for runs below that were not cancelled".to_owned()
        })
    }

    /// Judges the grant of a child run; true if another process resumes that run.
    pub(super) fn may_delegate(
        &mut self,
        terms: &ExecutionContract,
        asked: &DelegateOrder,
    ) -> Result<bool, String> {
        let (call, grant) = (asked.order.call, asked.grant);
        if let Some(before) = self.agents.grants.get(&call) {
            hold(self.resumes && *before == grant, || {
                "a run below is begun twice".to_owned()
            })?;
            return Ok(true);
        }
        let agent = terms.agents.get(&asked.order.invocation.name);
        let agent = agent.ok_or_else(|| "what is no agent is delegated to".to_owned())?;
        let stands = terms.delegation.as_ref();
        let stands = stands.ok_or_else(|| "a run delegates that stands nowhere".to_owned())?;
        let depth = stands.chain.len();
        hold(
            u32::try_from(depth).is_ok_and(|n| n <= stands.max_depth),
            || format!("a run at depth {depth}"),
        )?;
        hold(
            stands.chain.iter().all(|link| link.digest != agent.digest),
            || "an agent is delegated to that stands above".to_owned(),
        )?;
        self.agents.grants.insert(call, grant);
        let granted = self.agents.grants.values().map(|grant| grant.max_tokens);
        let tokens = self.tokens + self.agents.tokens + granted.sum::<u64>();
        hold(tokens <= terms.max_tokens_consumed.0, || {
            format!("{tokens} tokens together with what runs below may use")
        })?;
        let granted = self.agents.grants.values();
        let granted = granted.filter_map(|grant| grant.max_cost_micro_usd);
        let cost = self.cost + self.agents.cost + granted.sum::<u64>();
        hold(
            terms.max_cost_micro_usd.is_none_or(|max| cost <= max.0),
            || format!("a cost of {cost} together with what runs below may use"),
        )?;
        hold(
            grant.total_timeout_ms <= agent.total_timeout_ms && grant.total_timeout_ms > 0,
            || "a run below has more time than its file states".to_owned(),
        )?;
        Ok(false)
    }
}

impl Ledger {
    /// The tokens of an answer that a run with a granted budget must have left, and the cost of the run after it.
    pub(super) fn reserved(&self, terms: &ExecutionContract, asked: &InferRequest) -> (u64, u64) {
        let spent = self.cost + self.agents.cost;
        let stands = terms.delegation.as_ref();
        if stands.is_none_or(|stands| stands.chain.len() < 2) {
            return (0, spent);
        }
        let answer = terms.targets[asked.target].sampling.max_output_tokens;
        let price = terms.price(asked.target).copied().unwrap_or_default();
        let dearest = price.cache_write_pico_usd.0.max(price.input_pico_usd.0);
        let pico = asked.expected_tokens * dearest + answer * price.output_pico_usd.0;
        (answer, spent + pico.div_ceil(1_000_000))
    }
}
