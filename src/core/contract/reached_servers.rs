//! How each tool server of a file is reached, as its contract says it. Reaches none.

use std::collections::BTreeMap;

use super::masking::masked_argument;
use super::queues::queue_of;
use super::redaction::{SECRET_MARKER, recorded_url, variables_of};
use super::server_terms::{BUILTIN, HOST};
use super::{
    AGENTS, ContractSpec, McpTransport, OAuthSpec, OAuthTerms, OpenapiTerms, RestTerms, ServerKind,
    ServerTerms, recorded_template, server_sandbox, shell_sandbox,
};

/// As what monolith comes to the authorization server of a server; `None` if its author gives nothing for that.
fn oauth_terms(given: &OAuthSpec) -> Option<Box<OAuthTerms>> {
    let address = |address: &Option<String>| address.as_deref().map(recorded_url);
    let terms = OAuthTerms {
        client_id: given.client_id.clone(),
        client_secret_env: given.client_secret_env.clone(),
        grant: given.grant,
        id_token_env: given.id_token_env.clone(),
        idp_client_id: given.idp_client_id.clone(),
        idp_token_endpoint: address(&given.idp_token_endpoint),
        issuer: address(&given.issuer),
        private_key_env: given.private_key_env.clone(),
        scopes: given.scopes.clone(),
    };
    (terms != OAuthTerms::default()).then(|| Box::new(terms))
}

/// What is taken of a description of a web service.
fn openapi_terms(transport: &McpTransport) -> Option<Box<OpenapiTerms>> {
    let McpTransport::Openapi { terms, .. } = transport else {
        return None;
    };
    Some(Box::new(OpenapiTerms {
        base_url: terms.base_url.as_deref().map(recorded_url),
        spec: terms.recorded_spec(),
        ..OpenapiTerms::clone(terms)
    }))
}

/// What a tool asks that is a request to a web service.
fn rest_terms(transport: &McpTransport) -> Option<Box<RestTerms>> {
    let McpTransport::Rest { limits, tool, .. } = transport else {
        return None;
    };
    Some(Box::new(RestTerms {
        body_template: tool.body_template.clone(),
        limits: limits.clone(),
        method: tool.method,
        streaming: tool.streaming.clone(),
    }))
}

/// How each server is reached. What it offers is added once it was started.
pub(super) fn servers(spec: &ContractSpec) -> BTreeMap<String, ServerTerms> {
    let mut servers = BTreeMap::new();
    if !spec.tools.builtin.is_empty() {
        let has_shell = spec.tools.has_shell();
        let terms = ServerTerms {
            env_names: spec.tools.env.keys().cloned().collect(),
            env_variables: variables_of(&spec.tools.env),
            http_get: spec.tools.http_get.clone(),
            sandbox: has_shell.then(|| shell_sandbox(spec.tools.sandbox.as_ref())),
            ..ServerTerms::builtin()
        };
        servers.insert(BUILTIN.to_owned(), terms);
    }
    if !spec.tools.host.is_empty() {
        let terms = ServerTerms {
            kind: ServerKind::Host,
            queue: queue_of(spec, None),
            tools_allowed: Some(spec.tools.host.clone()),
            ..ServerTerms::builtin()
        };
        servers.insert(HOST.to_owned(), terms);
    }
    if !spec.agents.is_empty() {
        let terms = ServerTerms {
            queue: queue_of(spec, None),
            ..ServerTerms::agents()
        };
        servers.insert(AGENTS.to_owned(), terms);
    }
    for (name, given) in &spec.tools.servers {
        let none = BTreeMap::new();
        let kind = given.transport.kind();
        let (command, args, env, url, headers, oauth) = match &given.transport {
            McpTransport::Stdio {
                args, command, env, ..
            } => {
                let args = args.iter();
                let args = args.map(|arg| masked_argument(arg, SECRET_MARKER));
                let args = args.collect::<Vec<_>>();
                (Some(command.clone()), args, env, None, &none, None)
            }
            McpTransport::Remote {
                headers,
                oauth,
                url,
                ..
            } => (
                None,
                Vec::new(),
                &none,
                Some(recorded_url(url)),
                headers,
                oauth.as_deref(),
            ),
            McpTransport::Openapi { headers, terms } => (
                None,
                Vec::new(),
                &none,
                terms.base_url.as_deref().map(recorded_url),
                headers,
                None,
            ),
            McpTransport::Rest { headers, tool, .. } => (
                None,
                Vec::new(),
                &none,
                Some(recorded_template(&tool.url)),
                headers,
                None,
            ),
        };
        let arg_variables = match &given.transport {
            McpTransport::Stdio { arg_variables, .. } => arg_variables.clone(),
            McpTransport::Openapi { .. }
            | McpTransport::Remote { .. }
            | McpTransport::Rest { .. } => Vec::new(),
        };
        let terms = ServerTerms {
            arg_variables,
            args,
            available: false,
            command,
            elicitation: given.terms.elicitation,
            env_names: env.keys().cloned().collect(),
            env_variables: variables_of(env),
            expected_pin: given.pin,
            header_names: headers.keys().cloned().collect(),
            header_variables: variables_of(headers),
            health_probe: given.terms.health_probe,
            http_get: None,
            kind,
            oauth: oauth.and_then(oauth_terms),
            offers: given.terms.offers.clone(),
            openapi: openapi_terms(&given.transport),
            pin: None,
            queue: queue_of(spec, given.queue.as_deref()),
            rest: rest_terms(&given.transport),
            roots: given.terms.roots.clone(),
            sampling: given.terms.sampling.clone(),
            sandbox: given.sandbox.as_ref().map(server_sandbox),
            shared: given.shared,
            tools_allowed: given.tools.allowed.clone(),
            tools_denied: given.tools.denied.clone(),
            url,
        };
        servers.insert(name.clone(), terms);
    }
    servers
}
