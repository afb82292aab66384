//! The terms of a contract as its author wrote them, in the file's own form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document::{Document, members};
use crate::contract::server_terms::BUILTIN;
use crate::contract::spec::{
    FILE, OPENAPI, OpenapiKeys, PRICE, PRICES, PROVIDER, ProviderKeys, REST_TOOL, RestToolKeys,
    SANDBOX, SERVER, SandboxKeys, ServerKeys, TARGET, TOOL_OUTPUT_BUDGET, TOOLS,
};
use crate::contract::{
    BATCH, BigCount, ExecutionContract, Grounds, ModelPrice, OpenapiTerms, PROGRESS_REPORT,
    PriceTable, ProviderTerms, QueueTerms, RestTerms, SandboxTerms, ServerKind, ServerTerms,
    own_name,
};

/// The file with every value that is not a default.
pub(super) fn stated(recorded: &ExecutionContract, task: Option<&str>) -> Document {
    let mut file = Document::default();
    if let Some(task) = task {
        file.state(&[FILE.task.name], json!(task));
    }
    let decision = &recorded.policy_decision;
    if decision.grounds == Grounds::Given {
        file.state(&[FILE.tool_policy.name], json!(decision.policy));
    }
    let targets = recorded.targets.iter().filter(|target| !target.summarizer);
    let targets = targets.map(
        |target| json!({TARGET.provider.name: target.provider, TARGET.model.name: target.model}),
    );
    file.state(&[FILE.targets.name], targets.collect());
    for (name, provider) in &recorded.providers {
        state_provider(&mut file, name, provider);
    }
    for (name, server) in &recorded.servers {
        state_server(&mut file, recorded, name, server);
    }
    if !recorded.model_profiles.is_empty() {
        let key = FILE.model_profiles.name;
        file.state(&[key], json!(recorded.model_profiles));
    }
    // Servers may name no other queues than these.
    if !recorded.queues.is_empty() {
        file.state(&[FILE.queues.name], json!(recorded.queues));
    }
    if let Some(model) = &recorded.tool_output_budget.summarizer_model {
        let (section, key) = (
            &FILE.tool_output_budget,
            &TOOL_OUTPUT_BUDGET.summarizer_model,
        );
        file.state(&[section.name, key.name], json!(model));
    }
    for (tool, key) in [
        (PROGRESS_REPORT, FILE.progress_report.name),
        (BATCH, FILE.batch.name),
    ] {
        if recorded.session_tool(tool).is_some() {
            file.state(&[key], json!(true));
        }
    }
    let depth = recorded.delegation.as_ref().map(|own| own.max_depth);
    if let Some(depth) = depth.filter(|depth| *depth != FILE.max_delegation_depth.default_value) {
        file.state(&[FILE.max_delegation_depth.name], json!(depth));
    }
    if let Some(form) = &recorded.response_format {
        file.state(&[FILE.final_report.name], json!(form));
    }
    if let Some(prices) = &recorded.prices {
        file.state(&[FILE.prices.name], price_table(prices));
    }
    file
}

fn state_provider(file: &mut Document, name: &str, terms: &ProviderTerms) {
    let path = [FILE.providers.name, name];
    let kind = terms.provider_type;
    let mut state = |key: &str, value: Value| file.state_below(&path, key, value);
    state(PROVIDER.provider_type.name, json!(kind));
    let base_url = terms.base_url.as_deref();
    let key_env = terms.api_key_env.as_deref();
    if key_env != base_url.and_then(|address| kind.key_env_at(address)) {
        state(PROVIDER.api_key_env.name, json!(key_env));
    }
    if terms.base_url_env.is_none() && base_url != kind.usual_base_url() {
        state(PROVIDER.base_url.name, json!(base_url));
    }
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        state(PROVIDER.headers.name, headers);
    }
    let otherwise = [
        PROVIDER.api_key_env.name,
        PROVIDER.base_url.name,
        PROVIDER.provider_options.name,
        PROVIDER.provider_type.name,
    ];
    file.state_same(&path, ProviderKeys::every_name(), terms, &otherwise);
    if let Some(text) = &terms.provider_options {
        file.state_options(name, text);
    }
}

