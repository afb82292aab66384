//! Questions about a contract file that was read: profiles, the tokenizer. Decides nothing.

use super::form::Setting;
use super::keys::{ContractSpec, TargetSpec};
use crate::contract::{ModelProfile, ProviderType, Tokenizer};

impl ContractSpec {
    /// The profile of that id: the author's own, else the shipped one.
    #[must_use]
    pub fn profile(&self, id: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter().find(|profile| profile.id == id);
        own.or_else(|| ModelProfile::by_id(id))
    }

    /// The profile of a target: the one that is named, else the first that describes its model; none if there is no such
    /// profile, or no such provider.
    #[must_use]
    pub(in crate::contract) fn profile_for(&self, target: &TargetSpec) -> Option<&ModelProfile> {
        let named = target.model_profile_id.as_ref();
        if let Some(id) = named.or(self.model_profile_id.as_ref()) {
            return self.profile(id);
        }
        let provider = self.providers.get(&target.provider)?;
        self.profile_of(provider.provider_type, &target.model)
    }

    /// The tokenizer of the contract to be, as the contract will name it: the file's, else that of the first target's model at its
    /// provider, else its profile's; none also if the first setting is null. An unknown name stays as it is written, and PRECHECK refuses it.
    #[must_use]
    pub fn tokenizer_id(&self) -> Option<String> {
        let first = self.targets.first();
        let of_model = || {
            let provider = self.providers.get(&first?.provider)?;
            let model = provider.models.get(&first?.model);
            let own = model.map(|model| &model.tokenizer);
            let own = own.filter(|own| !matches!(own, Setting::Unset));
            Some(own.unwrap_or(&provider.tokenizer))
        };
        let written = match (&self.tokenizer, of_model()) {
            (Setting::Value(written), _) | (Setting::Unset, Some(Setting::Value(written))) => {
                written.clone()
            }
            (Setting::Off, _) | (Setting::Unset, Some(Setting::Off)) => return None,
            (Setting::Unset, Some(Setting::Unset) | None) => {
                self.profile_for(first?)?.tokenizer.clone()?
            }
        };
        let known = Tokenizer::named(&written);
        Some(known.map_or(written, |known| known.id().to_owned()))
    }

    /// The first profile that describes a model, the author's own before the shipped ones.
    #[must_use]
    pub fn profile_of(&self, provider: ProviderType, model: &str) -> Option<&ModelProfile> {
        let own = self.model_profiles.iter();
        let mut own = own.filter(|profile| profile.describes(provider, model));
        own.next()
            .or_else(|| ModelProfile::describing(provider, model))
    }
}
