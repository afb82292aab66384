//! What a contract holds as its author wrote it, in the file's own form.

use serde_json::{Value, json};

use super::document::Document;
use super::placeholders::values;
use super::web::{state_openapi, state_rest_tool};
use crate::contract::server_terms::BUILTIN;
use crate::contract::spec::{
    FILE, HTTP_GET, PRICE, PRICES, PROVIDER, SANDBOX, SERVER, TARGET, TOOL_OUTPUT_BUDGET, TOOLS,
};
use crate::contract::{
    BATCH, BigCount, ExecutionContract, Grounds, HttpGetTerms, ModelPrice, PROGRESS_REPORT,
    PriceTable, ProviderTerms, QueueTerms, SandboxTerms, ServerKind, ServerTerms,
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
    if let Some(prices) = &recorded.prices {
        file.state(&[FILE.prices.name], price_table(prices));
    }
    file
}

fn state_provider(file: &mut Document, name: &str, terms: &ProviderTerms) {
    let mut state = |key: &str, value: Value| file.state(&[FILE.providers.name, name, key], value);
    let kind = terms.provider_type;
    state(PROVIDER.provider_type.name, json!(kind));
    let base_url = terms.base_url.as_deref();
    let key_env = terms.api_key_env.as_deref();
    if key_env != base_url.and_then(|address| kind.key_env_at(address)) {
        state(PROVIDER.api_key_env.name, json!(key_env));
    }
    if let Some(variable) = &terms.base_url_env {
        state(PROVIDER.base_url_env.name, json!(variable));
    } else if base_url != kind.usual_base_url() {
        state(PROVIDER.base_url.name, json!(base_url));
    }
    if let Some(path) = &terms.file {
        state(PROVIDER.file.name, json!(path));
    }
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        state(PROVIDER.headers.name, headers);
    }
    if let Some(tools) = &terms.tools_allowed {
        state(PROVIDER.tools_allowed.name, json!(tools));
    }
    if !terms.tools_denied.is_empty() {
        state(PROVIDER.tools_denied.name, json!(terms.tools_denied));
    }
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
    if terms.kind == ServerKind::Builtin {
        let tools = recorded.tools.iter().filter(|tool| tool.origin == BUILTIN);
        let names = tools.map(|tool| json!(tool.name)).collect();
        file.state(&[FILE.tools.name, TOOLS.builtin.name], names);
        if !terms.env_names.is_empty() {
            let env = values(&terms.env_names, &terms.env_variables);
            file.state(&[FILE.tools.name, TOOLS.env.name], env);
        }
        if let Some(sandbox) = &terms.sandbox {
            let path = [FILE.tools.name, TOOLS.sandbox.name];
            file.state(&path, sandbox_form(sandbox));
        }
        if let Some(terms) = &terms.http_get {
            state_http_get(file, terms);
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
    let mut state = |key: &str, value: Value| {
        let [tools, mcp, name] = path;
        file.state(&[tools, mcp, name, key], value);
    };
    if let Some(command) = &terms.command {
        state(SERVER.command.name, json!(command));
    }
    if let Some(url) = &terms.url {
        state(SERVER.url.name, json!(url));
    }
    if terms.kind == ServerKind::Sse {
        state(SERVER.server_type.name, json!("sse"));
    }
    if !terms.args.is_empty() {
        state(SERVER.args.name, json!(terms.args));
    }
    if !terms.arg_variables.is_empty() {
        state(SERVER.arg_variables.name, json!(terms.arg_variables));
    }
    if !terms.env_names.is_empty() {
        let env = values(&terms.env_names, &terms.env_variables);
        state(SERVER.env.name, env);
    }
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        state(SERVER.headers.name, headers);
    }
    if terms.elicitation != SERVER.elicitation.default_value {
        state(SERVER.elicitation.name, json!(terms.elicitation));
    }
    if terms.health_probe != SERVER.health_probe.default_value {
        state(SERVER.health_probe.name, json!(terms.health_probe));
    }
    if let Some(oauth) = &terms.oauth {
        // It is recorded under the keys of the file.
        state(SERVER.oauth.name, json!(oauth));
    }
    if !terms.offers.is_empty() {
        state(SERVER.offers.name, json!(terms.offers));
    }
    if let Some(pin) = terms.expected_pin {
        state(SERVER.pin.name, json!(pin));
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        state(SERVER.queue.name, json!(queue));
    }
    if !terms.roots.is_empty() {
        state(SERVER.roots.name, json!(terms.roots));
    }
    if let Some(sandbox) = &terms.sandbox {
        state(SERVER.sandbox.name, sandbox_form(sandbox));
    }
    if let Some(model) = &terms.sampling {
        state(SERVER.sampling.name, json!(model));
    }
    if !terms.shared {
        state(SERVER.shared.name, json!(false));
    }
    if let Some(tools) = &terms.tools_allowed {
        state(SERVER.tools_allowed.name, json!(tools));
    }
    if !terms.tools_denied.is_empty() {
        state(SERVER.tools_denied.name, json!(terms.tools_denied));
    }
}

/// The mapping, or the word in its place.
fn sandbox_form(terms: &SandboxTerms) -> Value {
    if !terms.confined {
        return json!("off");
    }
    let network = if terms.network { "on" } else { "off" };
    let limits = [
        (SANDBOX.cpu_s.name, terms.cpu_s),
        (SANDBOX.file_mb.name, terms.file_mb),
        (SANDBOX.memory_mb.name, terms.memory_mb),
        (SANDBOX.open_files.name, terms.open_files),
        (SANDBOX.processes.name, terms.processes),
    ];
    let limits = limits.into_iter();
    let limits = limits.filter_map(|(name, limit)| Some((name.to_owned(), json!(limit?))));
    let rest = [
        (SANDBOX.network.name.to_owned(), json!(network)),
        (SANDBOX.read.name.to_owned(), json!(terms.read)),
        (SANDBOX.write.name.to_owned(), json!(terms.write)),
    ];
    let sockets = (SANDBOX.sockets.name.to_owned(), json!(terms.sockets));
    let sockets = Some(sockets).filter(|_| !terms.sockets.is_empty());
    limits.chain(rest).chain(sockets).collect()
}

fn state_http_get(file: &mut Document, terms: &HttpGetTerms) {
    let mut stated =
        json!({HTTP_GET.hosts.name: terms.hosts, HTTP_GET.schemes.name: terms.schemes});
    let mut state = |key: &str, value: Value| {
        if let Some(stated) = stated.as_object_mut() {
            stated.insert(key.to_owned(), value);
        }
    };
    if terms.loopback != HTTP_GET.loopback.default_value {
        state(HTTP_GET.loopback.name, json!(terms.loopback));
    }
    if terms.max_bytes != HTTP_GET.max_bytes.default_value {
        state(HTTP_GET.max_bytes.name, json!(terms.max_bytes));
    }
    if terms.max_redirects != HTTP_GET.max_redirects.default_value {
        state(HTTP_GET.max_redirects.name, json!(terms.max_redirects));
    }
    file.state(&[FILE.tools.name, TOOLS.http_get.name], stated);
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
