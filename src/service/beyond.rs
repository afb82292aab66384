//! The rule that decides if a found contract must be trusted. It knows what a contract and its agents state; it does not know who trusts them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use url::{Host, Url};

use monolith_core::contract::{
    ContractSpec, McpTransport, ProviderSpec, ProviderType, placeholders,
};

/// Built-in tools that open no file.
const FILELESS: [&str; 3] = ["clock", "echo", "http_get"];

/// A found contract with its agents, as they were read.
pub struct FoundContract<'c> {
    /// The folder of the contract.
    pub(crate) folder: &'c Path,
    /// Its files and those of its agents, with everything that they include.
    pub(crate) sources: Vec<PathBuf>,
    /// The contract and its agents, each with its folder.
    pub(crate) specs: Vec<(&'c ContractSpec, &'c Path)>,
}

impl FoundContract<'_> {
    /// True if a run starts commands, hands on variables, opens a file or folder outside the contract's folder, or can send files to a host
    /// that the contract names.
    pub fn needs_trust(&self) -> bool {
        let any = |rule: fn(&ContractSpec) -> bool| self.specs.iter().any(|(spec, _)| rule(spec));
        let mut sources = self.sources.iter();
        let mut specs = self.specs.iter();
        any(starts_or_hands_on)
            || sources.any(|path| self.is_outside(path))
            || specs.any(|(spec, folder)| {
                let mut paths = paths_of(spec);
                paths.any(|path| self.is_outside(&folder.join(path)))
            })
            || any(opens_files) && any(names_host)
    }

    /// True if a path leads outside the contract's folder, links followed.
    fn is_outside(&self, path: &Path) -> bool {
        let Ok(root) = self.folder.join(".").canonicalize() else {
            return true;
        };
        let whole = self.folder.join(path);
        if let Ok(whole) = whole.canonicalize() {
            return !whole.starts_with(root);
        }
        let mut above = whole.ancestors().skip(1);
        let known = above.find_map(|above| above.canonicalize().ok());
        let rest = path.strip_prefix(self.folder).unwrap_or(path);
        let climbs = rest
            .components()
            .any(|part| !matches!(part, Component::CurDir | Component::Normal(_)));
        climbs || known.is_none_or(|known| !known.starts_with(root))
    }
}

/// The paths that monolith itself opens for a contract, as written.
fn paths_of(spec: &ContractSpec) -> impl Iterator<Item = &Path> {
    let workspace = spec.tools.workspace.as_deref().unwrap_or(".");
    let workspace = opens_files(spec).then_some(workspace);
    let providers = spec.providers.values();
    let providers = providers.filter_map(|provider| provider.file.as_deref());
    let servers = spec.tools.servers.values();
    let descriptions = servers.filter_map(|server| match &server.transport {
        McpTransport::Openapi { terms, .. } => {
            Some(&*terms.spec).filter(|spec| !spec.contains("://"))
        }
        _ => None,
    });
    let all = workspace.into_iter().chain(providers).chain(descriptions);
    all.map(Path::new)
}

fn opens_files(spec: &ContractSpec) -> bool {
    let mut builtin = spec.tools.builtin.iter();
    builtin.any(|name| !FILELESS.contains(&name.as_str()))
}

/// True if the contract itself, and no layer, names a host that is not this machine.
fn names_host(spec: &ContractSpec) -> bool {
    let is_own = |path: &str| {
        let below = format!("{path}.");
        let mut origins = spec.origins.keys();
        !origins.any(|known| known == path || known.starts_with(&below))
    };
    let mut providers = spec.providers.iter();
    let mut servers = spec.tools.servers.iter();
    let mut hosts = spec.tools.http_get.iter().flat_map(|terms| &terms.hosts);
    providers.any(|(name, provider)| {
        let place = format!("providers.{name}");
        is_own(&format!("{place}.base_url")) && is_own(&place) && is_elsewhere(provider)
    }) || servers.any(|(name, server)| {
        let place = server.place(name);
        let (key, address) = match &server.transport {
            McpTransport::Stdio { .. } => return false,
            McpTransport::Remote { url, .. } => ("url", Some(&**url)),
            McpTransport::Rest { tool, .. } => ("url", Some(&*tool.url)),
            McpTransport::Openapi { terms, .. } => ("base_url", terms.base_url.as_deref()),
        };
        let is_here = address.is_some_and(is_this_machine);
        !is_here && is_own(&format!("{place}.{key}")) && is_own(&place)
    }) || hosts.any(|host| !is_this_machine(&format!("http://{}", host.as_str())))
}

/// True if requests go to an address that is neither on this machine nor the provider's own, or with headers that may name another account.
fn is_elsewhere(provider: &ProviderSpec) -> bool {
    let kind = provider.provider_type;
    if matches!(kind, ProviderType::Local | ProviderType::Scripted) {
        return false;
    }
    let address = provider.base_url.as_deref().or(kind.usual_base_url());
    let is_usual = address.is_some_and(|address| kind.key_env_at(address).is_some());
    let is_here = address.is_some_and(is_this_machine);
    provider.base_url_env.is_some() || !(is_here || is_usual && provider.headers.is_empty())
}

fn is_this_machine(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// True if a contract starts commands, or names variables whose values it hands on.
fn starts_or_hands_on(spec: &ContractSpec) -> bool {
    let hands_on = |values: &BTreeMap<String, String>| {
        let mut values = values.values();
        values.any(|text| placeholders(text).next().is_some())
    };
    let mut servers = spec.tools.servers.values();
    let mut providers = spec.providers.values();
    spec.tools.has_shell()
        || servers.any(|server| match &server.transport {
            McpTransport::Stdio { .. } => true,
            McpTransport::Openapi { headers, .. } | McpTransport::Rest { headers, .. } => {
                hands_on(headers)
            }
            McpTransport::Remote { headers, oauth, .. } => {
                let oauth = oauth.as_ref();
                hands_on(headers) || oauth.is_some_and(|oauth| oauth.variables().next().is_some())
            }
        })
        || providers.any(|provider| provider.api_key_env.is_some() || hands_on(&provider.headers))
}
