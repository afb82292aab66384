//! Reads numbers, texts, lists and choices from nodes. Does not know keys.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::form::{Choice, Read, Schemas};
use super::reporter::{Reporter, suggest};
use super::tree::{Kind, Node};
use crate::contract::yaml::{bool_of, is_number, prefixed_integer};
use crate::message::{Digest, MAX_EXACT, is_recorded_exactly};

impl Read for bool {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let value = plain(node).and_then(bool_of);
        if value.is_none() {
            reporter.expected(node, "true or false");
        }
        value
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "boolean"})
    }
}

impl Read for u64 {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        integer(node, reporter, MAX_EXACT)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": MAX_EXACT})
    }
}

impl Read for u32 {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let value = integer(node, reporter, Self::MAX.into())?;
        Self::try_from(value).ok()
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": Self::MAX})
    }
}

impl Read for f64 {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let value = plain(node)
            .filter(|text| is_number(text))
            .and_then(|text| text.parse::<Self>().ok())
            .filter(|value| value.is_finite());
        if value.is_none() {
            expected_number(node, reporter, "a finite number", "such as 0.7");
        }
        value
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "number"})
    }
}

impl Read for String {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let Kind::Scalar { text, plain } = &node.kind else {
            reporter.expected(node, "text");
            return None;
        };
        if *plain && (node.is_null() || bool_of(text).is_some() || is_number(text)) {
            let rule = format!("expected text, got {}", reporter.kind_of(node));
            let help = "text that looks like a number or a word of YAML needs quotes";
            let shown = format!("{help}: \"{text}\"");
            let is_shown = !reporter.findings.is_outside(&reporter.path);
            let help = if is_shown { shown } else { help.to_owned() };
            reporter.refuse(node, rule, Some(help));
            return None;
        }
        Some(text.clone())
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string"})
    }
}

/// Any scalar but null, taken as the text it is written as: arguments, headers, environment variables.
pub(in crate::contract) struct ScalarText;

impl Read for ScalarText {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        match &node.kind {
            Kind::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
            Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => {
                reporter.refuse(node, "expected text", None);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": ["string", "number", "boolean"]})
    }
}

impl Read for Digest {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let digest = match &node.kind {
            Kind::Scalar { text, .. } => text.parse().ok(),
            Kind::List(_) | Kind::Map(_) => None,
        };
        if digest.is_none() {
            reporter.expected(node, "64 lower-case hex digits");
        }
        digest
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}

impl<T: Read> Read for Vec<T> {
    type Output = Vec<T::Output>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let Kind::List(items) = &node.kind else {
            reporter.expected(node, "a list");
            return None;
        };
        // Every item is read, so that every fault is found.
        let read: Vec<Option<T::Output>> = items
            .iter()
            .enumerate()
            .map(|(n, item)| T::read(item, &reporter.below(&n.to_string())))
            .collect();
        read.into_iter().collect()
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"type": "array", "items": T::schema(definitions)})
    }
}

impl<T: Read> Read for (T, T) {
    type Output = (T::Output, T::Output);

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let Kind::List(items) = &node.kind else {
            reporter.expected(node, "a pair [from, to]");
            return None;
        };
        let [a, b] = items.as_slice() else {
            let rule = format!("expected a pair [from, to], got {} items", items.len());
            reporter.refuse(node, rule, None);
            return None;
        };
        let (a, b) = (
            T::read(a, &reporter.below("0")),
            T::read(b, &reporter.below("1")),
        );
        Some((a?, b?))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({
            "type": "array",
            "items": T::schema(definitions),
            "minItems": 2,
            "maxItems": 2,
        })
    }
}

/// A mapping whose keys the author chooses.
impl<T: Read> Read for BTreeMap<String, T> {
    type Output = BTreeMap<String, T::Output>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let Kind::Map(entries) = &node.kind else {
            reporter.expected(node, "a mapping");
            return None;
        };
        let mut map = BTreeMap::new();
        for (key, value) in entries {
            if let Some(value) = T::read(value, &reporter.below(&key.text)) {
                map.insert(key.text.clone(), value);
            }
        }
        Some(map)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"type": "object", "additionalProperties": T::schema(definitions)})
    }
}

/// Any value, typed as YAML's core schema types it: JSON written in place.
impl Read for Value {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => Vec::<Self>::read(node, reporter).map(Self::Array),
            Kind::Map(entries) => {
                let read: Vec<Option<(String, Self)>> = entries
                    .iter()
                    .map(|(key, value)| {
                        let value = Self::read(value, &reporter.below(&key.text))?;
                        Some((key.text.clone(), value))
                    })
                    .collect();
                let map: Option<serde_json::Map<String, Self>> = read.into_iter().collect();
                map.map(Self::Object)
            }
            Kind::Scalar { .. } if node.is_null() => Some(Self::Null),
            Kind::Scalar { text, plain: true } if bool_of(text).is_some() => {
                bool::read(node, reporter).map(Self::Bool)
            }
            Kind::Scalar { text, plain: true } if is_number(text) => {
                if let Ok(integer) = text.parse::<i64>() {
                    return Some(Self::from(integer));
                }
                if text.contains('.') && !is_recorded_exactly(text) {
                    let rule = format!(
                        "{} has more digits than a contract records",
                        reporter.describe(node)
                    );
                    let help = "write at most 15 digits".to_owned();
                    reporter.refuse(node, rule, Some(help));
                    return None;
                }
                f64::read(node, reporter).map(Self::from)
            }
            Kind::Scalar { text, plain } => {
                let integer = prefixed_integer(text).filter(|_| *plain);
                Some(integer.map_or_else(|| Self::String(text.clone()), Self::from))
            }
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({})
    }
}

impl<T: Choice> Read for T {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        choose(node, reporter, T::WORDS)
    }

    fn schema(_: &mut Schemas) -> Value {
        let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        json!({"enum": words})
    }
}

/// The value that `node` names among `words`.
pub(super) fn choose<T: Copy>(
    node: &Node,
    reporter: &Reporter<'_>,
    words: &[(&str, T)],
) -> Option<T> {
    let names = || words.iter().map(|(word, _)| *word);
    if let Kind::Scalar { text, .. } = &node.kind {
        if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = names().collect();
        let rule = format!(
            "expected one of {}, got {}",
            known.join(", "),
            reporter.describe(node)
        );
        reporter.refuse(node, rule, suggest(text, names()));
    } else {
        let known: Vec<&str> = names().collect();
        reporter.expected(node, &format!("one of {}", known.join(", ")));
    }
    None
}

/// The text of a plain scalar.
pub(super) fn plain(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Scalar { text, plain: true } => Some(text),
        Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => None,
    }
}

fn integer(node: &Node, reporter: &Reporter<'_>, max: u64) -> Option<u64> {
    let text = plain(node).unwrap_or_default();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        expected_number(node, reporter, "a whole number", "such as 10");
        return None;
    }
    let value = text.parse::<u64>().ok().filter(|value| *value <= max);
    if value.is_none() {
        let rule = format!(
            "out of range: {} is not from 0 to {max}",
            reporter.describe(node)
        );
        reporter.refuse(node, rule, None);
    }
    value
}

/// Reports that a node is no number, with how one is written.
fn expected_number(node: &Node, reporter: &Reporter<'_>, what: &str, example: &str) {
    let rule = format!("expected {what}, got {}", reporter.kind_of(node));
    let help = if reporter.path.ends_with("_ms") {
        "write it in digits, in milliseconds, without a unit or quotes, such as 10000".to_owned()
    } else {
        format!("write it in digits, without a unit or quotes, {example}")
    };
    reporter.refuse(node, rule, Some(help));
}
