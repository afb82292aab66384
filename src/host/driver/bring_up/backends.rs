//! The backends that answer requests: one for each provider that a target names, with keys if wanted.

use std::collections::BTreeMap;
use std::sync::Arc;

use monolith_core::adapter::Adapter;
use monolith_core::contract::{
    ContractSpec, ExecutionContract, ProviderSpec, check_address, recorded_url,
};
use monolith_core::kernel::ProviderAddress;
use monolith_core::message::Scrubber;

use super::sources::{ScriptFile, Sources, used_providers};
use crate::driver::{DriverError, Environment};
use crate::inference::{Backend, HttpBackend, HttpTarget, ScriptedBackend, Secret, shown_proxy};
use url::Url;

/// One backend for each target, shared where targets share a provider, and by the runs of a process that reach the same server in the same
/// way. Keys are looked up only where they are wanted: a run
/// whose tools did not come up needs none to report that. `answered` is how many requests each target has answered before:
/// a script is played on from there.
pub(super) fn backends(
    spec: &ContractSpec,
    contract: &ExecutionContract,
    sources: Sources,
    keys: Keys<'_>,
    answered: &[usize],
) -> Result<Vec<Arc<Backend>>, DriverError> {
    let Sources {
        models,
        mut scripts,
    } = sources;
    let mut by_provider: BTreeMap<&str, Arc<Backend>> = BTreeMap::new();
    for (name, provider) in used_providers(spec) {
        let backend = if let Some(ScriptFile { script, .. }) = scripts.remove(name) {
            let targets = spec.targets.iter().zip(answered);
            let played = targets.filter(|(target, _)| target.provider == name);
            let played = played.fold(0, |sum: usize, (_, count)| sum.saturating_add(*count));
            Backend::Scripted(ScriptedBackend::new(script, played))
        } else if let Some(model) = models.get(name) {
            model.backend(name, contract, keys.environment)
        } else {
            let target = http_target(name, provider, contract, keys)?;
            let shared = keys.environment.shared();
            let http = shared.backend(target, |target| {
                let http = HttpBackend::new(target).map_err(|fault| DriverError::Backend {
                    fault,
                    provider: name.to_owned(),
                })?;
                Ok::<_, DriverError>(Backend::Http(http))
            })?;
            by_provider.insert(name, http);
            continue;
        };
        by_provider.insert(name, Arc::new(backend));
    }
    Ok(spec
        .targets
        .iter()
        .filter_map(|target| by_provider.get(target.provider.as_str()).cloned())
        .collect())
}

/// The source of keys, and their destinations.
#[derive(Clone, Copy)]
pub(super) struct Keys<'k> {
    pub(super) addresses: &'k Addresses,
    pub(super) environment: &'k Environment,
    /// True if keys are wanted.
    pub(super) wanted: bool,
}

fn http_target(
    name: &str,
    provider: &ProviderSpec,
    contract: &ExecutionContract,
    keys: Keys<'_>,
) -> Result<HttpTarget, DriverError> {
    let Keys {
        addresses,
        environment,
        wanted,
    } = keys;
    let terms = contract.providers.get(name);
    let adapter = contract
        .targets
        .iter()
        .find(|target| target.provider == name)
        .and_then(|target| Adapter::by_version(&target.adapter_version).ok());
    // The contract's own address holds no value of a query.
    let stated = terms.and_then(|terms| terms.base_url.as_deref());
    let base_url = addresses.of(name).or(provider.base_url.as_deref());
    let base_url = base_url.or(stated).unwrap_or_default().to_owned();
    let mut headers: Vec<(String, Secret)> = Vec::new();
    let mut key = None;
    if wanted {
        for (header, value) in
            environment.expand_all(&provider.headers, &format!("providers.{name}.headers"))?
        {
            headers.push((header, Secret::new(value)));
        }
        // Judged on the address that is connected to.
        let usual = provider.provider_type.key_env_at(&base_url);
        let variable = provider.api_key_env.as_deref().or(usual);
        let place = format!("providers.{name}.api_key_env");
        key = variable.and_then(|variable| environment.get_at(variable, &place));
        if let (None, Some(named)) = (&key, &provider.api_key_env) {
            return Err(environment.missing(named, &place));
        }
    }
    // What the author states comes last, so it replaces the key under that name.
    if let (Some(found), Some(adapter)) = (&key, adapter) {
        let header = adapter.key_header();
        let value = Secret::new(format!("{}{found}", header.prefix));
        headers.insert(0, (header.name.to_owned(), value));
        key = None;
    }
    Ok(HttpTarget {
        base_url,
        headers,
        key: key.map(Secret::new),
        proxies: environment.proxies(),
    })
}

