//! An agent's profile as it was read: what it can do, and which tasks it is for. Decides nothing, and does not hold its contract.

use serde::Serialize;

use super::AgentId;
use crate::message::Digest;

/// What is known of an agent beside its contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProfile {
    /// Abilities that a task may match.
    pub abilities: Vec<AgentId>,
    /// What abilities may take of the system prompt, in tokens of four bytes.
    pub(crate) ability_tokens: u64,
    /// What it can do, in words.
    pub capabilities: Vec<AgentId>,
    /// Abilities that it always has.
    pub core_abilities: Vec<AgentId>,
    /// For people.
    pub description: Option<String>,
    /// BLAKE3 of its text.
    pub digest: Digest,
    /// Whether it may be selected and run.
    pub enabled: bool,
    /// Tasks that it is for.
    pub(crate) example_tasks: Vec<String>,
    /// The id, unique in a registry.
    pub id: AgentId,
    /// Tasks that it is not for.
    pub(crate) not_for_tasks: Vec<String>,
    /// The version that the author states.
    pub version: String,
    /// How its work goes, for the model.
    pub workflow: Option<String>,
}

impl AgentProfile {
    /// The agent that is always there (INV-AGT-SEL-004).
    pub const STANDARD: &str = "standard";
    /// What abilities may take where a profile does not say.
    pub(crate) const ABILITY_TOKENS: u64 = 4_000;

    /// The agent of that id which has nothing but a prompt.
    pub const fn bare(id: AgentId, version: String, digest: Digest) -> Self {
        Self {
            abilities: Vec::new(),
            ability_tokens: Self::ABILITY_TOKENS,
            capabilities: Vec::new(),
            core_abilities: Vec::new(),
            description: None,
            digest,
            enabled: true,
            example_tasks: Vec::new(),
            id,
            not_for_tasks: Vec::new(),
            version,
            workflow: None,
        }
    }

    /// Whether something of it is put into the system prompt.
    pub fn is_injected(&self) -> bool {
        self.workflow.is_some() || !self.core_abilities.is_empty() || !self.abilities.is_empty()
    }

    /// A task as tasks are compared: lower case, one space between words, no point at the end.
    pub(crate) fn normalized(task: &str) -> String {
        let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
        let task = words.trim_end_matches(['.', '?', '!', ' ']);
        task.to_lowercase()
    }
}
