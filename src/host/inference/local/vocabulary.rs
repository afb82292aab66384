//! Counts tokens with a model file's own vocabulary. Does not load weights.

use std::fmt;
use std::sync::Arc;

use llama_cpp_2::model::LlamaModel;

use super::llama::load_vocabulary;
use super::trial::{ModelTrial, TrialEnd, processor_fault};
use crate::inference::ModelFile;
use monolith_core::message::TokenCounter;

/// The vocabulary of an embedded model's file, without its weights: it counts as the engine does.
pub(crate) struct LocalVocabulary(Arc<LlamaModel>);

impl LocalVocabulary {
    /// Reads the vocabulary of a file. A trial comes first, as for a model that is to answer: in a separate process, with that
    /// window, until `end` ends it.
    ///
    /// # Errors
    /// Why the file cannot be used, or the processor.
    pub(crate) fn read(
        file: &ModelFile,
        trial: Option<&ModelTrial>,
        context_window: u32,
        end: &TrialEnd,
    ) -> Result<Self, String> {
        if let Some(fault) = processor_fault() {
            return Err(fault);
        }
        file.header().map_err(|fault| fault.to_string())?;
        if let Some(trial) = trial {
            trial.pass(file, context_window, &end.stop, &end.process)?;
        }
        let name = file.name_here().map_err(|fault| fault.to_string())?;
        let model = load_vocabulary(&name)?;
        file.unchanged().map_err(|fault| fault.to_string())?;
        Ok(Self(model))
    }
}

impl TokenCounter for LocalVocabulary {
    fn count(&self, text: &str) -> u64 {
        let tokens = self.0.vocab().tokenize(text.as_bytes(), false, false);
        u64::try_from(tokens.len()).unwrap_or(u64::MAX)
    }
}

impl fmt::Debug for LocalVocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalVocabulary")
    }
}
