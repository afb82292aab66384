//! The files behind providers: scripts and embedded models.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::adapter::Script;
use monolith_core::contract::{ContractSpec, ProviderSpec, ProviderType, TargetCapability, Terms};
use monolith_core::message::{Digest, TokenCounter};
use tokio_util::sync::CancellationToken;

use super::engine::{NO_ENGINE, TrialEnd};
use super::local_models::{LocalModel, is_local, window_of};
use crate::driver::{DriverError, Environment};
use crate::inference::{KNOWN_MODELS, ModelStore, ModelStoreError, StoredModel};

/// The contents of the files of scripted and local providers, by provider.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) models: BTreeMap<String, LocalModel>,
    pub(super) scripts: BTreeMap<String, ScriptFile>,
}

/// The file of a scripted provider.
#[derive(Debug)]
pub(super) struct ScriptFile {
    digest: Digest,
    /// `None` for the built-in script.
    path: Option<PathBuf>,
    pub(super) script: Script,
}

/// The one response of the built-in script, which `test-llm` plays without a file (001 §6).
const BUILT_IN_RESPONSE: &str = r#"{"response": {"model": "test-llm", "choices": [{"index": 0, "message": {"role": "assistant", "content": "This is the built-in answer of test-llm."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}}}
"#;
/// The number of requests that the built-in script answers, those of earlier runs of a conversation included.
const BUILT_IN_RESPONSES: usize = 1000;

impl Sources {
    /// Reads the file of every scripted and local provider that a target names. Paths are taken from the contract's folder.
    pub(super) async fn read(
        spec: &ContractSpec,
        folder: &Path,
        environment: &Environment,
        cancel: &CancellationToken,
    ) -> Result<Self, DriverError> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(DriverError::Cancelled),
            read = Self::read_all(spec, folder, environment) => read,
        }
    }

    async fn read_all(
        spec: &ContractSpec,
        folder: &Path,
        environment: &Environment,
    ) -> Result<Self, DriverError> {
        let mut models = BTreeMap::new();
        let mut scripts = BTreeMap::new();
        for (name, provider) in used_providers(spec) {
            if is_local(provider.provider_type) {
                let model_name = spec.targets.iter().find(|target| target.provider == *name);
                let model_name = model_name.map_or("", |target| target.model.as_str());
                let model = match file_of(folder, provider.file.as_deref(), model_name, environment)
                {
                    Ok(path) => LocalModel::inspect(path, environment).await,
                    Err(fault) => LocalModel::missing(fault),
                };
                models.insert(name.to_owned(), model);
            }
            if provider.provider_type != ProviderType::Scripted {
                continue;
            }
            let path = provider.file.as_deref().map(|file| folder.join(file));
            let text = match &path {
                None => BUILT_IN_RESPONSE.repeat(BUILT_IN_RESPONSES),
                Some(path) => tokio::fs::read_to_string(path).await.map_err(|fault| {
                    DriverError::ScriptUnreadable {
                        path: path.clone(),
                        provider: name.to_owned(),
                        reason: fault.to_string(),
                    }
                })?,
            };
            let script = text.parse().map_err(|fault| DriverError::Script {
                fault,
                path: path.clone().unwrap_or_default(),
                provider: name.to_owned(),
            })?;
            let digest = Digest::of(text.as_bytes());
            let file = ScriptFile {
                digest,
                path,
                script,
            };
            scripts.insert(name.to_owned(), file);
        }
        Ok(Self { models, scripts })
    }

    /// Every file, by its provider.
    pub(super) fn files(&self) -> Vec<(&str, &Path)> {
        let scripts = self.scripts.iter();
        let scripts =
            scripts.filter_map(|(name, file)| Some((name.as_str(), file.path.as_deref()?)));
        let models = self.models.iter();
        let models = models.filter_map(|(name, model)| Some((name.as_str(), model.path()?)));
        scripts.chain(models).collect()
    }

    /// Returns the known facts about each target's model. A script is its own fingerprint.
    pub(super) fn capabilities(&self, spec: &ContractSpec) -> Vec<TargetCapability> {
        let one = |provider: &str| match (self.models.get(provider), self.scripts.get(provider)) {
            (Some(model), _) => TargetCapability {
                context_window: model.context_window,
                fingerprint: model.fingerprint.clone(),
                prompt_layout: model.prompt_layout,
                vocabulary: model.vocabulary,
                ..TargetCapability::default()
            },
            (None, Some(file)) => TargetCapability {
                adapter_version: file.script.adapter.map(|a| a.version().to_owned()),
                fingerprint: Some(format!("scripted:{}", file.digest)),
                ..TargetCapability::default()
            },
            (None, None) => TargetCapability::default(),
        };
        spec.targets
            .iter()
            .map(|target| one(&target.provider))
            .collect()
    }

    /// Returns the reason why the model of a local provider cannot be used, by provider. Loads no model.
    pub(super) fn model_faults(
        &self,
        terms: &Terms,
        environment: &Environment,
    ) -> BTreeMap<String, String> {
        let faults = self.models.iter().filter_map(|(name, model)| {
            let fault = model.fault_under(name, terms, environment)?;
            Some((name.clone(), fault))
        });
        faults.collect()
    }

    /// Returns a reader of the vocabulary of the first target that is an embedded model, run under these terms; none if there
    /// is no such target. `end` stops the trial of the file that comes first.
    pub(super) fn vocabulary(
        &self,
        terms: &Terms,
        environment: &Environment,
        end: TrialEnd,
    ) -> Option<impl FnOnce() -> Result<Arc<dyn TokenCounter>, String> + Send + 'static> {
        let mut local = terms.targets.iter().filter_map(|target| {
            let model = self.models.get(&target.provider)?;
            Some((target.provider.clone(), model.clone()))
        });
        let (provider, model) = local.next()?;
        let (window, environment) = (window_of(&provider, terms), environment.clone());
        Some(move || {
            let read = model.vocabulary(window, &environment, &end);
            read.map_err(|fault| format!("provider `{provider}`: {fault}"))
        })
    }

    /// The script, with its provider, whose fingerprint is at that place of a contract.
    pub(super) fn script_at(
        &self,
        spec: &ContractSpec,
        pointer: &str,
    ) -> Option<(String, PathBuf)> {
        let rest = pointer.strip_prefix("/targets/")?;
        let target = rest.strip_suffix("/model_fingerprint")?.parse().ok();
        let target = target.and_then(|index: usize| spec.targets.get(index))?;
        let file = self.scripts.get(&target.provider)?;
        Some((target.provider.clone(), file.path.clone()?))
    }
}

