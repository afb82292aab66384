//! A file's description of itself for agents that may call it. Reads no file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::contract_spec::{AgentDefinition, InputSpec, MOST_NAME_CHARS};
use super::keys::ContractSpec;
use crate::contract::{AgentId, ServerCapability, ServerKind};
use crate::message::Digest;

impl AgentDefinition {
    /// The definition of a file that was read as one, with the agents below it; `None` if it was not read from a text.
    #[must_use]
    pub fn of(spec: &ContractSpec, below: BTreeMap<String, Digest>) -> Option<Self> {
        let own = spec.own.as_ref()?;
        let profile = spec.profile.as_ref();
        let tool_name = spec.offered_as.tool_name.clone().unwrap_or_else(|| {
            let id = profile.map_or_else(|| AgentId::sanitized(&own.name), |own| own.id.clone());
            let mut name = id.to_string();
            // An id is ASCII.
            name.truncate(MOST_NAME_CHARS);
            name
        });
        let described = profile.and_then(|profile| profile.description.as_deref());
        let described = described.or(spec.description.as_deref());
        let parts = [described, spec.usage.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().map(str::trim).collect();
        let description = if parts.is_empty() {
            format!("The agent {}.", own.name)
        } else {
            parts.join("\n\n")
        };
        Some(Self {
            below,
            description,
            digest: own.digest,
            id: own.id.clone(),
            input_schema: input_schema(spec.input.as_ref()),
            least_tokens: spec.offered_as.prompt_tokens,
            max_cost_micro_usd: spec.max_cost_micro_usd,
            max_tokens_consumed: spec.max_tokens_consumed,
            total_timeout_ms: spec.total_timeout_ms,
            tool_name,
        })
    }
}

impl ContractSpec {
    /// Returns the tools of the agents it may delegate to; `None` if it has no agents. Agents whose files were not read are
    /// left out.
    #[must_use]
    pub(crate) fn agents_offer(&self) -> Option<ServerCapability> {
        let defined = self
            .agents
            .iter()
            .filter_map(|agent| agent.defined.as_ref());
        (!self.agents.is_empty()).then(|| ServerCapability {
            available: true,
            kind: ServerKind::Agents,
            tools: defined.map(AgentDefinition::capability).collect(),
        })
    }
}

/// The schema of the arguments of a call: the agent's own where its task is JSON, else one text.
fn input_schema(input: Option<&InputSpec>) -> Value {
    match input {
        Some(input) => input
            .schema
            .clone()
            .unwrap_or_else(|| json!({"type": "object"})),
        None => json!({
            "type": "object",
            "properties": {"prompt": {
                "type": "string",
                "description": "What the agent is to do. It sees nothing else of this conversation.",
            }},
            "required": ["prompt"],
            "additionalProperties": false,
        }),
    }
}
