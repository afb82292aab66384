//! What a step is called.

use crate::contract::AgentId;

/// What a step is called: as an agent is.
pub type StepId = AgentId;
