use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Environment;
use crate::contract::{CALL_OPEN, ContractSpec, ExecutionContract, PromptLayout, ProviderType};
use crate::inference::{
    Backend, KNOWN_MODELS, ModelFile, ModelHash, ModelStore, ModelStoreError, StoredModel,
    UnavailableBackend,
};
use crate::message::{Digest, TokenCounter};

/// The window that a run has where nobody states one and the file allows more: memory grows with it.
const USUAL_WINDOW: u64 = 32_768;

/// How many stored models are named where another is asked for.
const MOST_NAMED: usize = 8;

/// The longest template that is run.
const MAX_TEMPLATE_BYTES: usize = 1 << 18;

/// What bring-up found out about the file of an embedded model.
#[derive(Clone, Debug)]
pub(super) struct LocalModel {
    /// The window to use where nobody states one.
    pub(super) context_window: Option<u64>,
    /// Tokens that the file says the model was made for.
    made_for: Option<u64>,
    /// Tokens of its vocabulary.
    pub(super) vocabulary: Option<u64>,
    /// The file by its hash, with what the text depends on beside it.
    pub(super) fingerprint: Option<String>,
    /// The file, open since it was looked at, and its hash: what is run is what was hashed.
    file: Option<(ModelFile, Digest)>,
    /// Who lays out its prompts, where the adapter does not.
    pub(super) prompt_layout: Option<PromptLayout>,
    /// The template of its file and the program that renders it, where it lays out prompts.
    template: Option<(String, PathBuf)>,
    /// Why the model cannot be used, where it cannot.
    fault: Option<String>,
}

impl LocalModel {
    /// Reads a file's header and hash. A file that is no model is no error here: the run says so.
    pub(super) async fn inspect(path: PathBuf, environment: &Environment) -> Self {
        let cache = environment.models().map(|models| models.join("hashes"));
        let read = path.clone();
        let watch = environment.file_watch();
        // Hashing ends where nobody waits for it any more.
        let waiting = Waiting::default();
        let waited = Arc::clone(&waiting.0);
        let read = tokio::task::spawn_blocking(move || {
            let unreadable = |fault: std::io::Error| format!("it cannot be read: {fault}");
            let file = ModelFile::open(&read).map_err(unreadable)?;
            let header = file.header().map_err(|fault| fault.to_string())?;
            let hash = ModelHash::of(&file, cache.as_deref(), &mut |have| {
                if let Some(watch) = &watch {
                    watch(&read, have, file.size());
                }
                waited.load(Ordering::Relaxed)
            });
            if let Some(watch) = &watch {
                watch(&read, file.size(), file.size());
            }
            let hash = hash.map_err(unreadable)?;
            Ok((file, header, hash))
        });
        let found = read.await.unwrap_or_else(|fault| Err(fault.to_string()));
        drop(waiting);
        match found {
            Ok((file, header, hash)) => {
                let template = header.chat_template.filter(|text| knows_calls(text));
                let template = template.zip(environment.program().map(Path::to_owned));
                Self {
                    prompt_layout: template.as_ref().map(|_| PromptLayout::Template),
                    template,
                    context_window: header.context_length.map(|made| made.min(USUAL_WINDOW)),
                    made_for: header.context_length,
                    vocabulary: header.vocabulary,
                    fingerprint: Some(format!("gguf:{}; {}", hash.0, engine::identity())),
                    file: Some((file, hash.0)),
                    fault: None,
                }
            }
            Err(fault) => Self::missing(format!("{}: {fault}", path.display())),
        }
    }

