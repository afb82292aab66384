//! STAND-IN
use super::*;
use crate::message::ObjectText;
pub(crate) fn ungranted(_: &ExecutionContract) -> Vec<String> {
    Vec::new()
}
impl ContractSpec {
    pub(crate) fn delegated(
        mut self,
        parent: &ExecutionContract,
        (name, arguments): (&str, &ObjectText),
        grant: crate::kernel::DelegationGrant,
    ) -> Self {
        let value: serde_json::Value = serde_json::from_str(arguments.as_str()).unwrap_or_default();
        self.task = Some(match (&self.input, value.get("prompt").and_then(|p| p.as_str())) {
            (None, Some(prompt)) => prompt.to_owned(),
            _ => arguments.as_str().to_owned(),
        });
        self.max_tokens_consumed = Some(grant.max_tokens);
        self.max_cost_micro_usd = grant.max_cost_micro_usd;
        self.total_timeout_ms = Some(grant.total_timeout_ms);
        let mut delegation = parent.delegation.clone();
        if let (Some(d), Some(terms)) = (&mut delegation, parent.agents.get(name)) {
            d.chain.push(AgentLink {
                digest: terms.digest,
                name: name.trim_start_matches(AGENT_PREFIX).to_owned(),
            });
            d.granted.extend(terms.grant.clone());
        }
        self.delegation = delegation;
        self
    }
}
