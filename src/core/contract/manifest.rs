//! The results of bring-up for servers and models. Plain data; finds nothing itself.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::execution_contract::canonical;
use super::{
    ExecutionContract, HealthProbe, ModelFacts, PromptLayout, ServerKind, ServerTerms, Terms,
    ToolTerms,
};
use crate::message::{Digest, estimate_tokens};

/// The results of bring-up: the servers that answered, with their tools, and what is known of each target's model.
///
/// Holds no address, path, process id or time, so two machines that find the same thing have the same manifest.
///
/// A custom host states here which tools it has:
///
/// ```
/// use std::collections::BTreeMap;
///
/// use monolith_core::contract::{CapabilityManifest, ServerCapability, ServerKind, TargetCapability, ToolCapability};
/// use serde_json::json;
///
/// let time = ToolCapability {
///     annotations: json!({"readOnlyHint": true}),
///     description: "Tells the time.".to_owned(),
///     input_schema: json!({"type": "object", "properties": {}, "additionalProperties": false}),
///     name: "time".to_owned(),
///     schema_tokens: 24,
/// };
/// let own = ServerCapability { available: true, kind: ServerKind::Stdio, tools: vec![time] };
/// let manifest = CapabilityManifest {
///     servers: BTreeMap::from([("own".to_owned(), own)]),
///     targets: vec![TargetCapability::default()], // one for each target of the file
/// };
/// assert_eq!(manifest.servers["own"].tools[0].name, "time");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapabilityManifest {
    /// Servers by name; built-in tools are the server `builtin`.
    pub servers: BTreeMap<String, ServerCapability>,
    /// One for each target of the file, in its order.
    pub targets: Vec<TargetCapability>,
}

/// One tool server as bring-up found it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerCapability {
    /// True if it started and listed its tools.
    pub available: bool,
    /// Its kind.
    pub kind: ServerKind,
    /// Its tools; empty if it is not available.
    pub tools: Vec<ToolCapability>,
}

impl CapabilityManifest {
    /// Returns the bring-up results from when this contract was made, as far as servers go: with the same file they give the
    /// same servers and tools again. The caller adds what is known of the targets' models.
    #[must_use]
    pub fn recorded_in(contract: &ExecutionContract) -> Self {
        let servers = contract.servers.iter().map(|(name, terms)| {
            let (origin, prefix) = (terms.kind.origin(name), terms.kind.prefix(name));
            let tools = contract.tools.iter().filter(|tool| tool.origin == origin);
            let tools = tools.map(|tool| {
                let name = tool.name.strip_prefix(&prefix).unwrap_or(&tool.name);
                let mut offered = ToolCapability {
                    annotations: tool.annotations.clone(),
                    description: tool.description.clone(),
                    input_schema: tool.input_schema.clone(),
                    name: name.to_owned(),
                    schema_tokens: tool.schema_tokens,
                };
                // What a tokenizer counted is not what a server's offer is estimated at.
                if contract.tokenizer.is_some() {
                    offered.schema_tokens = estimate_tokens(&offered.definition());
                }
                offered
            });
            let server = ServerCapability {
                available: terms.available,
                kind: terms.kind,
                tools: tools.collect(),
            };
            (name.clone(), server)
        });
        Self {
            servers: servers.collect(),
            targets: Vec::new(),
        }
    }
}

/// A pin of a contract that is not the one of what the contract says of the tool or of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PinFault {
    /// The definition's pin.
    pub expected: Digest,
    /// The pin in the contract.
    pub found: Option<Digest>,
    /// The pin, into the contract.
    pub place: String,
}

impl ExecutionContract {
    /// The first pin that is not the one of its definition: recomputed from the contract alone.
    pub(crate) fn pin_fault(&self) -> Option<PinFault> {
        for (server, offered) in &CapabilityManifest::recorded_in(self).servers {
            let origin = offered.kind.origin(server);
            let own = self.tools.iter().filter(|tool| tool.origin == origin);
            for (tool, offered) in own.zip(&offered.tools) {
                let expected = ToolPin::of(&origin, offered).0;
                if tool.pin != expected {
                    return Some(PinFault {
                        expected,
                        found: Some(tool.pin),
                        place: format!("tools.{}.pin", tool.name),
                    });
                }
            }
            let found = self.servers.get(server).and_then(|terms| terms.pin);
            let expected = offered.pin(&origin);
            if offered.available && found != Some(expected) {
                return Some(PinFault {
                    expected,
                    found,
                    place: format!("servers.{server}.pin"),
                });
            }
        }
        None
    }
}

