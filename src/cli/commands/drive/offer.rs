//! The offer to fetch a known model that a contract names and that is not stored. Asks; `model pull` fetches.

use crate::commands::model::PullArgs;
use crate::commands::model::{Pulled, pull};
use crate::context::app::App;
use crate::context::ask::answer;
use monolith_core::contract::{ContractSpec, ProviderType};
use monolith_host::inference::{KNOWN_MODELS, KnownModel, ModelStore};
use monolith_service::error::ServiceError;
use monolith_service::text::numbers::counted;

/// Before a run: a known model that a target names and that is not stored here is offered to the person at the terminal,
/// with its licence and size. Who declines gets the run all the same, which ends for the lack of it and names the command;
/// so it does if no person can be asked.
pub(crate) fn offer_models(app: &App, spec: &ContractSpec) -> Result<(), ServiceError> {
    if !cfg!(feature = "local") || !app.screen.is_watched() {
        return Ok(());
    }
    let store = ModelStore::new(app.models_folder()?);
    for known in lacking(spec, &store) {
        let KnownModel {
            bytes,
            licence,
            name,
            what,
            ..
        } = known;
        app.screen
            .note(&format!("the model `{name}` is not stored here"));
        app.screen.note(&format!(
            "{what}: licence {licence}; {}",
            counted(*bytes, "byte")
        ));
        let said = answer(app, "Accept that licence and fetch it now? [y/N] ")?;
        if !matches!(said.as_deref(), Some("y" | "Y" | "yes")) {
            continue;
        }
        let args = PullArgs {
            blake3: None,
            hub: None,
            model: (*name).to_owned(),
            name: None,
            yes: true,
        };
        let (Pulled::Before(model) | Pulled::Now(model)) = pull(app, &args)?;
        app.screen.note(&format!("stored: {}", model.name));
    }
    Ok(())
}

/// The known models that targets of embedded providers name and that are not there.
fn lacking(spec: &ContractSpec, store: &ModelStore) -> Vec<&'static KnownModel> {
    let named = |known: &&KnownModel| {
        spec.targets.iter().any(|target| {
            let provider = spec.providers.get(&target.provider);
            let by_name = provider.is_some_and(|provider| {
                provider.provider_type == ProviderType::Local && provider.file.is_none()
            });
            by_name && target.model == known.name
        })
    };
    let known = KNOWN_MODELS.iter().filter(named);
    known
        .filter(|known| store.find(known.name).is_err())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_model_that_a_target_needs_by_its_name_is_lacking() {
        let folder = tempfile::tempdir().unwrap();
        let store = ModelStore::new(folder.path().to_owned());
        let check = |provider: &str, model: &str, expect: &[&str]| {
            let file = format!(
                "task: Go.\ntargets: [{{provider: p, model: {model}}}]\nproviders: {{p: {provider}}}\n"
            );
            let spec = ContractSpec::parse("c.yaml", &file, &[]).unwrap();
            let names: Vec<&str> = lacking(&spec, &store)
                .iter()
                .map(|known| known.name)
                .collect();
            assert_eq!(names, expect, "{provider} {model}");
        };
        check("{type: local}", "smollm2-135m", &["smollm2-135m"]);
        check("{type: local}", "another", &[]);
        check("{type: local, file: m.gguf}", "smollm2-135m", &[]);
        check("{type: ollama}", "smollm2-135m", &[]);
    }
}
