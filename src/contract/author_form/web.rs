//! A recorded tool that is a request to a web service, in the file's own form. Sends nothing.

use serde_json::{Value, json};

use super::document::Document;
use super::placeholders::values;
use crate::contract::spec::{FILE, REST_TOOL, TOOLS};
use crate::contract::{ExecutionContract, QueueTerms, RestTerms, ServerTerms, WebLimits, own_name};

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
    let WebLimits {
        loopback,
        max_bytes,
        max_redirects,
    } = rest.limits;
    if loopback != REST_TOOL.loopback.default_value {
        state(REST_TOOL.loopback.name, json!(loopback));
    }
    if max_bytes != REST_TOOL.max_bytes.default_value {
        state(REST_TOOL.max_bytes.name, json!(max_bytes));
    }
    if max_redirects != REST_TOOL.max_redirects.default_value {
        state(REST_TOOL.max_redirects.name, json!(max_redirects));
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        state(REST_TOOL.queue.name, json!(queue));
    }
}
