//! The embedded engine, as far as this build has it.

use std::path::{Path, PathBuf};

use crate::inference::ModelFile;
use monolith_core::message::Digest;

pub(super) use built::{TrialEnd, backend, identity, vocabulary};

/// The fault of builds without the engine.
pub(super) const NO_ENGINE: &str =
    "this build has no embedded model; `cargo build --release --features local` makes one that has";

/// The run settings of a model, apart from its contract.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "there is no engine to be told of it")
)]
pub(super) struct Settings {
    pub(super) file: ModelFile,
    pub(super) hash: Digest,
    /// The folder that records which files could be loaded.
    pub(super) notes: Option<PathBuf>,
    /// The monolith that can be started again to load the file for the first time.
    pub(super) program: Option<PathBuf>,
    pub(super) reuse: bool,
    /// The template that lays out prompts, and the program that renders it.
    pub(super) template: Option<(String, PathBuf)>,
    pub(super) threads: u32,
    pub(super) window: u64,
}

/// A file whose vocabulary is to be read, and where it is tried first.
#[cfg_attr(
    not(feature = "local"),
    expect(dead_code, reason = "there is no engine to be told of it")
)]
pub(super) struct TrialFile<'a> {
    pub(super) file: &'a ModelFile,
    pub(super) hash: Digest,
    pub(super) notes: Option<&'a Path>,
    pub(super) program: Option<&'a Path>,
    pub(super) window: u64,
}

#[cfg(feature = "local")]
mod built {
    use std::sync::Arc;

    use super::{Settings, TrialFile};
    use crate::inference::{
        Backend, LocalBackend, LocalOptions, LocalVocabulary, ModelTrial, TemplateRenderer,
    };
    use monolith_core::contract::Terms;
    use monolith_core::message::TokenCounter;

    pub(in crate::driver::bring_up) use crate::inference::TrialEnd;
    pub(in crate::driver::bring_up) use crate::inference::engine_identity as identity;

    pub(in crate::driver::bring_up) fn vocabulary(
        trial_file: &TrialFile<'_>,
        end: &TrialEnd,
    ) -> Result<Arc<dyn TokenCounter>, String> {
        let window = u32::try_from(trial_file.window).unwrap_or(u32::MAX);
        let trial = trial_file.program.map(|program| {
            ModelTrial::of(
                program.to_owned(),
                trial_file.hash,
                window,
                trial_file.notes,
            )
        });
        let vocabulary = LocalVocabulary::read(trial_file.file, trial.as_ref(), window, end)?;
        Ok(Arc::new(vocabulary))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "a build without the engine refuses here"
    )]
    pub(in crate::driver::bring_up) fn backend(
        terms: &Terms,
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
            logits_mask: terms.logits_mask.as_deref().map(Into::into),
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
mod built {
    use std::sync::Arc;

    use super::{Settings, TrialFile};
    use crate::inference::Backend;
    use monolith_core::contract::Terms;
    use monolith_core::message::TokenCounter;

    /// No trial runs here.
    #[derive(Clone, Debug, Default)]
    pub(in crate::driver::bring_up) struct TrialEnd;

    impl TrialEnd {
        #[expect(clippy::unused_self, reason = "there is no trial to end")]
        pub(in crate::driver::bring_up) const fn end(&self) {}
    }

    pub(in crate::driver::bring_up) fn vocabulary(
        _: &TrialFile<'_>,
        _: &TrialEnd,
    ) -> Result<Arc<dyn TokenCounter>, String> {
        Err(super::NO_ENGINE.to_owned())
    }

    pub(in crate::driver::bring_up) fn identity() -> String {
        "no engine".to_owned()
    }

    pub(in crate::driver::bring_up) fn backend(_: &Terms, _: Settings) -> Result<Backend, String> {
        Err(super::NO_ENGINE.to_owned())
    }
}
