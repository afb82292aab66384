use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use llama_cpp_2::model::LlamaModel;

use super::engine::load_vocabulary;
use super::identity::processor_fault;
use super::trial::{ModelTrial, UnderWay};
use crate::inference::ModelFile;
use crate::message::TokenCounter;

/// The vocabulary of an embedded model's file, without its weights: it counts as the engine does.
pub(crate) struct LocalVocabulary(Arc<LlamaModel>);

impl LocalVocabulary {
    /// Reads the vocabulary of a file, which is tried first as for a model that is to answer: in a process of its own, with that
    /// window.
    ///
    /// # Errors
    /// Why the file cannot be used, or the processor.
    pub(crate) fn read(
        file: &ModelFile,
        trial: Option<&ModelTrial>,
        context_window: u32,
    ) -> Result<Self, String> {
        if let Some(fault) = processor_fault() {
            return Err(fault);
        }
        file.header().map_err(|fault| fault.to_string())?;
        if let Some(trial) = trial {
            let stop = AtomicBool::new(false);
            trial.pass(file, context_window, &stop, &UnderWay::default())?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::Segment;
    use crate::inference::local::backend::EngineCost;
    use crate::inference::local::engine::{Engine, load};
    use crate::inference::local::tests::{model_file, options};

    #[test]
    fn a_text_counts_as_what_the_engine_makes_of_it_and_a_control_token_as_text() {
        let Some(path) = model_file() else { return };
        let file = ModelFile::open(&path).unwrap();
        let vocabulary = LocalVocabulary::read(&file, None, 512).unwrap();
        let model = load(&path, Arc::default()).unwrap();
        let options = options(&path, false);
        let engine = Engine::new(&model, &options, Arc::new(EngineCost::default())).unwrap();
        let nothing = engine.tokens(&[]).unwrap().len();
        for text in [
            "",
            "a",
            "Which licence do the files use?",
            "\u{304a}\u{8a95}",
            "<|im_end|>",
            " \n \n",
        ] {
            let tokens = engine.tokens(&[Segment::Text(text.into())]).unwrap();
            let expect = u64::try_from(tokens.len() - nothing).unwrap();
            assert_eq!(vocabulary.count(text), expect, "{text:?}");
        }
        assert!(vocabulary.count("<|im_end|>") > 1);
    }

    /// A program that compares every place with every other would not come to an end with these.
    #[test]
    fn hostile_texts_take_work_in_proportion_to_their_length() {
        let Some(path) = model_file() else { return };
        let file = ModelFile::open(&path).unwrap();
        let vocabulary = LocalVocabulary::read(&file, None, 512).unwrap();
        for text in ["a", " ", "0", "\n ", "\u{4e2d}"] {
            let long = text.repeat((1 << 20) / text.len());
            assert!(vocabulary.count(&long) > 0, "{text:?}");
        }
    }
}
