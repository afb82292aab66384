//! What is refused of agents and their abilities.

use crate::contract::AgentId;

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
        /// What is wrong.
        rule: String,
    },
    /// The author: not even the headings of the core abilities fit.
    #[error(
        "fit the core abilities: `abilityTokens` is {budget}, and {core} of them need {least} at least"
    )]
    Budget {
        /// What is allowed.
        budget: u64,
        /// How many core abilities there are.
        core: usize,
        /// With how much each could keep a beginning.
        least: u64,
    },
}
