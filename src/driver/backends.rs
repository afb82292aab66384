use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::local_models::{LocalModel, TrialEnd, file_of, is_local};
use super::{DriverError, Environment};
use crate::adapter::{Adapter, Script};
use crate::contract::{
    CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract, ProviderSpec,
    ProviderType, TargetCapability,
};
use crate::inference::{Backend, HttpBackend, HttpTarget, ScriptedBackend, Secret};
use crate::message::{Digest, TokenCounter};

/// What the files of scripted and local providers hold, by provider.
#[derive(Debug, Default)]
pub(super) struct Sources {
    models: BTreeMap<String, LocalModel>,
    scripts: BTreeMap<String, ScriptFile>,
}

/// The file of a scripted provider.
#[derive(Debug)]
struct ScriptFile {
    digest: Digest,
    path: PathBuf,
    script: Script,
}

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
                let asked = spec.targets.iter().find(|target| target.provider == *name);
                let asked = asked.map_or("", |target| target.model.as_str());
                let model = match file_of(folder, provider.file.as_deref(), asked, environment) {
                    Ok(path) => LocalModel::inspect(path, environment).await,
                    Err(fault) => LocalModel::missing(fault),
                };
                models.insert(name.to_owned(), model);
            }
            if provider.provider_type != ProviderType::Scripted {
                continue;
            }
            let path: PathBuf = folder.join(provider.file.as_deref().unwrap_or_default());
            let text = tokio::fs::read_to_string(&path).await.map_err(|fault| {
                DriverError::ScriptUnreadable {
                    path: path.clone(),
                    provider: name.to_owned(),
                    reason: fault.to_string(),
                }
            })?;
            let script = text.parse().map_err(|fault| DriverError::Script {
                fault,
                path: path.clone(),
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

    /// What is known of each target's model. A script is its own fingerprint.
    pub(super) fn capabilities(&self, spec: &ContractSpec) -> Vec<TargetCapability> {
        let one = |provider: &str| match (self.models.get(provider), self.scripts.get(provider)) {
            (Some(model), _) => TargetCapability {
                adapter_version: None,
                context_window: model.context_window,
                fingerprint: model.fingerprint.clone(),
                prompt_layout: model.prompt_layout,
                vocabulary: model.vocabulary,
            },
            (None, Some(file)) => TargetCapability {
                adapter_version: file.script.adapter.map(|a| a.version().to_owned()),
                context_window: None,
                fingerprint: Some(format!("scripted:{}", file.digest)),
                prompt_layout: None,
                vocabulary: None,
            },
            (None, None) => TargetCapability::default(),
        };
        spec.targets
            .iter()
            .map(|target| one(&target.provider))
            .collect()
    }

    /// Why the model of a local provider cannot be used, where it cannot, by provider. No model is loaded.
    pub(super) fn model_faults(
        &self,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
    ) -> BTreeMap<String, String> {
        let environment = &environment.over(spec);
        let faults = self.models.iter().filter_map(|(name, model)| {
            let fault = model.fault_under(name, spec, contract, environment)?;
            Some((name.clone(), fault))
        });
        faults.collect()
    }

    /// What reads the vocabulary of the first target that is an embedded model; none where there is no such target, or no contract
    /// can be made that says how it is run. What tries the file first is ended by `end`.
    pub(super) fn vocabulary(
        &self,
        spec: &ContractSpec,
        environment: &Environment,
        end: TrialEnd,
    ) -> Option<impl FnOnce() -> Result<Arc<dyn TokenCounter>, String> + Send + 'static> {
        let found = |name: &str| self.models.get(name).cloned();
        let mut local = spec.targets.iter().filter_map(|target| {
            let model = found(&target.provider)?;
            Some((target.provider.clone(), model))
        });
        let (provider, model) = local.next()?;
        let manifest = CapabilityManifest {
            targets: self.capabilities(spec),
            ..CapabilityManifest::default()
        };
        let contract = ContractFactory.make(spec, &manifest, None).ok()?;
        let (spec, environment) = (spec.clone(), environment.clone());
        Some(move || {
            let read = model.vocabulary(&provider, &spec, &contract, &environment, &end);
            read.map_err(|fault| format!("provider `{provider}`: {fault}"))
        })
    }

    /// The script, with its provider, whose fingerprint stands at that place of a contract.
    pub(super) fn script_at(
        &self,
        spec: &ContractSpec,
        pointer: &str,
    ) -> Option<(String, PathBuf)> {
        let rest = pointer.strip_prefix("/targets/")?;
        let target = rest.strip_suffix("/model_fingerprint")?.parse().ok();
        let target = target.and_then(|index: usize| spec.targets.get(index))?;
        let file = self.scripts.get(&target.provider)?;
        Some((target.provider.clone(), file.path.clone()))
    }
}

