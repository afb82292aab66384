//! Masks secret values of a file in error messages. Does not know whether they are used.

use super::error::SourceRange;
use super::tree::{Kind, Node};
use crate::contract::{masked_text, masked_words, names_a_secret};

/// Keys of commands, templates and options. Values below them are used literally, so a name describes the value next to it.
const USED_AS_IT_IS: [&str; 4] = ["args", "body_template", "command", "provider_options"];

/// The same, of which nothing is shown where a text has no tree.
const MAY_HOLD_ONE: [&str; 3] = ["args", "body_template", "provider_options"];

/// Returns the places of header values and environment variables in a tree, and of anything else in place of the name of a
/// key's variable.
pub(super) fn places(root: &Node) -> Vec<SourceRange> {
    let mut places = Vec::new();
    collect(root, Reading::Other, &mut places);
    places
}

/// The file and its overrides as they may be shown: secrets are asterisks. Offsets stay what they are.
pub(super) fn masked(places: &[SourceRange], text: &str, sets: &[String]) -> (String, Vec<String>) {
    let mut text = text.to_owned();
    let mut sets: Vec<String> = sets.iter().map(|set| mask_override(set)).collect();
    for place in places {
        if let Some(target) = place.text_of(&mut text, &mut sets) {
            let range = place.offset..place.offset + place.len;
            if let Some(secret) = target.get(range.clone()) {
                let stars = stars(secret);
                target.replace_range(range, &stars);
            }
        }
    }
    (text, sets)
}

/// As [`masked`], for a text that has no tree: masks everything behind or below a secret key, as far as indentation shows.
pub(super) fn masked_blindly(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut above: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let inside = above.is_some_and(|above| indent > above || line.trim().is_empty());
        let from = if inside {
            Some(indent)
        } else {
            secret_from(line)
        };
        above = match (inside, from) {
            (true, _) => above,
            (false, Some(_)) => Some(indent),
            (false, None) => None,
        };
        let from = from.or_else(|| query_from(line));
        let (open, secret) = line
            .split_at_checked(from.unwrap_or(line.len()))
            .unwrap_or((line, ""));
        out.push_str(open);
        out.push_str(&stars(secret));
    }
    out
}

/// Returns the start of the query of the first address in a line.
fn query_from(line: &str) -> Option<usize> {
    let address = line.find("://")?;
    let query = line.get(address..)?.find('?')?;
    Some(address + query + 1)
}

/// Returns the start of the first secret key's value in a line.
fn secret_from(line: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let ends = line.match_indices(':').filter(|(at, _)| {
        let before = line
            .get(..*at)
            .unwrap_or_default()
            .trim_end_matches([' ', '"', '\'']);
        before
            .rsplit(|c: char| !is_word(c))
            .next()
            .is_some_and(|word| is_secret_key(word) || MAY_HOLD_ONE.contains(&word))
    });
    ends.map(|(at, _)| at + 1).next()
}

/// The way to read a value at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// All of it is secret.
    Secret,
    /// A command, a template or options.
    UsedAsItIs,
    Other,
}

fn collect(node: &Node, reading: Reading, places: &mut Vec<SourceRange>) {
    match &node.kind {
        Kind::Scalar { text, .. } => {
            // An address with a password or a query in it.
            let is_address = text.contains("://") && text.contains(['@', '?']);
            let is_masked = || masked_text(text, &mut |_, _| {}) != *text;
            let hidden = reading == Reading::Secret
                || is_address
                || reading == Reading::UsedAsItIs && is_masked();
            places.extend(hidden.then(|| node.place.clone()));
        }
        Kind::List(items) if reading == Reading::UsedAsItIs => collect_words(items, places),
        Kind::List(items) => items.iter().for_each(|item| collect(item, reading, places)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                let named = match (key.text.as_str(), &value.kind) {
                    ("api_key_env", Kind::Scalar { text, .. }) => !is_env_name(text),
                    // However it is written, an address may have a password or a query in it.
                    ("base_url" | "url", Kind::Scalar { text, .. }) => text.contains(['@', '?']),
                    (word, _) if reading == Reading::UsedAsItIs => names_a_secret(word),
                    (word, _) => is_secret_key(word),
                };
                let below = if named {
                    Reading::Secret
                } else if USED_AS_IT_IS.contains(&key.text.as_str()) && reading == Reading::Other {
                    Reading::UsedAsItIs
                } else {
                    reading
                };
                collect(value, below, places);
            }
        }
    }
}

/// The words of a command that may be secret: each is read with the one before it.
fn collect_words(items: &[Node], places: &mut Vec<SourceRange>) {
    let words = items.iter().map(|item| match &item.kind {
        Kind::Scalar { text, .. } => text.clone(),
        Kind::List(_) | Kind::Map(_) => String::new(),
    });
    let words: Vec<String> = words.collect();
    let masked = masked_words(&words);
    for (item, (word, masked)) in items.iter().zip(words.iter().zip(&masked)) {
        if word == masked {
            collect(item, Reading::UsedAsItIs, places);
        } else {
            places.push(item.place.clone());
        }
    }
}

/// Keys whose values are secret, or may be one by mistake.
pub(super) fn is_secret_key(word: &str) -> bool {
    matches!(word, "api_key" | "apiKey" | "env" | "headers")
}

/// An override is masked even where its key leads nowhere.
fn mask_override(set: &str) -> String {
    match set.split_once('=') {
        Some((key, value)) if key.split('.').any(is_secret_key) => {
            format!("{key}={}", stars(value))
        }
        // Its value may have no tree.
        _ => masked_blindly(set),
    }
}

fn stars(secret: &str) -> String {
    let star = |c: char| {
        if c == '\n' {
            "\n".to_owned()
        } else {
            "*".repeat(c.len_utf8())
        }
    };
    secret.chars().map(star).collect()
}

/// The same as [`is_env_name`], as a pattern.
pub(super) const ENV_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// The same as [`is_header_name`], as a pattern.
pub(super) const HEADER_NAME: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

/// Names that a tool server can have, as a pattern.
pub(super) const SERVER_NAME: &str = "^(?!builtin$|agent_?$|agent__|rest__)[A-Za-z0-9_-]{1,32}$";

pub(super) fn is_env_name(name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.bytes().all(word)
}

/// RFC 9110 §5.6.2: a token.
pub(super) fn is_header_name(name: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(token)
}
