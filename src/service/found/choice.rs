//! Each way in which a contract can be answered on this machine, in one order. Does not choose.

use crate::found::servers::{Calling, Server};
use monolith_core::contract::{ProviderType, recorded_url};
use monolith_host::driver::Environment;
use monolith_host::inference::StoredModel;

/// One way to have a contract answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The address, for servers; `None` means the type's default.
    pub address: Option<String>,
    /// Way in which the model calls tools.
    pub calling: Calling,
    /// The variable that holds its key, where the caller names one.
    pub key_env: Option<String>,
    /// Name of the model.
    pub model: String,
    /// The profile that fits, where the model's name does not tell it.
    pub profile: Option<&'static str>,
    /// Type of the provider.
    pub provider: ProviderType,
    /// Its name on the command line and in the contract.
    pub word: &'static str,
    /// The text that people see.
    pub what: String,
    /// The model's window, where it is known.
    pub window: Option<u64>,
}

/// The provider name of a stored model.
pub(super) const EMBEDDED: &str = "embedded";

/// The hosted types with a model that each of them has. The catalogue of models knows each of them, and no last day of it.
pub(super) const HOSTED: [(ProviderType, &str, &str); 4] = [
    (ProviderType::Anthropic, "anthropic", "claude-sonnet-5-5"),
    (ProviderType::Openai, "openai", "gpt-6-luna"),
    (ProviderType::Google, "google", "gemini-3.8-flash"),
    (ProviderType::Openrouter, "openrouter", "openai/gpt-6-luna"),
];

/// Every way that this machine has, the most local one first.
pub fn choices(
    servers: &[Server],
    stored: &[StoredModel],
    environment: &Environment,
) -> Vec<Choice> {
    let mut choices = Vec::new();
    for server in servers {
        let (name, address) = (server.kind.name(), &server.address);
        for model in &server.models {
            choices.push(Choice {
                address: Some(server.kind.base_url(address)),
                calling: model.calling,
                key_env: None,
                model: model.name.clone(),
                profile: None,
                provider: server.kind.provider(),
                word: server.kind.word(),
                what: format!("{name} at {}: {}", recorded_url(address), model.name),
                window: model.window,
            });
        }
    }
    if cfg!(feature = "local") {
        choices.extend(stored.iter().map(|model| Choice {
            address: None,
            calling: Calling::Wire,
            key_env: None,
            model: model.name.clone(),
            profile: None,
            provider: ProviderType::Local,
            word: EMBEDDED,
            what: format!("the embedded model {}", model.name),
            window: None,
        }));
    }
    for (provider, word, model) in HOSTED {
        let variable = provider.usual_key_env().unwrap_or_default();
        if environment.get(variable).is_some() {
            choices.push(Choice {
                address: None,
                calling: Calling::Wire,
                key_env: None,
                model: model.to_owned(),
                profile: None,
                provider,
                word,
                what: format!("{word} with the key in {variable}: {model}"),
                window: None,
            });
        }
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::contract::{ModelProfile, known_retirement, known_window};

    #[test]
    fn every_hosted_model_that_init_offers_is_in_the_catalogue_and_does_not_retire() {
        for (provider, word, model) in HOSTED {
            assert!(
                known_window(provider, None, model).is_some(),
                "{word}: {model}"
            );
            assert_eq!(known_retirement(provider, None, model), None, "{model}");
            let profile = ModelProfile::describing(provider, model).map(|known| known.id.as_str());
            assert!(profile.is_some_and(|id| id != "unknown"), "{word}: {model}");
        }
        let old = known_retirement(ProviderType::Anthropic, None, "claude-sonnet-4-5");
        assert!(old.is_some(), "the catalogue has last days");
    }
}
