//! How each tool server of a file is reached, as its contract says it. Reaches none.

use std::collections::BTreeMap;

use super::masking::masked_argument;
use super::queues::queue_of;
use super::redaction::{SECRET_MARKER, recorded_url, variables_of};
use super::server_terms::{BUILTIN, HOST};
use super::{
    AGENTS, ContractSpec, McpTransport, OAuthTerms, OpenapiTerms, RestTerms, ServerKind,
    ServerTerms, recorded_template, server_sandbox, shell_sandbox,
};

/// As what monolith comes to the authorization server of a server; `None` if its author gives nothing for that.
fn oauth_terms(given: &OAuthTerms) -> Option<Box<OAuthTerms>> {
    let address = |address: &Option<String>| address.as_deref().map(recorded_url);
    let terms = OAuthTerms {
        idp_token_endpoint: address(&given.idp_token_endpoint),
        issuer: address(&given.issuer),
        ..given.clone()
    };
    (terms != OAuthTerms::default()).then(|| Box::new(terms))
}

/// Records how a server is reached.
fn reached(transport: &McpTransport, terms: &mut ServerTerms) {
    let mut asked_with = |headers: &BTreeMap<String, String>| {
        terms.header_names = headers.keys().cloned().collect();
        terms.header_variables = variables_of(headers);
    };
    match transport {
        McpTransport::Stdio {
            arg_variables,
            args,
            command,
            env,
        } => {
            let args = args.iter();
            let args = args.map(|arg| masked_argument(arg, SECRET_MARKER));
            terms.args = args.collect();
            terms.arg_variables.clone_from(arg_variables);
            terms.command = Some(command.clone());
            terms.env_names = env.keys().cloned().collect();
            terms.env_variables = variables_of(env);
        }
        McpTransport::Remote {
            headers,
            oauth,
            url,
            ..
        } => {
            asked_with(headers);
            terms.oauth = oauth.as_deref().and_then(oauth_terms);
            terms.url = Some(recorded_url(url));
        }
        McpTransport::Openapi {
            headers,
            terms: given,
        } => {
            asked_with(headers);
            let base_url = given.base_url.as_deref().map(recorded_url);
            terms.url.clone_from(&base_url);
            terms.openapi = Some(Box::new(OpenapiTerms {
                base_url,
                spec: given.recorded_spec(),
                ..OpenapiTerms::clone(given)
            }));
        }
        McpTransport::Rest {
            headers,
            limits,
            tool,
        } => {
            asked_with(headers);
            terms.url = Some(recorded_template(&tool.url));
            terms.rest = Some(Box::new(RestTerms {
                body_template: tool.body_template.clone(),
                limits: limits.clone(),
                method: tool.method,
                streaming: tool.streaming.clone(),
            }));
        }
    }
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
        let mut terms = ServerTerms {
            elicitation: given.terms.elicitation,
            expected_pin: given.pin,
            health_probe: given.terms.health_probe,
            kind: given.transport.kind(),
            offers: given.terms.offers.clone(),
            queue: queue_of(spec, given.queue.as_deref()),
            roots: given.terms.roots.clone(),
            sampling: given.terms.sampling.clone(),
            sandbox: given.sandbox.as_ref().map(server_sandbox),
            shared: given.shared,
            tools_allowed: given.tools.allowed.clone(),
            tools_denied: given.tools.denied.clone(),
            ..ServerTerms::default()
        };
        reached(&given.transport, &mut terms);
        servers.insert(name.clone(), terms);
    }
    servers
}
