//! The server terms of a contract: the way to each tool server of a file. Connects to none.

use std::collections::BTreeMap;

use super::masking::masked_argument;
use super::redaction::{SECRET_MARKER, recorded_url, variables_of};
use super::server_terms::{BUILTIN, HOST};
use super::spec::SANDBOX;
use super::{
    AGENTS, ContractSpec, McpTransport, Network, OAuthTerms, OpenapiTerms, QueueTerms, RestTerms,
    SandboxSpec, SandboxTerms, ServerKind, ServerTerms, recorded_template,
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

/// Returns the terms of each server. Its tools are added after it starts.
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

/// Default maximum of concurrent calls in the default queue.
const DEFAULT_CONCURRENT: u32 = 16;

/// True if the author configures any queue. Without queues, no call waits.
fn has_queues(spec: &ContractSpec) -> bool {
    let named = spec
        .tools
        .servers
        .values()
        .any(|server| server.queue.is_some());
    named || !spec.queues.is_empty()
}

/// The author's queues, and the default one where they lack it (000 §7).
pub(super) fn queues(spec: &ContractSpec) -> BTreeMap<String, QueueTerms> {
    let mut queues = spec.queues.clone();
    if has_queues(spec) {
        let default_value = QueueTerms {
            concurrent: DEFAULT_CONCURRENT,
        };
        queues
            .entry(QueueTerms::DEFAULT.to_owned())
            .or_insert(default_value);
    }
    queues
}

/// The queue of a server that names one, or none; none if the contract has none.
pub(super) fn queue_of(spec: &ContractSpec, named: Option<&str>) -> Option<String> {
    let named = named.unwrap_or(QueueTerms::DEFAULT);
    has_queues(spec).then(|| named.to_owned())
}

/// Returns the sandbox of the built-in shell's commands.
pub fn shell_sandbox(given: Option<&SandboxSpec>) -> SandboxTerms {
    let given = given.cloned().unwrap_or_default();
    let network = given.network == Some(Network::On);
    let or = |limit: Option<u64>, default_value: u64| limit.or(Some(default_value));
    let limited = SandboxSpec {
        cpu_s: or(given.cpu_s, SANDBOX.cpu_s.default_value),
        file_mb: or(given.file_mb, SANDBOX.file_mb.default_value),
        memory_mb: or(given.memory_mb, SANDBOX.memory_mb.default_value),
        open_files: or(given.open_files, SANDBOX.open_files.default_value),
        processes: or(given.processes, SANDBOX.processes.default_value),
        ..given
    };
    sandbox(limited, network)
}

/// Returns the sandbox of a tool server that configures one: file access, and the stated limits only.
pub fn server_sandbox(given: &SandboxSpec) -> SandboxTerms {
    sandbox(given.clone(), given.network != Some(Network::Off))
}

fn sandbox(given: SandboxSpec, network: bool) -> SandboxTerms {
    if given.off {
        return SandboxTerms {
            network: true,
            ..SandboxTerms::default()
        };
    }
    SandboxTerms {
        confined: true,
        cpu_s: given.cpu_s,
        file_mb: given.file_mb,
        memory_mb: given.memory_mb,
        network,
        open_files: given.open_files,
        processes: given.processes,
        read: given.read,
        sockets: given.sockets,
        write: given.write,
    }
}
