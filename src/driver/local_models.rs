use std::path::{Path, PathBuf};

use super::Environment;
use crate::contract::{ContractSpec, ExecutionContract, ProviderType};
use crate::inference::{
    Backend, ModelHash, ModelHeader, ModelStore, ModelStoreError, UnavailableBackend,
};

/// What bring-up found out about the file of an embedded model.
#[derive(Clone, Debug)]
pub(super) struct LocalModel {
    /// Tokens that the file says the model was made for.
    pub(super) context_window: Option<u64>,
    /// The file by its hash, with what the text depends on beside it.
    pub(super) fingerprint: Option<String>,
    path: PathBuf,
    /// Why the model cannot be used, where it cannot.
    fault: Option<String>,
}

impl LocalModel {
    /// Reads a file's header and hash. A file that is no model is no error here: the run says so.
    pub(super) async fn inspect(path: PathBuf, environment: &Environment) -> Self {
        let cache = environment.models().map(|models| models.join("hashes"));
        let read = path.clone();
        let read = tokio::task::spawn_blocking(move || {
            let header = ModelHeader::read(&read).map_err(|fault| fault.to_string())?;
            let hash = ModelHash::of(&read, cache.as_deref());
            Ok((
                header,
                hash.map_err(|fault| format!("it cannot be read: {fault}"))?,
            ))
        });
        let found = read.await.unwrap_or_else(|fault| Err(fault.to_string()));
        match found {
            Ok((header, hash)) => Self {
                context_window: header.context_length,
                fingerprint: Some(format!("gguf:{}; {}", hash.0, engine())),
                path,
                fault: None,
            },
            Err(fault) => Self {
                context_window: None,
                fingerprint: None,
                fault: Some(format!("{}: {fault}", path.display())),
                path,
            },
        }
    }

    /// A model that is not there, and why.
    pub(super) fn missing(fault: String) -> Self {
        Self {
            context_window: None,
            fingerprint: None,
            path: PathBuf::new(),
            fault: Some(fault),
        }
    }

    /// What answers requests with this model.
    pub(super) fn backend(
        &self,
        provider: &str,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
    ) -> Backend {
        match &self.fault {
            Some(reason) => Backend::Unavailable(UnavailableBackend {
                reason: reason.clone(),
            }),
            None => embedded(&self.path, provider, spec, contract, environment),
        }
    }
}

/// What answers requests to the embedded models of a file's targets, which are all one model: that of `path`.
pub async fn embedded_model(
    path: PathBuf,
    spec: &ContractSpec,
    contract: &ExecutionContract,
    environment: &Environment,
) -> Backend {
    let provider = spec
        .targets
        .first()
        .map_or("", |target| target.provider.as_str());
    let model = LocalModel::inspect(path, environment).await;
    model.backend(provider, spec, contract, environment)
}

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
    let missing = || {
        if !cfg!(feature = "local") {
            return format!(
                "{NO_ENGINE}; `monolith model pull {model}` then fetches the model, where that one is known"
            );
        }
        format!(
            "no model `{model}` is stored here: `monolith model pull {model}` fetches one that is known, `monolith model add` \
             stores a file, `file:` names one"
        )
    };
    let models = environment.models().ok_or_else(missing)?;
    match ModelStore::new(models.to_owned()).find(model) {
        Ok(path) => Ok(path),
        Err(ModelStoreError::Unknown(_)) => Err(missing()),
        Err(fault) => Err(fault.to_string()),
    }
}

/// What builds without the engine say.
const NO_ENGINE: &str =
    "this build has no embedded model; `cargo build --release --features local` makes one that has";

/// Whether a provider is the embedded model.
pub(super) const fn is_local(provider_type: ProviderType) -> bool {
    matches!(provider_type, ProviderType::Local)
}

#[cfg(feature = "local")]
fn engine() -> String {
    crate::inference::engine_identity()
}

#[cfg(not(feature = "local"))]
fn engine() -> String {
    "no engine".to_owned()
}

#[cfg(feature = "local")]
fn embedded(
    path: &Path,
    provider: &str,
    spec: &ContractSpec,
    contract: &ExecutionContract,
    environment: &Environment,
) -> Backend {
    use crate::inference::{LocalBackend, LocalOptions};
    let own = spec.targets.iter().zip(&contract.targets);
    let own = own.filter(|(target, _)| target.provider == provider);
    let window = own.map(|(_, terms)| terms.context_window).max();
    let number = |name: &str| {
        environment
            .get(name)
            .and_then(|text| text.parse::<u32>().ok())
    };
    Backend::Local(LocalBackend::new(LocalOptions {
        context_window: u32::try_from(window.unwrap_or(0)).unwrap_or(u32::MAX),
        logits_mask: contract.logits_mask.as_deref().map(Into::into),
        path: path.to_owned(),
        reuse: number("MONOLITH_LOCAL_REUSE") != Some(0),
        threads: number("MONOLITH_LOCAL_THREADS").unwrap_or(1).clamp(1, 256),
    }))
}

#[cfg(not(feature = "local"))]
fn embedded(
    _: &Path,
    provider: &str,
    _: &ContractSpec,
    _: &ExecutionContract,
    _: &Environment,
) -> Backend {
    Backend::Unavailable(UnavailableBackend {
        reason: format!("provider `{provider}`: {NO_ENGINE}"),
    })
}
