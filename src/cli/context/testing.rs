//! What tests of several commands share: golden transcripts, and texts without what changes with a format.

use std::path::PathBuf;

use monolith_core::contract::ProviderType;
use monolith_service::found::choice::Choice;
use monolith_service::found::servers::Calling;
use monolith_service::source::Source;

/// The golden transcript of that case.
pub(crate) fn golden(name: &str) -> Source {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
    Source::File(folder.join(format!("{name}.jsonl")))
}

/// The text without the digits of hashes: each change of a format changes them.
pub(crate) fn masked(text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let mask = |word: &str| {
        let hex = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hash = hex.len() >= 8 && hex.chars().all(is_hex);
        let rest = &word[hex.len()..];
        if hash {
            format!("{}{rest}", "#".repeat(hex.len()))
        } else {
            word.to_owned()
        }
    };
    words.map(mask).collect()
}

/// A way to have a contract answered by that model.
pub(crate) fn way(provider: ProviderType, model: &str) -> Choice {
    Choice {
        address: None,
        calling: Calling::Wire,
        key_env: None,
        model: model.to_owned(),
        profile: None,
        provider,
        word: "w",
        what: "a test".to_owned(),
        window: None,
    }
}
