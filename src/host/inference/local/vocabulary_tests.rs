//! Tests of the token counter of an embedded model.

use std::sync::Arc;

use super::cost::EngineCost;
use super::engine::Engine;
use super::llama::load;
use super::tests::{model_file, options};
use super::trial::TrialEnd;
use super::vocabulary::LocalVocabulary;
use crate::inference::ModelFile;
use monolith_core::adapter::Segment;
use monolith_core::message::TokenCounter as _;

#[test]
fn a_text_counts_as_what_the_engine_makes_of_it_and_a_control_token_as_text() {
    let Some(path) = model_file() else { return };
    let file = ModelFile::open(&path).unwrap();
    let vocabulary = LocalVocabulary::read(&file, None, 512, &TrialEnd::default()).unwrap();
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
    let vocabulary = LocalVocabulary::read(&file, None, 512, &TrialEnd::default()).unwrap();
    for text in ["a", " ", "0", "\n ", "\u{4e2d}"] {
        let long = text.repeat((1 << 20) / text.len());
        assert!(vocabulary.count(&long) > 0, "{text:?}");
    }
}
