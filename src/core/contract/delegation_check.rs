//! The errors in the terms of delegation: agents that are no tools, a chain that leads nowhere, patterns that match nothing.
//! Judges no call.

use std::collections::BTreeSet;

use super::{AGENT_PREFIX, AGENTS, TermFault, Terms};

/// Terms of delegation that contradict each other.
pub(super) fn delegation_faults(terms: &Terms) -> Vec<TermFault> {
    let mut faults = Vec::new();
    let mut rule = |broken: bool, path: &str, text: String| {
        if broken {
            faults.push(TermFault::at(path, text));
        }
    };
    let server = terms.servers.get(AGENTS);
    rule(
        server.is_some_and(|server| server.available) == terms.agents.is_empty(),
        "agents",
        "agents are the tools of the server `agent`, and it is there exactly where there are agents"
            .to_owned(),
    );
    let offered = terms.tools.iter().filter(|tool| tool.origin == AGENTS);
    let offered: BTreeSet<&str> = offered.map(|tool| tool.name.as_str()).collect();
    let named: BTreeSet<&str> = terms.agents.keys().map(String::as_str).collect();
    for name in offered.symmetric_difference(&named) {
        rule(
            true,
            "agents",
            format!("`{name}` is not both an agent and a tool of the server `agent`"),
        );
    }
    for (n, (name, agent)) in terms.agents.iter().enumerate() {
        let path = format!("agents.{n}");
        rule(
            !name.starts_with(AGENT_PREFIX),
            &path,
            format!("the tool of the agent `{name}` does not begin with `{AGENT_PREFIX}`"),
        );
        rule(
            agent.total_timeout_ms == 0 || agent.total_timeout_ms > terms.total_timeout_ms,
            &path,
            format!(
                "a run of `{name}` has {} ms, and this one has {}",
                agent.total_timeout_ms, terms.total_timeout_ms
            ),
        );
        let empty = agent.grant.iter().flatten().any(String::is_empty);
        rule(
            empty,
            &path,
            format!("a pattern of the tools of `{name}` is empty"),
        );
    }
    let Some(delegation) = &terms.delegation else {
        rule(
            !terms.agents.is_empty(),
            "agents",
            "agents need delegation, which says where the run stands".to_owned(),
        );
        return faults;
    };
    rule(
        delegation.chain.is_empty(),
        "agents",
        "the chain of delegation is empty: the run itself is its last link".to_owned(),
    );
    rule(
        delegation.depth() > delegation.max_depth,
        "max_delegation_depth",
        format!(
            "the run stands {} below the first one, and max_delegation_depth is {}",
            delegation.depth(),
            delegation.max_depth
        ),
    );
    faults
}

/// A limit that leaves no agent to call.
pub(super) fn delegation_warnings(terms: &Terms) -> Vec<String> {
    let barred = terms
        .delegation
        .as_ref()
        .filter(|delegation| !terms.agents.is_empty() && !delegation.can_delegate());
    let barred = barred.map(|delegation| {
        format!(
            "max_delegation_depth {} leaves no agent that may be called: every call of one will be refused",
            delegation.max_depth
        )
    });
    barred.into_iter().collect()
}
