//! The file of an embedded model: its header, its hash, and what runs it.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::engine::{self, Settings, TrialEnd, TrialFile};
use crate::driver::Environment;
use crate::inference::{Backend, ModelFile, ModelHash, UnavailableBackend};
use monolith_core::contract::{CALL_OPEN, PromptLayout, ProviderType, Terms};
use monolith_core::message::{Digest, TokenCounter};

/// The default window if the file allows more: memory grows with it.
const USUAL_WINDOW: u64 = 32_768;

/// The longest template that is run.
const MAX_TEMPLATE_BYTES: usize = 1 << 18;

/// The facts that bring-up found about the file of an embedded model.
#[derive(Clone, Debug)]
pub(super) struct LocalModel {
    /// The window to use by default.
    pub(super) context_window: Option<u64>,
    /// The window in tokens that the file states for the model.
    made_for: Option<u64>,
    /// Tokens of its vocabulary.
    pub(super) vocabulary: Option<u64>,
    /// The file by its hash, with the other inputs that the text depends on.
    pub(super) fingerprint: Option<String>,
    /// The file, open since it was looked at, and its hash: what is run is what was hashed.
    file: Option<(ModelFile, Digest)>,
    /// Who lays out its prompts, where the adapter does not.
    pub(super) prompt_layout: Option<PromptLayout>,
    /// The template of its file and the program that renders it, where it lays out prompts.
    template: Option<(String, PathBuf)>,
    /// The reason why the model cannot be used, if it cannot.
    fault: Option<String>,
}

impl LocalModel {
    /// Reads a file's header and hash. A file that is no model is no error here: the run reports it.
    pub(super) async fn inspect(path: PathBuf, environment: &Environment) -> Self {
        let cache = environment.models().map(|models| models.join("hashes"));
        let read = path.clone();
        let watch = environment.file_watch();
        // Hashing ends when its caller is gone.
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

    /// Its file, where it was opened.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(file, _)| file.path())
    }

    /// A model that is not there, and why. The window is not its own: the run shall end for the lack of the model, not for a
    /// window that is not known.
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

    /// Returns the backend for this model.
    pub(super) fn backend(
        &self,
        provider: &str,
        terms: &Terms,
        environment: &Environment,
    ) -> Backend {
        let made = self.engine_under(provider, terms, environment);
        made.unwrap_or_else(|reason| {
            let reason = format!("provider `{provider}`: {reason}");
            Backend::Unavailable(UnavailableBackend { reason })
        })
    }

    /// Returns the reason why this model could not answer, as far as that is known without loading it.
    pub(super) fn fault_under(
        &self,
        provider: &str,
        terms: &Terms,
        environment: &Environment,
    ) -> Option<String> {
        let made = self.engine_under(provider, terms, environment);
        made.err()
    }

    fn engine_under(
        &self,
        provider: &str,
        terms: &Terms,
        environment: &Environment,
    ) -> Result<Backend, String> {
        match (&self.fault, &self.file) {
            (Some(reason), _) => Err(reason.clone()),
            (None, Some(file)) => self.embedded(file, provider, terms, environment),
            (None, None) => Err("its file was never opened".to_owned()),
        }
    }

    /// Returns a token counter with this model's own vocabulary, or the reason for having none. Reads the file, after a trial
    /// that `end` ends.
    pub(super) fn vocabulary(
        &self,
        window: u64,
        environment: &Environment,
        end: &TrialEnd,
    ) -> Result<Arc<dyn TokenCounter>, String> {
        let (file, hash) = match (&self.fault, &self.file) {
            (Some(reason), _) => return Err(reason.clone()),
            (None, Some(file)) => file,
            (None, None) => return Err("its file was never opened".to_owned()),
        };
        let notes = environment.models().map(|models| models.join("tried"));
        let trial_file = TrialFile {
            file,
            hash: *hash,
            notes: notes.as_deref(),
            program: environment.program(),
            window,
        };
        engine::vocabulary(&trial_file, end)
            .map_err(|fault| format!("{}: {fault}", file.path().display()))
    }

    /// The engine for this model, or why there is none.
    fn embedded(
        &self,
        (file, hash): &(ModelFile, Digest),
        provider: &str,
        terms: &Terms,
        environment: &Environment,
    ) -> Result<Backend, String> {
        let window = window_of(provider, terms);
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
            terms,
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

/// True while a caller waits; false once the caller is dropped.
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
pub(super) fn window_of(provider: &str, terms: &Terms) -> u64 {
    let own = terms.targets.iter();
    let own = own.filter(|target| target.provider == provider);
    own.map(|target| target.context_window)
        .max()
        .unwrap_or_default()
}

/// Returns the backend for the embedded models of a contract's targets, which are all one model: that of `path`.
pub async fn embedded_model(path: PathBuf, terms: &Terms, environment: &Environment) -> Backend {
    let provider = terms.targets.first();
    let provider = provider.map_or("", |target| target.provider.as_str());
    let model = LocalModel::inspect(path, environment).await;
    model.backend(provider, terms, environment)
}

/// Returns true if a template lays out tools and calls in the form that calls are read in: JSON between `<tool_call>` tags.
fn knows_calls(template: &str) -> bool {
    let has = |word: &str| template.contains(word);
    template.len() <= MAX_TEMPLATE_BYTES
        && has("tools")
        && has("tool_calls")
        && has(CALL_OPEN)
        && !has("<function=")
}

/// Returns true if a provider is the embedded model.
pub(super) const fn is_local(provider_type: ProviderType) -> bool {
    matches!(provider_type, ProviderType::Local)
}
