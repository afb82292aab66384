//! How the keys of a layer (001 §6) are called in a contract file.

use serde_json::Value;

use monolith_core::contract::KNOBS;

/// The section of a layer with defaults for contracts.
pub(super) const DEFAULTS_SECTION: &str = "defaults";
/// The sections of a layer that are read.
pub(super) const SECTIONS: [&str; 7] = [
    "providers",
    "mcpServers",
    "restTools",
    "openapiSpecs",
    "queues",
    "pricing",
    DEFAULTS_SECTION,
];

/// The section of what is kept of runs.
pub(super) const PERSISTENCE: &str = "persistence";
/// The sections of other programs, of which nothing but [`PERSISTENCE`] counts here.
pub(super) const OF_OTHERS: [&str; 4] = ["api", PERSISTENCE, "slack", "telemetry"];

/// Names of parameters in a layer that are written otherwise in a contract file.
const PARAMETERS: [(&str, &str); 5] = [
    ("maxOutputTokens", "max_output_tokens"),
    ("reasoningTokens", "reasoning_tokens"),
    ("repeatPenalty", "repeat_penalty"),
    ("topP", "top_p"),
    ("contextWindow", "context_window"),
];

/// Other keys of a definition that may be written in two ways.
const KEYS: [(&str, &str); 12] = [
    ("apiKey", "api_key_env"),
    ("baseUrl", "base_url"),
    ("bodyTemplate", "body_template"),
    ("contextWindowBufferTokens", "buffer"),
    ("healthProbe", "health_probe"),
    ("includeMethods", "include_methods"),
    ("maxBytes", "max_bytes"),
    ("maxRedirects", "max_redirects"),
    ("parametersSchema", "parameters_schema"),
    ("tagFilter", "tags"),
    ("toolsAllowed", "tools_allowed"),
    ("toolsDenied", "tools_denied"),
];

/// Keys of `streaming` of a tool, in a layer and in a contract file.
pub(super) const STREAMING: [(&str, &str); 6] = [
    ("answerField", "answer_field"),
    ("discriminatorField", "discriminator_field"),
    ("doneValue", "done_value"),
    ("linePrefix", "line_prefix"),
    ("tokenField", "token_field"),
    ("tokenValue", "token_value"),
];

/// The one name of a key of a definition.
pub(super) fn term(key: &str) -> &str {
    let mut known = PARAMETERS.iter().chain(&KEYS).chain(&STREAMING);
    known
        .find(|(written, _)| *written == key)
        .map_or(key, |(_, name)| name)
}

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
    let renamed = members.into_iter().map(|(key, value)| {
        let known = PARAMETERS.iter().find(|(camel, _)| *camel == key);
        (known.map_or(key, |(_, name)| (*name).to_owned()), value)
    });
    Value::Object(renamed.collect())
}
