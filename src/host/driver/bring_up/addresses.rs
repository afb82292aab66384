//! Where providers are whose address is in a variable: resolved once, before a server is started.

use std::collections::BTreeMap;

use super::sources::used_providers;
use crate::driver::{DriverError, Environment};
use monolith_core::contract::{ContractSpec, ProviderSpec, check_address, recorded_url};
use monolith_core::kernel::ProviderAddress;
use monolith_core::message::Scrubber;

/// The address of each provider that is asked and has it in a variable.
pub(super) struct Addresses(BTreeMap<String, String>);

impl Addresses {
    /// Looks the variables up.
    ///
    /// # Errors
    /// [`DriverError::MissingVariable`] and [`DriverError::Address`], which show no value.
    pub(super) fn resolve(
        spec: &ContractSpec,
        environment: &Environment,
    ) -> Result<Self, DriverError> {
        let mut addresses = BTreeMap::new();
        for (provider, given) in used_providers(spec) {
            let Some(name) = &given.base_url_env else {
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
            addresses.insert(provider.to_owned(), address);
        }
        Ok(Self(addresses))
    }

    /// The address of that provider, if it is in a variable.
    pub(super) fn of(&self, provider: &str) -> Option<&str> {
        self.0.get(provider).map(String::as_str)
    }

    /// What is recorded of them: of a query the names alone.
    pub(super) fn recorded(&self, scrub: &dyn Scrubber) -> Vec<ProviderAddress> {
        let one = |(provider, address): (&String, &String)| ProviderAddress {
            address: scrub.owned_text(recorded_url(address)),
            provider: provider.clone(),
        };
        self.0.iter().map(one).collect()
    }
}

/// What a provider's variable holds now; none if it names none, or one that is not set.
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