/// One backend for each target, shared where targets share a provider. Keys are looked up only where `with_keys`: a run
/// whose tools did not come up needs none to say so. `answered` says how many requests each target has answered before:
/// a script is played on from there.
pub(super) fn backends(
    spec: &ContractSpec,
    contract: &ExecutionContract,
    sources: Sources,
    environment: &Environment,
    with_keys: bool,
    answered: &[usize],
) -> Result<Vec<Arc<Backend>>, DriverError> {
    let Sources {
        models,
        mut scripts,
    } = sources;
    let environment = &environment.over(spec);
    let mut by_provider: BTreeMap<&str, Arc<Backend>> = BTreeMap::new();
    for (name, provider) in used_providers(spec) {
        let backend = if let Some(ScriptFile { script, .. }) = scripts.remove(name) {
            let targets = spec.targets.iter().zip(answered);
            let played = targets.filter(|(target, _)| target.provider == name);
            let played = played.fold(0, |sum: usize, (_, count)| sum.saturating_add(*count));
            Backend::Scripted(ScriptedBackend::new(script, played))
        } else if let Some(model) = models.get(name) {
            model.backend(name, spec, contract, environment)
        } else {
            let target = http_target(name, provider, contract, environment, with_keys)?;
            let http = HttpBackend::new(&target).map_err(|fault| DriverError::Backend {
                fault,
                provider: name.to_owned(),
            })?;
            Backend::Http(http)
        };
        by_provider.insert(name, Arc::new(backend));
    }
    Ok(spec
        .targets
        .iter()
        .filter_map(|target| by_provider.get(target.provider.as_str()).cloned())
        .collect())
}

fn http_target(
    name: &str,
    provider: &ProviderSpec,
    contract: &ExecutionContract,
    environment: &Environment,
    with_keys: bool,
) -> Result<HttpTarget, DriverError> {
    let terms = contract.providers.get(name);
    let adapter = contract
        .targets
        .iter()
        .find(|target| target.provider == name)
        .and_then(|target| Adapter::by_version(&target.adapter_version).ok());
    let mut headers: Vec<(String, Secret)> = adapter
        .map_or(&[][..], Adapter::headers)
        .iter()
        .map(|(header, value)| ((*header).to_owned(), Secret::new(*value)))
        .collect();
    let mut key = None;
    if with_keys {
        for (header, value) in
            environment.expand_all(&provider.headers, &format!("providers.{name}.headers"))?
        {
            headers.push((header, Secret::new(value)));
        }
        let variable = terms.and_then(|terms| terms.api_key_env.as_deref());
        let place = format!("providers.{name}.api_key_env");
        key = variable.and_then(|variable| environment.get_at(variable, &place));
        if let (None, Some(named)) = (&key, &provider.api_key_env) {
            return Err(DriverError::MissingVariable {
                name: named.clone(),
                place: environment.told(&place),
            });
        }
    }
    // What the author states comes last, so it replaces the protocol's own header of that name.
    if let (Some(found), Some(adapter)) = (&key, adapter) {
        let header = adapter.key_header();
        let value = Secret::new(format!("{}{found}", header.prefix));
        headers.insert(0, (header.name.to_owned(), value));
        key = None;
    }
    Ok(HttpTarget {
        // The contract's own address holds no value of a query.
        base_url: provider
            .base_url
            .clone()
            .or_else(|| terms.and_then(|terms| terms.base_url.clone()))
            .unwrap_or_default(),
        headers,
        key: key.map(Secret::new),
    })
}

/// The providers that targets name, each once, in the order of their names.
fn used_providers(spec: &ContractSpec) -> impl Iterator<Item = (&str, &ProviderSpec)> {
    spec.providers.iter().filter_map(|(name, provider)| {
        spec.targets
            .iter()
            .any(|target| target.provider == *name)
            .then_some((name.as_str(), provider))
    })
}
