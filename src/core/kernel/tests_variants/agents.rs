//! Variants of runs that delegate.

use super::*;

/// An agent is called, and the run is suspended and resumed.
pub(super) const DELEGATING: Variant = Variant {
    name: "optional: agents",
    terms: delegating,
    letters: &[BASE, AGENTS, SUSPENSIONS, &[Letter::ResumedOther]],
};

/// What the agents have executed proves the answer.
pub(super) const PROVING: Variant = Variant {
    name: "required, proof of lineage: agents",
    terms: delegating_beside_a_tool,
    letters: &[
        BASE,
        APPROVALS,
        &[
            Returns(Response::Write),
            Returns(Response::ReadWrite),
            Tool(Does::Error),
            Tool(Does::ChildProves),
            Letter::LostCall,
            Letter::Resumed,
            Letter::Stop,
        ],
    ],
};

/// An agent's report has the labels of its run, whatever the contract says of the agent.
pub(super) const LABELLED: Variant = Variant {
    name: "optional: flows from reports of agents",
    terms: flows_from_agents,
    letters: &[BASE, REPORTS_OF_AGENTS],
};

/// The run begins with what another one saw, and hands it to agents.
pub(super) const INHERITING: Variant = Variant {
    name: "optional: flows from what a run inherits",
    terms: flows_inherited,
    letters: &[BASE, REPORTS_OF_AGENTS, SUSPENSIONS],
};

/// Agents stand at the end of the chain, or above the run.
pub(super) const NOT_ALLOWED: Variant = Variant {
    name: "optional: agents that may not be called",
    terms: delegating_to_none,
    letters: &[BASE, CALLS, WRONG],
};

/// The run is an agent's: its answers are reserved before they come.
pub(super) const GRANTED: Variant = Variant {
    name: "optional: a granted budget",
    terms: granted,
    letters: &[BASE, PRICED],
};