/// The providers that targets name, each once, in the order of their names.
pub(super) fn used_providers(spec: &ContractSpec) -> impl Iterator<Item = (&str, &ProviderSpec)> {
    spec.providers.iter().filter_map(|(name, provider)| {
        spec.targets
            .iter()
            .any(|target| target.provider == *name)
            .then_some((name.as_str(), provider))
    })
}

/// Maximum number of stored models named when another is requested.
const MOST_NAMED: usize = 8;

/// The file of a local provider: its own, else the stored one of the model's name.
pub(super) fn file_of(
    folder: &Path,
    file: Option<&str>,
    model: &str,
    environment: &Environment,
) -> Result<PathBuf, String> {
    if let Some(file) = file {
        return Ok(folder.join(file));
    }
    let stored = |models: &Path| ModelStore::new(models.to_owned()).list();
    let stored = environment.models().map(stored).and_then(Result::ok);
    let missing = || not_stored(model, stored.as_deref().unwrap_or_default());
    let models = environment.models().ok_or_else(missing)?;
    match ModelStore::new(models.to_owned()).find(model) {
        Ok(path) => Ok(path),
        Err(ModelStoreError::Unknown(_)) => Err(missing()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// Returns advice about a model that is not stored. It suggests a pull only for known models, and lists the stored models with
/// the most similar names first.
fn not_stored(model: &str, stored: &[StoredModel]) -> String {
    let is_known = KNOWN_MODELS.iter().any(|known| known.name == model);
    if !cfg!(feature = "local") {
        return if is_known {
            format!("{NO_ENGINE}; `monolith model pull {model}` then fetches the model")
        } else {
            NO_ENGINE.to_owned()
        };
    }
    let mut ways = Vec::new();
    if is_known {
        ways.push(format!("`monolith model pull {model}` fetches it"));
    }
    if !stored.is_empty() {
        let mut names: Vec<&str> = stored.iter().map(|stored| stored.name.as_str()).collect();
        names.sort_by_cached_key(|name| strsim::osa_distance(model, name));
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        ways.push(format!("there are {}{more}", names.join(", ")));
    }
    ways.push("`monolith model add` stores a file, `file:` names one".to_owned());
    format!("no model `{model}` is stored here: {}", ways.join("; "))
}
