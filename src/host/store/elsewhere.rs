//! The parts of a blob's text that occur elsewhere in the store.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::{StoreError, StoreReader};
use monolith_core::message::{Digest, RunId};

/// The shortest text that is looked for: shorter ones stand everywhere.
const LEAST_BYTES: usize = 16;
/// Maximum length of a text looked for.
const MOST_BYTES: usize = 120;
/// The most texts that are looked for.
const MOST_TEXTS: usize = 4096;
/// The most places that are named.
pub(super) const MOST_PLACES: usize = 1000;

/// A place that holds a part of the text of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The run; none of a blob that no run uses.
    pub run_id: String,
    /// The place in it.
    pub place: HeldIn,
}

/// The place in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldIn {
    /// The text of an entry, which cannot be erased.
    Entry(u64),
    /// Another blob, to be erased by its own hash.
    Blob(Digest),
}

impl StoreReader {
    /// The places that hold a part of the text of a blob, the blob itself left out. Parts of fewer than 16 bytes are not looked for, nor
    /// what is written in another way than as text, in JSON or in JSON within JSON.
    pub fn elsewhere(&self, hash: Digest) -> Result<Vec<Elsewhere>, StoreError> {
        let Some(bytes) = self.blob(hash)? else {
            return Ok(Vec::new());
        };
        let texts = written(texts_of(&bytes));
        let Ok(search) = AhoCorasick::new(&texts) else {
            return Ok(Vec::new());
        };
        let mut found = self.database.holding(&search, hash)?;
        found.retain(|place| RunId::try_from(place.run_id.clone()).is_ok());
        Ok(found)
    }
}

/// The texts of a blob: those of its JSON, of the JSON in its lines, or its lines.
fn texts_of(bytes: &[u8]) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    let whole = String::from_utf8_lossy(bytes);
    if !take_json(&whole, &mut texts) {
        for line in whole.lines() {
            let line = line.trim();
            let data = line.strip_prefix("data:").unwrap_or(line).trim();
            if !take_json(data, &mut texts) {
                take(line, &mut texts);
            }
        }
    }
    texts
}

fn take_json(text: &str, texts: &mut BTreeSet<String>) -> bool {
    let Some(value) = text
        .starts_with(['{', '['])
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten()
    else {
        return false;
    };
    let mut open = vec![&value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.starts_with(['{', '[']) && take_json(text, texts) => {}
            Value::String(text) => text.lines().for_each(|line| take(line.trim(), texts)),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    true
}

fn take(text: &str, texts: &mut BTreeSet<String>) {
    if text.len() >= LEAST_BYTES && texts.len() < MOST_TEXTS {
        texts.insert(monolith_core::message::char_prefix(text, MOST_BYTES).to_owned());
    }
}

/// Each text as it may be written: as it is, as a JSON string, and as one within another.
fn written(texts: BTreeSet<String>) -> BTreeSet<String> {
    let escaped = |text: &String| {
        let quoted = Value::from(text.as_str()).to_string();
        let inner = quoted
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        inner.unwrap_or_default().to_owned()
    };
    let once: BTreeSet<String> = texts.iter().map(escaped).collect();
    let twice: BTreeSet<String> = once.iter().map(escaped).collect();
    [texts, once, twice].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_response_are_looked_for_as_they_may_be_written() {
        let body = r#"{"choices":[{"message":{"content":"the \"secret\" of the house","role":"assistant"}}]}"#;
        let texts = texts_of(body.as_bytes());
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            ["the \"secret\" of the house"]
        );
        let written = written(texts);
        assert_eq!(written.len(), 3);
        assert!(
            written.contains(r#"the \\\"secret\\\" of the house"#),
            "{written:?}"
        );
        let stream = b"data: {\"delta\":\"a piece that is long enough\"}\n\ndata: [DONE]\n";
        assert_eq!(texts_of(stream).len(), 1);
    }
}