/// The address of each provider that is asked and has it in a variable, and the proxies that lead to providers.
pub(super) struct Addresses {
    /// The addresses in variables, by provider.
    moved: BTreeMap<String, String>,
    /// The address and the shown proxy of each provider that has one.
    proxied: BTreeMap<String, (String, String)>,
}

impl Addresses {
    /// Looks the variables up.
    ///
    /// # Errors
    /// [`DriverError::MissingVariable`] and [`DriverError::Address`], which show no value.
    pub(super) fn resolve(
        spec: &ContractSpec,
        environment: &Environment,
    ) -> Result<Self, DriverError> {
        let mut moved = BTreeMap::new();
        let mut proxied = BTreeMap::new();
        let rules = environment.proxies();
        // A proxy that cannot be used is reported by the backend.
        let mut take_proxy = |provider: &str, address: &str| {
            let url = Url::parse(address).ok()?;
            let proxy = rules.for_url(&url).ok()??;
            let proxied_at = (address.to_owned(), shown_proxy(&proxy));
            proxied.insert(provider.to_owned(), proxied_at)
        };
        for (provider, given) in used_providers(spec) {
            let Some(name) = &given.base_url_env else {
                let usual = given.provider_type.usual_base_url();
                take_proxy(
                    provider,
                    given.base_url.as_deref().or(usual).unwrap_or_default(),
                );
                continue;
            };
            let Some(address) = address_of(provider, given, environment) else {
                return Err(environment.missing(name, &place_of(provider)));
            };
            let place = environment.named(&place_of(provider));
            check_address(&address).map_err(|rule| DriverError::Address {
                name: name.clone(),
                place,
                rule,
            })?;
            take_proxy(provider, &address);
            moved.insert(provider.to_owned(), address);
        }
        Ok(Self { moved, proxied })
    }

    /// The address of that provider, if it is in a variable.
    pub(super) fn of(&self, provider: &str) -> Option<&str> {
        self.moved.get(provider).map(String::as_str)
    }

    /// Returns the addresses as recorded, with their proxies: of a query only the names.
    pub(super) fn recorded(&self, scrub: &dyn Scrubber) -> Vec<ProviderAddress> {
        let moved = self.moved.iter();
        let moved = moved.map(|(provider, address)| (provider, (address, None)));
        let proxied = self.proxied.iter();
        let proxied =
            proxied.map(|(provider, (address, proxy))| (provider, (address, Some(proxy))));
        let all: BTreeMap<_, _> = moved.chain(proxied).collect();
        let one =
            |(provider, (address, proxy)): (&String, (&String, Option<&String>))| ProviderAddress {
                address: scrub.owned_text(recorded_url(address)),
                provider: provider.clone(),
                proxy: proxy.map(|proxy| scrub.owned_text(proxy.clone())),
            };
        all.into_iter().map(one).collect()
    }
}

/// Returns the current value of a provider's variable; none if it names none, or one that is not set.
pub(super) fn address_of(
    provider: &str,
    given: &ProviderSpec,
    environment: &Environment,
) -> Option<String> {
    environment.get_at(given.base_url_env.as_deref()?, &place_of(provider))
}

fn place_of(provider: &str) -> String {
    format!("providers.{provider}.base_url_env")
}
