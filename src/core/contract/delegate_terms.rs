//! The agents that a run may delegate to, and where a delegated run stands in its tree. Plain data; the factory decides it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compiled_schema::HexDigest;
use super::{AgentId, BigCount};
use crate::message::Digest;

/// The server of the tools that are agents; its name is in no file.
pub(crate) const AGENTS: &str = "agent";
/// Prefix of the names of tools that are agents (001 §5).
pub(crate) const AGENT_PREFIX: &str = "agent__";
/// Default maximum depth of child runs below the first run (003, INV-DT-001).
pub(crate) const DEFAULT_MAX_DEPTH: u32 = 5;

/// An agent that a run may delegate to. Its name, description and input schema are those of the tool of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateTerms {
    /// The agents below it, by their files as they are found from its folder: BLAKE3 over the text of each, everything included. A file among
    /// them that changed since keeps the agent from being called.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, HexDigest>")]
    pub below: BTreeMap<String, Digest>,
    /// BLAKE3 over the text of its file, everything included. A file that changed since is not run.
    #[schemars(with = "HexDigest")]
    pub digest: Digest,
    /// Its file, as the author names it: from the folder of the contract.
    pub file: String,
    /// The tools that its runs and their child runs may have, as patterns of exposed names; omitted if they are the ones that
    /// its file names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Vec<String>>,
    /// The id that its file states; left out where it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AgentId>,
    /// The least tokens that a run of it takes: its system prompt, estimated.
    pub least_tokens: u64,
    /// The cost limit that its file states, in millionths of a US dollar.
    pub max_cost_micro_usd: Option<BigCount>,
    /// The limit of tokens that its file states.
    pub max_tokens_consumed: Option<BigCount>,
    /// The time for a run of it.
    pub total_timeout_ms: u64,
}

/// The limits of a delegated run; its own contract holds the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelegationGrant {
    /// Millionths of a US dollar; none where neither run limits the cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_micro_usd: Option<u64>,
    /// Tokens, those of the runs below it included.
    pub max_tokens: u64,
    /// Milliseconds.
    pub total_timeout_ms: u64,
}

/// An agent in a chain of delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentLink {
    /// BLAKE3 over the text of its file, everything included.
    #[schemars(with = "HexDigest")]
    pub digest: Digest,
    /// The id that its file states; left out where it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AgentId>,
    /// Its name for people: its tool name, else its id, else the name of its file.
    pub name: String,
}

impl AgentLink {
    /// The agent of a call, as the run that calls it knows it.
    #[must_use]
    pub fn called(agent: &DelegateTerms, tool: &str) -> Self {
        Self {
            digest: agent.digest,
            id: agent.id.clone(),
            name: tool.strip_prefix(AGENT_PREFIX).unwrap_or(tool).to_owned(),
        }
    }
}

/// The position of a run that delegates or was delegated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegationTerms {
    /// The agents from the first run of the tree to this one, which is the last.
    pub chain: Vec<AgentLink>,
    /// The tools that this run and its child runs may have, as patterns of exposed names: one pattern of each list must match a
    /// tool. Omitted if no ancestor restricts them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<Vec<String>>,
    /// Maximum depth of child runs below the first run.
    pub max_depth: u32,
}

impl DelegationTerms {
    /// Returns the number of runs above this one.
    #[must_use]
    pub fn depth(&self) -> u32 {
        u32::try_from(self.chain.len().saturating_sub(1)).unwrap_or(u32::MAX)
    }

    /// Returns true if a run of this one may delegate at all (INV-DT-001).
    #[must_use]
    pub fn can_delegate(&self) -> bool {
        self.depth() < self.max_depth
    }

    /// Returns true if that agent is this one or above it (INV-DT-002): an agent of the same id, in whatever version, or of the
    /// same text.
    #[must_use]
    pub fn is_in_chain(&self, agent: &DelegateTerms) -> bool {
        let is_it = |link: &AgentLink| {
            let has_its_id = agent.id.is_some() && agent.id == link.id;
            has_its_id || agent.digest == link.digest
        };
        self.chain.iter().any(is_it)
    }

    /// The chain with that agent at its end, for people: `lead → scout → lead`.
    #[must_use]
    pub fn chain_to(&self, name: &str) -> String {
        let names = self.chain.iter().map(|link| link.name.as_str());
        let names: Vec<&str> = names.chain([name]).collect();
        names.join(" → ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 003/INV-DT-002
    #[test]
    fn an_agent_is_in_the_chain_by_its_id_in_whatever_version_or_by_its_text() {
        let id = |id: Option<&str>| id.and_then(|id| AgentId::try_from(id.to_owned()).ok());
        for (above, called, expected) in [
            ((Some("scout"), "1"), (Some("scout"), "2"), true),
            ((Some("scout"), "1"), (Some("judge"), "2"), false),
            ((Some("scout"), "1"), (None, "2"), false),
            ((None, "1"), (Some("scout"), "2"), false),
            ((None, "1"), (None, "2"), false),
            ((None, "1"), (None, "1"), true),
        ] {
            let link = AgentLink {
                digest: Digest::of(above.1.as_bytes()),
                id: id(above.0),
                name: "above".to_owned(),
            };
            let stands = DelegationTerms {
                chain: vec![link],
                granted: Vec::new(),
                max_depth: DEFAULT_MAX_DEPTH,
            };
            let agent = DelegateTerms {
                below: BTreeMap::new(),
                digest: Digest::of(called.1.as_bytes()),
                file: "called.ai".to_owned(),
                grant: None,
                id: id(called.0),
                least_tokens: 0,
                max_cost_micro_usd: None,
                max_tokens_consumed: None,
                total_timeout_ms: 1,
            };
            assert_eq!(stands.is_in_chain(&agent), expected, "{above:?} {called:?}");
        }
    }
}