fn state_server(
    file: &mut Document,
    recorded: &ExecutionContract,
    name: &str,
    terms: &ServerTerms,
) {
    if terms.kind == ServerKind::Agents {
        return;
    }
    if let Some(openapi) = &terms.openapi {
        state_openapi(file, (name, terms), openapi);
        return;
    }
    if let Some(rest) = &terms.rest {
        state_rest_tool(file, recorded, (name, terms), rest);
        return;
    }
    let tools = [FILE.tools.name];
    let env = values(&terms.env_names, &terms.env_variables);
    if terms.kind == ServerKind::Builtin {
        let names = recorded.tools.iter().filter(|tool| tool.origin == BUILTIN);
        let names = names.map(|tool| json!(tool.name)).collect();
        file.state_below(&tools, TOOLS.builtin.name, names);
        if !terms.env_names.is_empty() {
            file.state_below(&tools, TOOLS.env.name, env);
        }
        if let Some(sandbox) = &terms.sandbox {
            file.state_below(&tools, TOOLS.sandbox.name, sandbox_form(sandbox));
        }
        if let Some(terms) = &terms.http_get {
            // It is recorded under the keys of the file.
            file.state_below(&tools, TOOLS.http_get.name, json!(terms));
        }
        return;
    }
    if terms.kind == ServerKind::Host {
        let names = json!(terms.tools_allowed.iter().flatten().collect::<Vec<_>>());
        file.state(&[FILE.tools.name, TOOLS.host.name], names);
        return;
    }
    let path = [FILE.tools.name, TOOLS.mcp.name, name];
    file.state(&path, json!({}));
    let mut state = |key: &str, value: Value| file.state_below(&path, key, value);
    if terms.kind == ServerKind::Sse {
        state(SERVER.server_type.name, json!("sse"));
    }
    if !terms.env_names.is_empty() {
        state(SERVER.env.name, env);
    }
    if let Some(sandbox) = &terms.sandbox {
        state(SERVER.sandbox.name, sandbox_form(sandbox));
    }
    state_reach(file, &path, terms);
    let otherwise = [SERVER.pin.name, SERVER.queue.name, SERVER.sandbox.name];
    file.state_same(&path, ServerKeys::every_name(), terms, &otherwise);
}

/// The mapping, or the word in its place.
fn sandbox_form(terms: &SandboxTerms) -> Value {
    if !terms.confined {
        return json!("off");
    }
    let mut stated = members(terms);
    let keys = SandboxKeys::every_name();
    stated.retain(|key, value| keys.contains(&key.as_str()) && !value.is_null());
    let network = if terms.network { "on" } else { "off" };
    stated.insert(SANDBOX.network.name.to_owned(), json!(network));
    Value::Object(stated)
}

fn price_table(prices: &PriceTable) -> Value {
    // Millionths per million tokens are trillionths per token.
    let dollars =
        |BigCount(pico): BigCount| format!("{}.{:06}", pico / 1_000_000, pico % 1_000_000);
    let price = |price: &ModelPrice| {
        json!({
            PRICE.cache_read.name: dollars(price.cache_read_pico_usd),
            PRICE.cache_write.name: dollars(price.cache_write_pico_usd),
            PRICE.input.name: dollars(price.input_pico_usd),
            PRICE.output.name: dollars(price.output_pico_usd),
        })
    };
    let models = prices.models.iter().map(|(provider, models)| {
        let models = models.iter().map(|(model, of)| (model.clone(), price(of)));
        (provider.clone(), models.collect::<Value>())
    });
    json!({
        PRICES.models.name: models.collect::<Value>(),
        PRICES.version.name: prices.version,
    })
}

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

/// Values of headers or variables, of which a contract holds the names and the variables that they are made of.
pub(super) fn values(names: &[String], variables: &BTreeMap<String, Vec<String>>) -> Value {
    let value = |name: &String| {
        let variables = variables.get(name).into_iter().flatten();
        let placeholders = variables.map(|variable| format!("${{{variable}}}"));
        placeholders.collect::<Vec<_>>().concat()
    };
    names
        .iter()
        .map(|name| (name.clone(), json!(value(name))))
        .collect()
}

/// States the keys that servers and web services have under one name, where the contract records them under another one.
pub(super) fn state_reach(file: &mut Document, path: &[&str], terms: &ServerTerms) {
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        file.state_below(path, SERVER.headers.name, headers);
    }
    if let Some(pin) = terms.expected_pin {
        file.state_below(path, SERVER.pin.name, json!(pin));
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        file.state_below(path, SERVER.queue.name, json!(queue));
    }
}
