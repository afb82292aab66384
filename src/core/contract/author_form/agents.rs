//! The agents of a recorded contract, as their files said it then. Reads no file.

use crate::contract::{
    AGENT_PREFIX, AgentDefinition, AgentSpec, BigCount, ContractSpec, ExecutionContract,
};

/// Gives a file what no key of it holds of a recorded contract: what the files of its agents said, and where its run stood. A change that
/// names other agents stays, and the factory refuses it: no one read them.
pub(super) fn with_recorded_agents(spec: &mut ContractSpec, recorded: &ExecutionContract) {
    let Some(delegation) = &recorded.delegation else {
        return;
    };
    spec.own = delegation.chain.last().cloned();
    // Of a run at the top, the file itself gives the terms.
    spec.delegation = (delegation.depth() > 0).then(|| delegation.clone());
    if spec.agents.is_empty() {
        spec.agents = agents_of(recorded);
    }
}

fn agents_of(recorded: &ExecutionContract) -> Vec<AgentSpec> {
    let count = |count: Option<BigCount>| count.map(|BigCount(count)| count);
    let agents = recorded.agents.iter().map(|(name, terms)| {
        let tool = recorded.tool(name);
        let timeout = terms.total_timeout_ms;
        let defined = tool.map(|tool| AgentDefinition {
            below: terms.below.clone(),
            description: tool.description.clone(),
            digest: terms.digest,
            id: terms.id.clone(),
            input_schema: tool.input_schema.clone(),
            least_tokens: terms.least_tokens,
            max_cost_micro_usd: count(terms.max_cost_micro_usd),
            max_tokens_consumed: count(terms.max_tokens_consumed),
            tool_name: name.strip_prefix(AGENT_PREFIX).unwrap_or(name).to_owned(),
            // Its own limit is not known where it is the contract's.
            total_timeout_ms: Some(timeout).filter(|stated| *stated != recorded.total_timeout_ms),
        });
        AgentSpec {
            defined,
            file: terms.file.clone(),
            grant: terms.grant.clone(),
        }
    });
    agents.collect()
}
