//! The terms of delegation of a contract, from what its file and the files of its agents say. Reads none.

use std::collections::BTreeMap;

use super::spec::FILE;
use super::tool_pattern::pattern_takes;
use super::{
    AgentLink, BigCount, ContractSpec, DelegateTerms, DelegationTerms, ExecutionContract,
    FactoryError, Terms,
};

/// The agents that may be delegated to, by the exposed names of their tools. A run of one has the time that its file states, at most that
/// of this contract.
///
/// # Errors
/// [`FactoryError::AgentUnread`], [`FactoryError::ToolNameTwice`].
pub(super) fn delegates(
    spec: &ContractSpec,
    total_timeout_ms: u64,
) -> Result<BTreeMap<String, DelegateTerms>, FactoryError> {
    let mut delegates: BTreeMap<String, DelegateTerms> = BTreeMap::new();
    for agent in &spec.agents {
        let unread = || FactoryError::AgentUnread {
            file: agent.file.clone(),
        };
        let tool = agent.tool().ok_or_else(unread)?;
        let defined = agent.defined.as_ref().ok_or_else(unread)?;
        let stated = defined.total_timeout_ms.unwrap_or(total_timeout_ms);
        let terms = DelegateTerms {
            below: defined.below.clone(),
            digest: defined.digest,
            file: agent.file.clone(),
            grant: agent.grant.clone(),
            id: defined.id.clone(),
            least_tokens: defined.least_tokens,
            max_cost_micro_usd: defined.max_cost_micro_usd.map(BigCount),
            max_tokens_consumed: defined.max_tokens_consumed.map(BigCount),
            total_timeout_ms: stated.min(total_timeout_ms),
        };
        if let Some(first) = delegates.insert(tool.clone(), terms) {
            return Err(FactoryError::ToolNameTwice {
                first: first.file,
                name: tool,
                second: agent.file.clone(),
            });
        }
    }
    Ok(delegates)
}

/// Returns the run's position: below the run that delegated to it, or at the top if it has agents.
pub(super) fn delegation(spec: &ContractSpec) -> Option<DelegationTerms> {
    let below = spec.delegation.clone();
    below.or_else(|| {
        let own = spec.own.clone().filter(|_| !spec.agents.is_empty())?;
        Some(DelegationTerms {
            chain: vec![own],
            granted: Vec::new(),
            max_depth: spec
                .max_delegation_depth
                .unwrap_or(FILE.max_delegation_depth.default_value),
        })
    })
}

/// Returns the position of a run that a run of `contract` began for a call of the agent of that tool.
#[must_use]
pub fn delegation_below(contract: &ExecutionContract, tool: &str) -> DelegationTerms {
    let above = contract.delegation.clone();
    let mut below = above.unwrap_or_else(|| DelegationTerms {
        chain: Vec::new(),
        granted: Vec::new(),
        max_depth: FILE.max_delegation_depth.default_value,
    });
    let entry = contract.agents.get(tool);
    let called = entry.map(|agent| AgentLink::called(agent, tool));
    below.chain.extend(called);
    let grant = entry.and_then(|entry| entry.grant.clone());
    below.granted.extend(grant);
    below
}

/// The exposed tools of a delegated run's contract that it may not have: those that a list of patterns which it was granted does not take.
/// Tools of the session itself need no grant; agents do, as every other tool.
#[must_use]
pub fn ungranted(terms: &Terms) -> Vec<&str> {
    let lists = terms.delegation.iter().flat_map(|own| &own.granted);
    let lists: Vec<&Vec<String>> = lists.collect();
    let is_granted = |tool: &str| {
        let takes = |list: &&Vec<String>| list.iter().any(|one| pattern_takes(one, tool));
        lists.iter().all(takes)
    };
    let exposed = terms.exposed_tools().map(|tool| tool.name.as_str());
    exposed.filter(|tool| !is_granted(tool)).collect()
}
