//! Golden transcripts, and texts about them.

use std::path::PathBuf;

/// Returns the golden transcript of that case.
#[must_use]
pub fn golden_path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
    folder.join(format!("{name}.jsonl"))
}

/// Replaces the digits of hashes in a text: each change of a format changes them.
#[must_use]
pub fn masked(text: &str) -> String {
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
