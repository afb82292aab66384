//! The registry of agents. Holds whole profiles only: an unreadable one is refused before it comes here (INV-AGT-001).

use std::collections::BTreeMap;

use crate::contract::{AgentId, AgentProfile};
use crate::message::Digest;

/// The prompt of the agent that is always there.
const STANDARD_PROMPT: &str = "You are a careful assistant. Do what the task asks, with the tools \
that you have, and report what you found. Say plainly what you do not know.";

/// The agents by their ids. It has `standard` even where none is registered (INV-AGT-SEL-004).
#[derive(Clone, Debug, Default)]
pub struct Registry {
    agents: BTreeMap<AgentId, AgentProfile>,
}

impl Registry {
    /// Takes an agent that is not there yet.
    ///
    /// # Errors
    /// [`RegistryFault::Duplicate`]; the one that is there stays.
    pub fn create(&mut self, profile: AgentProfile) -> Result<(), RegistryFault> {
        let id = profile.id.clone();
        if self.agents.contains_key(&id) {
            return Err(RegistryFault::Duplicate { id });
        }
        self.agents.insert(id, profile);
        Ok(())
    }

    /// Returns the registered agents, in the order of their ids.
    pub fn registered(&self) -> impl Iterator<Item = &AgentProfile> {
        self.agents.values()
    }

    /// BLAKE3 over every id and the digest of its profile.
    pub fn digest(&self) -> Digest {
        let mut text = String::new();
        for (id, profile) in &self.agents {
            text.push_str(id.as_str());
            text.push(' ');
            text.push_str(&profile.digest.to_string());
            text.push('\n');
        }
        Digest::of(text.as_bytes())
    }
}

/// The agent that is always there, and its prompt. It names no model: the caller does.
pub fn standard() -> (AgentProfile, &'static str) {
    let digest = Digest::of(STANDARD_PROMPT.as_bytes());
    let id = AgentId::sanitized(AgentProfile::STANDARD);
    let mut profile = AgentProfile::bare(id, "1".to_owned(), digest);
    profile.description = Some("what is left where no other agent fits; built in".to_owned());
    (profile, STANDARD_PROMPT)
}

/// A change of the registry that is refused. The registry is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// The caller: there is one of that id already (INV-AGT-002).
    #[error("an agent `{id}` is registered already")]
    Duplicate {
        /// The id.
        id: AgentId,
    },
    /// The caller: there is none of that id to update or to remove.
    #[error("no agent `{id}` is registered")]
    Unknown {
        /// The id.
        id: AgentId,
    },
}

/// An ability that cannot be put into a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AbilityFault {
    /// The author: the file says something else.
    #[error("ability `{name}`: {rule}")]
    Form {
        /// Its name.
        name: AgentId,
        /// The broken rule.
        rule: String,
    },
    /// The author: not even the headings of the core abilities fit.
    #[error(
        "fit the core abilities: `abilityTokens` is {budget}, and {core} of them need {least} at least"
    )]
    Budget {
        /// The allowed budget.
        budget: u64,
        /// Number of core abilities.
        core: usize,
        /// With how much each could keep a beginning.
        least: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(id: &str, version: &str) -> AgentProfile {
        let digest = Digest::of(version.as_bytes());
        AgentProfile::bare(AgentId::sanitized(id), version.to_owned(), digest)
    }

    fn version(registry: &Registry, id: &str) -> Option<String> {
        let mut registered = registry.registered();
        let found = registered.find(|profile| profile.id.as_str() == id);
        found.map(|profile| profile.version.clone())
    }

    /// 003/INV-AGT-002: an id is registered once, and the one that is there is not overwritten.
    #[test]
    fn a_second_agent_of_an_id_is_refused_and_the_first_stays() {
        let mut registry = Registry::default();
        registry.create(profile("a", "1")).unwrap();
        let id = AgentId::sanitized("a");
        let refused = registry.create(profile("a", "2"));
        assert_eq!(refused, Err(RegistryFault::Duplicate { id }));
        assert_eq!(version(&registry, "a").as_deref(), Some("1"));
    }

    /// 003/INV-AGT-SEL-004: `standard` is enabled without being registered.
    #[test]
    fn the_standard_agent_is_enabled() {
        let (found, _) = standard();
        assert_eq!((found.id.as_str(), found.enabled), ("standard", true));
    }

    #[test]
    fn the_digest_of_a_registry_is_that_of_its_profiles() {
        let of = |version: &str| {
            let mut registry = Registry::default();
            registry.create(profile("a", version)).unwrap();
            registry.digest()
        };
        let (empty, one, other) = (Registry::default().digest(), of("1"), of("2"));
        assert!(empty != one && one != other && empty != other);
    }
}
