//! The servers, variables and context windows that a file names or needs and nothing supplies, as far as known before a tool
//! server starts. Starts nothing.

use std::collections::BTreeMap;

use super::backends::address_of;
use super::reach::Reach;
use super::servers::client_terms;
use super::sources::used_providers;
use crate::driver::{DriverError, Environment};
use crate::inference::header_holds;
use crate::tools::web_header_holds;
use monolith_core::contract::{
    ContractSpec, McpSpec, McpTransport, ModelProfile, ServerCapability, ServerKind, Terms,
    own_name, unknown_windows,
};

/// The text between the name of a server and the name of its tool.
const SEPARATOR: &str = "__";

/// Every rule about a tool of a server that the file does not define. Where it defines none, the contract's own checks know that no
/// tool is called so.
pub(super) fn unknown_servers(spec: &ContractSpec) -> Vec<DriverError> {
    let servers = &spec.tools.servers;
    if servers.is_empty() {
        return Vec::new();
    }
    let allowed = spec.allowed_tools.iter().flatten().enumerate();
    let allowed = allowed.map(|(at, name)| (format!("allowed_tools.{at}"), name));
    let approved = spec.require_approval.iter().enumerate();
    let approved = approved.map(|(at, name)| (format!("require_approval.{at}"), name));
    let rules = spec.approval.iter().enumerate();
    let rules = rules.filter(|(_, rule)| !rule.tool.contains('*'));
    let matched = rules.map(|(at, rule)| (format!("approval.{at}.tool"), &rule.tool));
    let is_of_known = |tool: &str| {
        let mut known = servers.iter();
        known.any(|(name, server)| tool.starts_with(&server.transport.kind().prefix(name)))
    };
    let unknown = |(place, tool): (String, &String)| {
        let (server, _) = tool.split_once(SEPARATOR)?;
        (!is_of_known(tool)).then(|| DriverError::UnknownServer {
            known: servers.keys().cloned().collect::<Vec<_>>().join(", "),
            place,
            server: server.to_owned(),
            tool: tool.clone(),
        })
    };
    allowed
        .chain(approved)
        .chain(matched)
        .filter_map(unknown)
        .collect()
}

/// Every tool that an agent names and that its server, which is up, does not offer.
pub(super) fn not_offered(
    spec: &ContractSpec,
    offered: &BTreeMap<String, ServerCapability>,
) -> Vec<DriverError> {
    let one = |(name, tool): &(String, String)| {
        let server = offered.get(name).filter(|server| server.available)?;
        let names: Vec<&str> = server.tools.iter().map(|t| t.name.as_str()).collect();
        let is_there = names.iter().any(|known| known.eq_ignore_ascii_case(tool));
        (!is_there).then(|| DriverError::ToolNotOffered {
            offered: names.join(", "),
            place: match server.kind {
                ServerKind::Openapi => format!("tools.rest.{}_{tool}", own_name(name)),
                _ => format!("tools.mcp.{name}{SEPARATOR}{tool}"),
            },
            server: name.clone(),
            tool: tool.clone(),
        })
    };
    spec.named_tools.iter().filter_map(one).collect()
}

/// Every key and header of a provider that names a variable which is not set.
pub fn unset_keys(
    spec: &ContractSpec,
    environment: &Environment,
    reach: &Reach,
) -> Vec<DriverError> {
    let environment = environment.over(spec);
    let unset = reach.variables.iter().filter(|read| {
        let is_needed = !read.is_set && !read.is_optional;
        is_needed && read.place.starts_with("providers.")
    });
    unset
        .map(|read| environment.missing(&read.variable, &read.place))
        .collect()
}

