//! The model profile that fits a stored file. Reads its header; loads nothing.

use monolith_core::contract::{ModelProfile, ProviderType};
use monolith_host::inference::{KNOWN_MODELS, ModelHeader, ModelStore, StoredModel};

/// The profile that fits a stored model where its name gives it another one; contracts have to name it then.
pub fn other_profile(store: &ModelStore, model: &StoredModel) -> Option<&'static str> {
    let fitting = fitting_profile(store, model)?;
    let by_name = ModelProfile::describing(ProviderType::Local, &model.name);
    (by_name != Some(fitting)).then_some(fitting.id.as_str())
}

/// The profile that fits a stored model whatever its name here: by its hash, where it is a known one, else by what its file
/// calls itself. `None` if neither names a family that the engine can lay prompts out for.
fn fitting_profile(store: &ModelStore, model: &StoredModel) -> Option<&'static ModelProfile> {
    let hash = model.blake3.to_string();
    let known = KNOWN_MODELS.iter().find(|known| known.blake3 == hash);
    if let Some(known) = known {
        return of_name(known.name);
    }
    let header = ModelHeader::read(&store.find(&model.name).ok()?).ok()?;
    of_name(&header.name?)
}

/// The family of a model that is called that, in words or as names of files are written.
fn of_name(name: &str) -> Option<&'static ModelProfile> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let profile = ModelProfile::describing(ProviderType::Local, &words.join("-"))?;
    (profile.template.as_deref() == Some("chatml")).then_some(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_told_by_what_a_file_calls_itself() {
        let check = |name: &str, expect: Option<&str>| {
            let found = of_name(name).map(|profile| profile.id.as_str());
            assert_eq!(found, expect, "{name}");
        };
        check("SmolLM2 135M Instruct", Some("smollm2-135m"));
        check("Qwen2.5 7B Instruct", Some("qwen"));
        check("Hermes 3 Llama 3.1 8B", Some("hermes-3"));
        // The engine lays no prompt out for these.
        check("Llama 3.1 8B", None);
        check("Somebody's Model", None);
    }
}
