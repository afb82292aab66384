//! How the keys of a layer (001 §6) are called in a contract file.

use serde_json::Value;

use monolith_core::contract::{DefinitionKind, KNOBS, parameter_term};

/// The section of a layer with defaults for contracts.
pub(super) const DEFAULTS_SECTION: &str = "defaults";
/// The section of queues.
pub(super) const QUEUES: &str = "queues";
/// The sections of a layer that are read.
pub(super) const SECTIONS: [&str; 7] = [
    "providers",
    "mcpServers",
    "restTools",
    "openapiSpecs",
    QUEUES,
    "pricing",
    DEFAULTS_SECTION,
];

/// The section of definitions of a kind, and what messages call one of them.
pub(super) const fn section_of(kind: DefinitionKind) -> (&'static str, &'static str) {
    match kind {
        DefinitionKind::Provider => ("providers", "provider"),
        DefinitionKind::Openapi => ("openapiSpecs", "openapiSpec"),
        DefinitionKind::RestTool => ("restTools", "restTool"),
        DefinitionKind::Server => ("mcpServers", "mcp"),
        DefinitionKind::Price => ("pricing", "pricing"),
        DefinitionKind::Queue => (QUEUES, "queue"),
    }
}

/// The section of what is kept of runs.
pub(super) const PERSISTENCE: &str = "persistence";
/// The sections of other programs, of which nothing but [`PERSISTENCE`] counts here.
pub(super) const OF_OTHERS: [&str; 4] = ["api", PERSISTENCE, "slack", "telemetry"];

/// The one name of a key of `defaults`.
pub(super) fn default_term(key: &str) -> &str {
    let mut known = KNOBS.iter();
    known
        .find(|(written, _)| *written == key)
        .map_or(key, |(_, path)| path)
}

/// Parameters by the names that a contract file has for them.
pub(super) fn snake(value: Value) -> Value {
    let Value::Object(members) = value else {
        return value;
    };
    let renamed = members
        .into_iter()
        .map(|(key, value)| (parameter_term(&key).to_owned(), value));
    Value::Object(renamed.collect())
}