impl ServerTerms {
    /// True if a recorded contract reached a server in the same way and holds all that this one takes of it: the server's offer
    /// to that contract then also holds for this one.
    #[must_use]
    pub fn is_reached_like(&self, recorded: &Self) -> bool {
        let way = |terms: &Self| Self {
            available: true,
            expected_pin: None,
            health_probe: HealthProbe::Ping,
            pin: None,
            queue: None,
            sandbox: None,
            shared: true,
            tools_allowed: None,
            tools_denied: Vec::new(),
            ..terms.clone()
        };
        let taken = |terms: &Self| (terms.tools_allowed.clone(), terms.tools_denied.clone());
        // What the other one did not take is not recorded.
        let is_whole = recorded.takes_all_tools() || taken(self) == taken(recorded);
        is_whole && way(self) == way(recorded)
    }
}

impl Terms {
    /// The server of a tool of the contract, and its name.
    #[must_use]
    pub fn server_of(&self, tool: &ToolTerms) -> Option<(&str, &ServerTerms)> {
        let mut servers = self.servers.iter();
        let found = servers.find(|(name, terms)| terms.kind.origin(name) == tool.origin);
        found.map(|(name, terms)| (name.as_str(), terms))
    }

    /// The name that a tool has at its server.
    #[must_use]
    pub fn own_name_of<'t>(&self, tool: &'t ToolTerms) -> &'t str {
        let prefix = self.server_of(tool);
        let prefix = prefix.map(|(name, terms)| terms.kind.prefix(name));
        let own = prefix.and_then(|prefix| tool.name.strip_prefix(&prefix));
        own.unwrap_or(&tool.name)
    }
}

impl ServerCapability {
    /// The server's pin, where its tools come from `origin`.
    #[must_use]
    pub fn pin(&self, origin: &str) -> Digest {
        let pins = self.tools.iter().map(|tool| ToolPin::of(origin, tool));
        ToolPin::of_server(pins.collect())
    }
}

/// One tool as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCapability {
    /// The server's own hints, or null.
    pub annotations: Value,
    /// The tool's own description; empty if it has none.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// The name at its server, without a prefix.
    pub name: String,
    /// Estimated tokens of its definition in a request.
    pub schema_tokens: u64,
}

impl ToolCapability {
    /// A tool as its server describes it, its tokens estimated.
    #[must_use]
    pub fn offered(
        name: String,
        description: String,
        input_schema: Value,
        annotations: Value,
    ) -> Self {
        let mut tool = Self {
            annotations,
            description,
            input_schema,
            name,
            schema_tokens: 0,
        };
        tool.schema_tokens = estimate_tokens(&tool.definition());
        tool
    }

    /// Returns its definition in a request, as text whose tokens can be counted: the same for a server's offer and for a
    /// contract's record of it.
    pub(super) fn definition(&self) -> String {
        definition(&self.name, &self.description, &self.input_schema)
    }
}

/// Returns a request's definition of a tool that its server calls so.
pub(super) fn definition(name: &str, description: &str, input_schema: &Value) -> String {
    canonical(&json!({
        "description": description,
        "name": name,
        "parameters": input_schema,
    }))
}

/// The known facts about a target's model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetCapability {
    /// The adapter of what a script holds; none for every other provider.
    pub adapter_version: Option<String>,
    /// The window that the model's header or server states, where it does.
    pub context_window: Option<u64>,
    /// Facts of the catalogue that a recorded contract holds of it.
    pub facts: Option<ModelFacts>,
    /// The identity of the weights; if empty, the factory uses provider type and model name.
    pub fingerprint: Option<String>,
    /// True if it is known from a recorded contract: the catalogue of this build is not asked then.
    pub is_recorded: bool,
    /// Who lays out the prompts of an embedded model, where its file does.
    pub prompt_layout: Option<PromptLayout>,
    /// Tokens of the vocabulary that the header of an embedded model states.
    pub vocabulary: Option<u64>,
}

/// The pin of one tool: BLAKE3 over the RFC 8785 form of
/// `{annotations, description, inputSchema, name, origin}` (semantics §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolPin(pub Digest);

impl ToolPin {
    /// Pins `tool` as offered by `origin` (`builtin` or `mcp:<server>`).
    #[must_use]
    pub fn of(origin: &str, tool: &ToolCapability) -> Self {
        let identity = json!({
            "annotations": tool.annotations,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "name": tool.name,
            "origin": origin,
        });
        Self(Digest::of(canonical(&identity).as_bytes()))
    }

    /// The pin of a server: BLAKE3 over its tools' pins as text, sorted, joined by line feeds.
    #[must_use]
    pub fn of_server(mut pins: Vec<Self>) -> Digest {
        pins.sort_unstable();
        let lines: Vec<String> = pins.iter().map(|pin| pin.0.to_string()).collect();
        Digest::of(lines.join("\n").as_bytes())
    }
}
