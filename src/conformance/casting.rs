//! The profile, provider and protocol that play the model of a case.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use monolith_core::adapter::{Adapter, RequestEncoder};
use monolith_core::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ModelProfile, ProviderType, TargetCapability,
};

/// The window of a target whose profile knows none.
const WINDOW: u64 = 32_768;
/// The name of the one provider in cases.
const PROVIDER: &str = "demo";

/// The player of the model in a case: a profile, behind a provider, in a wire protocol.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Casting {
    pub(super) adapter: Adapter,
    pub(super) profile: &'static ModelProfile,
    model: String,
    provider: ProviderType,
}

impl Casting {
    /// Every profile in every protocol that it can be asked in, by profile and protocol. A profile or an adapter that this
    /// build gains is among them by itself.
    pub(super) fn all() -> Vec<Self> {
        let mut castings = Vec::new();
        let mut seen = BTreeSet::new();
        for profile in ModelProfile::all() {
            for matched in &profile.matches {
                let model = matched.models.first().map_or("", String::as_str);
                for provider in &matched.providers {
                    for adapter in Adapter::all() {
                        let casting = Self {
                            adapter,
                            profile,
                            model: model.replace('*', "") + "m",
                            provider: *provider,
                        };
                        if casting.can_be_asked()
                            && seen.insert((profile.id.as_str(), adapter.proto()))
                        {
                            castings.push(casting);
                        }
                    }
                }
            }
        }
        castings
    }

    /// `<profile>:<protocol>`.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.profile.id, self.adapter.proto())
    }

    /// Lays the model over the keys of a contract file.
    pub(super) fn lay_over(&self, keys: &mut Value) {
        let Some(keys) = keys.as_object_mut() else {
            return;
        };
        let mut target = json!({
            "provider": PROVIDER,
            "model": self.model,
            "model_profile_id": self.profile.id,
        });
        if let (None, Some(target)) = (self.profile.context_window, target.as_object_mut()) {
            target.insert("context_window".to_owned(), json!(WINDOW));
        }
        let provider = match self.provider {
            ProviderType::Scripted => json!({"type": "scripted", "file": "case.jsonl"}),
            other => json!({"type": other.as_str()}),
        };
        if ModelProfile::by_id(&self.profile.id).is_none() {
            keys.insert("model_profiles".to_owned(), json!([self.profile]));
        }
        keys.insert("targets".to_owned(), json!([target]));
        keys.insert("providers".to_owned(), json!({PROVIDER: provider}));
    }

    /// Returns the bring-up result for the target: a script itself states its protocol.
    pub(super) fn capability(&self) -> TargetCapability {
        let scripted = self.provider == ProviderType::Scripted;
        TargetCapability {
            adapter_version: scripted.then(|| self.adapter.version().to_owned()),
            ..TargetCapability::default()
        }
    }

    /// True if this target gives a contract that speaks this protocol, and its requests can be written.
    fn can_be_asked(&self) -> bool {
        let mut keys = json!({"task": "t", "tool_policy": "forbidden"});
        self.lay_over(&mut keys);
        let Ok(spec) = ContractSpec::parse("casting.json", &keys.to_string(), &[]) else {
            return false;
        };
        let manifest = CapabilityManifest {
            targets: vec![self.capability()],
            ..CapabilityManifest::default()
        };
        ContractFactory
            .make(&spec, &manifest, None)
            .is_ok_and(|contract| {
                Adapter::of_target(&contract, 0) == Ok(self.adapter)
                    && RequestEncoder::new(&contract, 0).is_ok()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_cast_and_so_is_every_protocol_that_is_asked() {
        let castings = Casting::all();
        for profile in ModelProfile::all() {
            let cast = castings.iter().any(|casting| casting.profile == profile);
            assert!(cast, "{}", profile.id);
        }
        let asked: BTreeSet<&str> = castings.iter().map(|c| c.adapter.proto()).collect();
        for provider in ["openai-chat", "anthropic-messages", "gemini"] {
            assert!(asked.contains(provider), "{asked:?}");
        }
    }
}