/// Every key and header of a provider that is asked, and of a web service, of which the value is there and cannot be sent. `terms` are
/// those of the contract, where there is one.
pub(super) fn unsendable(
    spec: &ContractSpec,
    environment: &Environment,
    terms: Option<&Terms>,
) -> Vec<DriverError> {
    let refuse = |place: &str| DriverError::HeaderValue {
        place: environment.named(place),
    };
    // What lacks a variable is another fault.
    let broken = |headers: &BTreeMap<String, String>, place: &str, holds: fn(&str) -> bool| {
        let each = headers.iter().filter_map(|(name, text)| {
            let place = format!("{place}.{name}");
            let value = environment.expand(text, &place).ok()?;
            (!holds(&value)).then(|| refuse(&place))
        });
        each.collect::<Vec<_>>()
    };
    let mut faults = Vec::new();
    for (name, provider) in used_providers(spec) {
        let place = format!("providers.{name}");
        let own = || provider.base_url.clone();
        let usual = || terms?.providers.get(name)?.base_url.clone();
        let address = address_of(name, provider, environment).or_else(own);
        let address = address.or_else(usual).unwrap_or_default();
        let usual = provider.provider_type.key_env_at(&address);
        let key = format!("{place}.api_key_env");
        let value = provider.api_key_env.as_deref().or(usual);
        let value = value.and_then(|variable| environment.get_at(variable, &key));
        faults.extend(value.filter(|key| !header_holds(key)).map(|_| refuse(&key)));
        let place = format!("{place}.headers");
        faults.extend(broken(&provider.headers, &place, header_holds));
    }
    for (name, server) in &spec.tools.servers {
        let place = format!("{}.headers", server.place(name));
        match &server.transport {
            McpTransport::Openapi { headers, .. } | McpTransport::Rest { headers, .. } => {
                faults.extend(broken(headers, &place, web_header_holds));
            }
            // A tool server's are judged where it is reached.
            McpTransport::Remote { .. } | McpTransport::Stdio { .. } => {}
        }
    }
    faults
}

/// Every target whose context window is given neither by the file, nor by the model's own file, nor by a profile.
pub(super) fn missing_windows(spec: &ContractSpec, terms: &Terms) -> Vec<DriverError> {
    let one = |at: usize| {
        let target = spec.targets.get(at)?;
        let provider = spec.providers.get(&target.provider)?;
        Some(DriverError::UnknownWindow {
            model: target.model.clone(),
            place: format!("targets.{at}"),
            profiles: ModelProfile::windows_for(provider.provider_type),
        })
    };
    let faults = unknown_windows(terms).into_iter().filter_map(one);
    faults.collect()
}

/// Every variable that a tool server is to be started or reached with and that is not set, and every broken `${`.
pub(super) fn unset_variables(spec: &ContractSpec, environment: &Environment) -> Vec<DriverError> {
    let servers = spec.tools.servers.iter();
    servers
        .flat_map(|(name, server)| unset_of(name, server, environment))
        .collect()
}

/// The servers that cannot be started or reached for want of a variable.
pub(super) fn servers_without_variables(
    spec: &ContractSpec,
    environment: &Environment,
) -> Vec<String> {
    let servers = spec.tools.servers.iter();
    let without = servers.filter(|(name, server)| !unset_of(name, server, environment).is_empty());
    without.map(|(name, _)| name.clone()).collect()
}

/// Every variable of the file's tool servers that is not set, where no more is known of the file's contract.
pub fn unset_by_itself(spec: &ContractSpec, environment: &Environment) -> Vec<DriverError> {
    unset_variables(spec, &environment.over(spec))
}

/// Returns the unset variables that keep one server from being started or reached.
fn unset_of(name: &str, server: &McpSpec, environment: &Environment) -> Vec<DriverError> {
    let (key, values) = match &server.transport {
        McpTransport::Stdio { env, .. } => ("env", env),
        McpTransport::Openapi { headers, .. }
        | McpTransport::Remote { headers, .. }
        | McpTransport::Rest { headers, .. } => ("headers", headers),
    };
    let place = format!("{}.{key}", server.place(name));
    let values = values.iter();
    let faults = values.filter_map(|(of, text)| {
        let place = format!("{place}.{of}");
        environment.expand(text, &place).err()
    });
    let mut faults = faults.collect::<Vec<_>>();
    if let McpTransport::Stdio {
        arg_variables,
        args,
        ..
    } = &server.transport
    {
        let place = format!("{}.args", server.place(name));
        faults.extend(environment.put_in(arg_variables, args, &place).err());
    }
    if let McpTransport::Remote { oauth, .. } = &server.transport {
        let place = format!("tools.mcp.{name}.oauth");
        faults.extend(client_terms(oauth.as_deref(), environment, &place).err());
    }
    faults
}
