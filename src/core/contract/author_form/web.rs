//! A recorded tool that is a request to a web service, in the file's own form. Sends nothing.

use serde_json::{Value, json};

use super::document::Document;
use super::placeholders::values;
use crate::contract::spec::{FILE, OPENAPI, REST_TOOL, TOOLS};
use crate::contract::{
    ExecutionContract, OpenapiTerms, QueueTerms, RestTerms, ServerTerms, WebLimits, own_name,
};

/// States one entry of `tools.rest`.
pub(super) fn state_rest_tool(
    file: &mut Document,
    recorded: &ExecutionContract,
    (name, terms): (&str, &ServerTerms),
    rest: &RestTerms,
) {
    let path = [FILE.tools.name, TOOLS.rest.name, own_name(name)];
    file.state(&path, json!({}));
    let mut state = |key: &str, value: Value| {
        let [tools, section, name] = path;
        file.state(&[tools, section, name, key], value);
    };
    let origin = terms.kind.origin(name);
    let tool = recorded.tools.iter().find(|tool| tool.origin == origin);
    let description = tool.map_or("", |tool| tool.description.as_str());
    state(REST_TOOL.description.name, json!(description));
    // What was not offered is not recorded: any arguments are declared then.
    let schema = tool.map_or_else(
        || json!({"type": "object"}),
        |tool| tool.input_schema.clone(),
    );
    state(REST_TOOL.parameters_schema.name, schema);
    state(REST_TOOL.method.name, json!(rest.method));
    state(REST_TOOL.url.name, json!(terms.url));
    if let Some(body) = &rest.body_template {
        state(REST_TOOL.body_template.name, body.clone());
    }
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        state(REST_TOOL.headers.name, headers);
    }
    if let Some(streaming) = &rest.streaming {
        // It is recorded under the keys of the file.
        state(REST_TOOL.streaming.name, json!(streaming));
    }
    for (key, value) in limits(&rest.limits) {
        state(key, value);
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        state(REST_TOOL.queue.name, json!(queue));
    }
}

/// States one entry of `tools.openapi`.
pub(super) fn state_openapi(
    file: &mut Document,
    (name, terms): (&str, &ServerTerms),
    openapi: &OpenapiTerms,
) {
    let path = [FILE.tools.name, TOOLS.openapi.name, own_name(name)];
    file.state(&path, json!({}));
    let mut state = |key: &str, value: Value| {
        let [tools, section, name] = path;
        file.state(&[tools, section, name, key], value);
    };
    state(OPENAPI.spec.name, json!(openapi.spec));
    if let Some(base_url) = &openapi.base_url {
        state(OPENAPI.base_url.name, json!(base_url));
    }
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        state(OPENAPI.headers.name, headers);
    }
    if !openapi.include_methods.is_empty() {
        state(OPENAPI.include_methods.name, json!(openapi.include_methods));
    }
    if !openapi.tags.is_empty() {
        state(OPENAPI.tags.name, json!(openapi.tags));
    }
    if let Some(tools) = &terms.tools_allowed {
        state(OPENAPI.tools_allowed.name, json!(tools));
    }
    if !terms.tools_denied.is_empty() {
        state(OPENAPI.tools_denied.name, json!(terms.tools_denied));
    }
    if let Some(pin) = terms.expected_pin {
        state(OPENAPI.pin.name, json!(pin));
    }
    for (key, value) in limits(&openapi.limits) {
        state(key, value);
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        state(OPENAPI.queue.name, json!(queue));
    }
}

/// What bounds requests, where it is no default. Both forms have the same keys for it.
fn limits(limits: &WebLimits) -> Vec<(&'static str, Value)> {
    let mut stated = Vec::new();
    if limits.loopback != REST_TOOL.loopback.default_value {
        stated.push((REST_TOOL.loopback.name, json!(limits.loopback)));
    }
    if limits.max_bytes != REST_TOOL.max_bytes.default_value {
        stated.push((REST_TOOL.max_bytes.name, json!(limits.max_bytes)));
    }
    if limits.max_redirects != REST_TOOL.max_redirects.default_value {
        stated.push((REST_TOOL.max_redirects.name, json!(limits.max_redirects)));
    }
    if !limits.networks.is_empty() {
        stated.push((REST_TOOL.networks.name, json!(limits.networks)));
    }
    stated
}