    /// A model that is not there, and why. The window is not its own: the run shall end for the lack of the model, not for a
    /// window that nobody could know.
    pub(super) fn missing(fault: String) -> Self {
        Self {
            context_window: Some(USUAL_WINDOW),
            fingerprint: None,
            made_for: None,
            file: None,
            prompt_layout: None,
            template: None,
            fault: Some(fault),
            vocabulary: None,
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
        let made = self.engine_under(provider, spec, contract, environment);
        made.unwrap_or_else(|reason| {
            let reason = format!("provider `{provider}`: {reason}");
            Backend::Unavailable(UnavailableBackend { reason })
        })
    }

    /// Why nothing could answer with this model, as far as that is known without loading it.
    pub(super) fn fault_under(
        &self,
        provider: &str,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
    ) -> Option<String> {
        let made = self.engine_under(provider, spec, contract, environment);
        made.err()
    }

    fn engine_under(
        &self,
        provider: &str,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
    ) -> Result<Backend, String> {
        match (&self.fault, &self.file) {
            (Some(reason), _) => Err(reason.clone()),
            (None, Some(file)) => self.embedded(file, provider, spec, contract, environment),
            (None, None) => Err("its file was never opened".to_owned()),
        }
    }

    /// What counts with this model's own vocabulary, or why nothing does. Reads the file, after a trial that `end` ends.
    pub(super) fn vocabulary(
        &self,
        provider: &str,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
        end: &TrialEnd,
    ) -> Result<Arc<dyn TokenCounter>, String> {
        let (file, hash) = match (&self.fault, &self.file) {
            (Some(reason), _) => return Err(reason.clone()),
            (None, Some(file)) => file,
            (None, None) => return Err("its file was never opened".to_owned()),
        };
        let notes = environment.models().map(|models| models.join("tried"));
        let tried = Tried {
            file,
            hash: *hash,
            notes: notes.as_deref(),
            program: environment.program(),
            window: window_of(provider, spec, contract),
        };
        engine::vocabulary(&tried, end)
            .map_err(|fault| format!("{}: {fault}", file.path().display()))
    }

    /// The engine for this model, or why there is none.
    fn embedded(
        &self,
        (file, hash): &(ModelFile, Digest),
        provider: &str,
        spec: &ContractSpec,
        contract: &ExecutionContract,
        environment: &Environment,
    ) -> Result<Backend, String> {
        let window = window_of(provider, spec, contract);
        if let Some(made) = self.made_for.filter(|made| window > *made) {
            let path = file.path().display();
            return Err(format!(
                "{path}: it was made for {made} tokens, the contract's context_window is {window}"
            ));
        }
        let number = |name: &str, range: RangeInclusive<u32>| match environment.get(name) {
            None => Ok(None),
            Some(text) => {
                let number = text.parse().ok().filter(|number| range.contains(number));
                let (least, most) = (range.start(), range.end());
                let rule = || format!("{name} is a number from {least} to {most}, got {text:?}");
                number.map(Some).ok_or_else(rule)
            }
        };
        let reuse = number("MONOLITH_LOCAL_REUSE", 0..=1)?.unwrap_or(1);
        let threads = number("MONOLITH_LOCAL_THREADS", 1..=256)?.unwrap_or(1);
        engine::backend(
            contract,
            Settings {
                file: file.clone(),
                hash: *hash,
                program: environment.program().map(Path::to_owned),
                notes: environment.models().map(|models| models.join("tried")),
                reuse: reuse == 1,
                template: self.template.clone(),
                threads,
                window,
            },
        )
    }
}

/// Whether somebody waits; nobody once it is dropped.
struct Waiting(Arc<AtomicBool>);

impl Default for Waiting {
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The longest window that a contract gives the models of a provider.
fn window_of(provider: &str, spec: &ContractSpec, contract: &ExecutionContract) -> u64 {
    let own = spec.targets.iter().zip(&contract.targets);
    let own = own.filter(|(target, _)| target.provider == provider);
    let window = own.map(|(_, terms)| terms.context_window).max();
    window.unwrap_or_default()
}

/// What answers requests to the embedded models of a file's targets, which are all one model: that of `path`.
pub(crate) async fn embedded_model(
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

/// What to do about a model that is not stored: what can be pulled is told only of known models, and of what is stored first what
/// is called most alike.
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

/// What builds without the engine say.
const NO_ENGINE: &str =
    "this build has no embedded model; `cargo build --release --features local` makes one that has";

/// Whether a template lays out tools and calls in the form that calls are read in: JSON between `<tool_call>` tags.
fn knows_calls(template: &str) -> bool {
    let has = |word: &str| template.contains(word);
    template.len() <= MAX_TEMPLATE_BYTES
        && has("tools")
        && has("tool_calls")
        && has(CALL_OPEN)
        && !has("<function=")
}

/// Whether a provider is the embedded model.
pub(super) const fn is_local(provider_type: ProviderType) -> bool {
    matches!(provider_type, ProviderType::Local)
}

pub(super) use engine::TrialEnd;

/// How a model is run, beside what its contract says.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "there is no engine to be told of it")
)]
struct Settings {
    file: ModelFile,
    hash: Digest,
    /// Where it is noted which files could be loaded.
    notes: Option<PathBuf>,
    /// The monolith that can be started again to load the file for the first time.
    program: Option<PathBuf>,
    reuse: bool,
    /// The template that lays out prompts, and the program that renders it.
    template: Option<(String, PathBuf)>,
    threads: u32,
    window: u64,
}

/// A file whose vocabulary is to be read, and where it is tried first.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "there is no engine to be told of it")
)]
struct Tried<'a> {
    file: &'a ModelFile,
    hash: Digest,
    notes: Option<&'a Path>,
    program: Option<&'a Path>,
    window: u64,
}

