//! A recorded tool that is a request to a web service, in the file's own form. Sends nothing.

use serde_json::{Value, json};

use super::document::Document;
use super::placeholders::state_reach;
use crate::contract::spec::{FILE, OPENAPI, OpenapiKeys, REST_TOOL, RestToolKeys, TOOLS};
use crate::contract::{ExecutionContract, OpenapiTerms, RestTerms, ServerTerms, own_name};

/// States one entry of `tools.rest`.
pub(super) fn state_rest_tool(
    file: &mut Document,
    recorded: &ExecutionContract,
    (name, terms): (&str, &ServerTerms),
    rest: &RestTerms,
) {
    let path = [FILE.tools.name, TOOLS.rest.name, own_name(name)];
    file.state(&path, json!({}));
    let origin = terms.kind.origin(name);
    let tool = recorded.tools.iter().find(|tool| tool.origin == origin);
    let description = tool.map_or("", |tool| tool.description.as_str());
    // What was not offered is not recorded: any arguments are declared then.
    let schema = tool.map_or_else(
        || json!({"type": "object"}),
        |tool| tool.input_schema.clone(),
    );
    let mut state = |key: &str, value: Value| file.state_below(&path, key, value);
    state(REST_TOOL.description.name, json!(description));
    state(REST_TOOL.parameters_schema.name, schema);
    state(REST_TOOL.url.name, json!(terms.url));
    state_reach(file, &path, terms);
    let keys = RestToolKeys::every_name();
    file.state_same(&path, keys, rest, &[]);
    file.state_same(&path, keys, &rest.limits, &[]);
}

/// States one entry of `tools.openapi`.
pub(super) fn state_openapi(
    file: &mut Document,
    (name, terms): (&str, &ServerTerms),
    openapi: &OpenapiTerms,
) {
    let path = [FILE.tools.name, TOOLS.openapi.name, own_name(name)];
    file.state(&path, json!({}));
    state_reach(file, &path, terms);
    let keys = OpenapiKeys::every_name();
    let otherwise = [OPENAPI.pin.name, OPENAPI.queue.name];
    file.state_same(&path, keys, terms, &otherwise);
    file.state_same(&path, keys, openapi, &[]);
    file.state_same(&path, keys, &openapi.limits, &[]);
}
