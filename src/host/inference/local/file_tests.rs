//! Files that are no model, that are swapped, and that are changed while they are used.

use std::sync::Arc;

use monolith_core::adapter::{Decoded, Segment};
use monolith_core::message::TokenCounter as _;
use tokio_util::sync::CancellationToken;

use super::LocalBackend;
use super::engine::Engine;
use super::llama::load;
use super::options::EngineCost;
use super::tests::{contract, gated, model_file, options, request, turns};
use super::trial::TrialEnd;
use super::vocabulary::LocalVocabulary;
use crate::inference::{Backend, ModelFile, Timeouts};

#[tokio::test]
async fn a_file_that_is_no_whole_model_never_reaches_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let detail = async |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let backend = Backend::Local(LocalBackend::new(options(&path, true)));
        let probe = backend.probe(&[], &CancellationToken::new()).await;
        assert!(!probe.responsive);
        probe.detail.replace(&path.display().to_string(), "FILE")
    };
    assert_eq!(
        detail(b"<html>").await,
        "FILE: it is no GGUF file: it does not begin with \"GGUF\""
    );
    let absurd = [b"GGUF\x03\0\0\0".as_slice(), &[0xff; 16]].concat();
    let expect = "FILE: the number of tensors at byte 8 is 18446744073709551615, more than 65536";
    assert_eq!(detail(&absurd).await, expect);
    let Some(model) = model_file() else { return };
    let whole = std::fs::read(model).unwrap();
    let cut = whole.get(..whole.len() - 1).unwrap();
    assert!(
        detail(cut)
            .await
            .starts_with("FILE: it is cut off: the tensors' data ends at byte")
    );
}

/// The engine takes a token that the file types as user-defined out of plain text, too.
#[tokio::test]
async fn a_file_whose_control_tokens_are_typed_as_text_is_refused() {
    let Some(model) = model_file() else { return };
    let mut bytes = std::fs::read(model).unwrap();
    let key = b"tokenizer.ggml.token_type";
    let at = bytes.windows(key.len()).position(|found| found == key);
    // Type of value, type of item and count precede the first item; the second one is <|im_start|>.
    let item = at.unwrap() + key.len() + 4 + 4 + 8 + 4;
    let (control, user_defined) = (3_i32.to_le_bytes(), 4_i32.to_le_bytes());
    let place = bytes.get_mut(item..item + 4).unwrap();
    assert_eq!(place, control);
    place.copy_from_slice(&user_defined);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    std::fs::write(&path, bytes).unwrap();
    let backend = Backend::Local(LocalBackend::new(options(&path, true)));
    let probe = backend.probe(&[], &CancellationToken::new()).await;
    assert!(!probe.responsive);
    let expect = "types <|im_start|> as text";
    assert!(probe.detail.contains(expect), "{}", probe.detail);
}

/// The engine runs the file that was opened, whatever its name comes to mean. A change to the file under a run spoils the run.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_file_that_is_swapped_is_not_run_and_one_that_is_changed_ends_the_answers() {
    let Some(model) = model_file() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("m.gguf"), folder.path().join("other"));
    std::fs::copy(&model, &path).unwrap();
    std::fs::write(&other, "<html>").unwrap();
    let backend = Backend::Local(LocalBackend::new(options(&path, true)));
    let kept = folder.path().join("kept");
    std::fs::rename(&path, &kept).unwrap();
    std::fs::rename(&other, &path).unwrap();
    let cancel = CancellationToken::new();
    let probe = backend.probe(&[], &cancel).await;
    assert!(probe.responsive, "{}", probe.detail);
    let contract = contract(&["sampling.max_output_tokens=140"]);
    let Decoded::Message(answer) = gated(&backend, &contract).await else {
        panic!("no message")
    };
    assert!(answer.canonical_message.is_some());
    // A byte behind its last one: the weights stay the same, but that cannot be known.
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&kept)
        .unwrap();
    std::io::Write::write_all(&mut file, b"x").unwrap();
    let body = serde_json::to_vec(&request(turns(&["user\nHi"]), 1)).unwrap();
    let timeouts = Timeouts {
        cancel: cancel.clone(),
        idle: std::time::Duration::from_secs(600),
    };
    let fault = backend
        .send("", &[], body.into(), &timeouts)
        .await
        .unwrap_err();
    let expect = "m.gguf: the file was changed since it was opened";
    assert!(fault.detail.contains(expect), "{}", fault.detail);
    // One that was changed before it was loaded is not loaded at all.
    let changed = LocalBackend::new(options(&kept, true));
    std::io::Write::write_all(&mut file, b"y").unwrap();
    let probe = Backend::Local(changed).probe(&[], &cancel).await;
    assert!(!probe.responsive, "{}", probe.detail);
}

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