#[cfg(feature = "local")]
mod engine {
    use std::sync::Arc;

    use super::{Settings, Tried};
    use crate::contract::ExecutionContract;
    use crate::inference::{
        Backend, LocalBackend, LocalOptions, LocalVocabulary, ModelTrial, TemplateRenderer,
    };
    use crate::message::TokenCounter;

    pub(in crate::driver) use crate::inference::TrialEnd;
    pub(super) use crate::inference::engine_identity as identity;

    pub(super) fn vocabulary(
        tried: &Tried<'_>,
        end: &TrialEnd,
    ) -> Result<Arc<dyn TokenCounter>, String> {
        let window = u32::try_from(tried.window).unwrap_or(u32::MAX);
        let trial = tried
            .program
            .map(|program| ModelTrial::of(program.to_owned(), tried.hash, window, tried.notes));
        let vocabulary = LocalVocabulary::read(tried.file, trial.as_ref(), window, end)?;
        Ok(Arc::new(vocabulary))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "a build without the engine refuses here"
    )]
    pub(super) fn backend(
        contract: &ExecutionContract,
        settings: Settings,
    ) -> Result<Backend, String> {
        let context_window = u32::try_from(settings.window).unwrap_or(u32::MAX);
        let notes = settings.notes;
        let trial = settings.program.map(|program| {
            ModelTrial::of(program, settings.hash, context_window, notes.as_deref())
        });
        Ok(Backend::Local(LocalBackend::new(LocalOptions {
            context_window,
            file: settings.file,
            logits_mask: contract.logits_mask.as_deref().map(Into::into),
            reuse: settings.reuse,
            template: settings
                .template
                .map(|(template, program)| TemplateRenderer { program, template }),
            threads: settings.threads,
            trial,
        })))
    }
}

#[cfg(not(feature = "local"))]
mod engine {
    use std::sync::Arc;

    use super::{Settings, Tried};
    use crate::contract::ExecutionContract;
    use crate::inference::Backend;
    use crate::message::TokenCounter;

    /// Nothing is tried here.
    #[derive(Clone, Debug, Default)]
    pub(in crate::driver) struct TrialEnd;

    impl TrialEnd {
        #[expect(clippy::unused_self, reason = "there is no trial to end")]
        pub(in crate::driver) const fn end(&self) {}
    }

    pub(super) fn vocabulary(_: &Tried<'_>, _: &TrialEnd) -> Result<Arc<dyn TokenCounter>, String> {
        Err(super::NO_ENGINE.to_owned())
    }

    pub(super) fn identity() -> String {
        "no engine".to_owned()
    }

    pub(super) fn backend(_: &ExecutionContract, _: Settings) -> Result<Backend, String> {
        Err(super::NO_ENGINE.to_owned())
    }
}
