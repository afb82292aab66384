use std::collections::BTreeMap;

use serde_json::Value;

use super::contract_spec::Setting;
use super::error::{Findings, Place};
use super::secrets::is_secret_key;
use super::suggest::{elsewhere, suggest};
use super::tree::{Key, Kind, Node};
use crate::message::{Digest, MAX_EXACT};

/// Where findings go, and the path of the value that is being read.
#[derive(Clone)]
pub(super) struct Out<'f> {
    pub(super) findings: &'f Findings<'f>,
    pub(super) path: String,
}

impl Out<'_> {
    /// Reports a broken rule of `node`.
    pub(super) fn refuse(&self, node: &Node, rule: impl Into<String>, help: Option<String>) {
        self.findings.add(&node.place, &self.path, rule, help);
    }

    /// Reports that `node` is of another type.
    pub(super) fn expected(&self, node: &Node, what: &str) {
        let rule = format!("expected {what}, got {}", self.describe(node));
        self.refuse(node, rule, None);
    }

    /// What stands there, unless it may be a secret.
    pub(super) fn describe(&self, node: &Node) -> String {
        match node.kind {
            Kind::Scalar { .. } if self.path.split('.').any(is_secret_key) => "text".to_owned(),
            Kind::Scalar { .. } if self.findings.is_hidden(&self.path) => {
                "the value of a variable".to_owned()
            }
            _ => node.describe(),
        }
    }

    /// One level down.
    pub(super) fn below(&self, key: &str) -> Self {
        Self {
            findings: self.findings,
            path: self.join(key),
        }
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

/// A type that is read from one node; None where a finding says why not.
pub(super) trait Read: Sized {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self>;
}

/// One mapping of the file while its keys are read; [`Section::read`] refuses the keys nobody asked for.
pub(super) struct Section<'n, 'f> {
    entries: &'n [(Key, Node)],
    known: Vec<&'static str>,
    place: &'n Place,
    pub(super) out: Out<'f>,
}

impl<'n, 'f> Section<'n, 'f> {
    /// Reads `node` as a mapping: opens it, lets `fill` take its keys, refuses the others.
    pub(super) fn read<T>(
        node: &'n Node,
        out: &Out<'f>,
        fill: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        let Kind::Map(entries) = &node.kind else {
            out.expected(node, "a mapping");
            return None;
        };
        let mut section = Self {
            entries,
            known: Vec::new(),
            place: &node.place,
            out: out.clone(),
        };
        let filled = fill(&mut section);
        section.finish();
        Some(filled)
    }

    /// The node of `key`, which is a key of this section from now on.
    pub(super) fn node(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        self.peek(key)
    }

    /// The node of `key`, whether or not it is a key of this section.
    pub(super) fn peek(&self, key: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|(k, _)| k.text == key);
        found.map(|(_, node)| node)
    }

    /// Whether `key` stands in the file.
    pub(super) fn has(&self, key: &str) -> bool {
        self.peek(key).is_some()
    }

    /// The value of `key`; null is not one.
    pub(super) fn get<T: Read>(&mut self, key: &'static str) -> Option<T> {
        let node = self.node(key)?;
        T::read(node, &self.out.below(key))
    }

    /// The value of `key`, where null means the same as leaving it out.
    pub(super) fn nullable<T: Read>(&mut self, key: &'static str) -> Option<T> {
        let node = self.node(key).filter(|node| !node.is_null())?;
        T::read(node, &self.out.below(key))
    }

    /// The value of `key`, where null means that there shall be none.
    pub(super) fn or_off<T: Read>(&mut self, key: &'static str) -> Setting<T> {
        match self.node(key) {
            None => Setting::Unset,
            Some(node) if node.is_null() => Setting::Off,
            Some(node) => {
                T::read(node, &self.out.below(key)).map_or(Setting::Unset, Setting::Value)
            }
        }
    }

    /// The value of `key`, without which the section means nothing.
    pub(super) fn required<T: Read>(&mut self, key: &'static str) -> Option<T> {
        let value = self.get(key);
        if !self.has(key) {
            self.refuse(format!("the key `{key}` is missing"), None);
        }
        value
    }

    /// The mapping below `key`, or the default where it is absent.
    pub(super) fn section<T: Default>(
        &mut self,
        key: &'static str,
        fill: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.node(key)
            .and_then(|node| Self::read(node, &self.out.below(key), fill))
            .unwrap_or_default()
    }

    /// Reports a rule that the section as a whole breaks.
    pub(super) fn refuse(&self, rule: impl Into<String>, help: Option<String>) {
        let Out { findings, path } = &self.out;
        findings.add(self.place, path, rule, help);
    }

    /// Reports a rule that the value of `key` breaks.
    pub(super) fn refuse_key(&self, key: &str, rule: impl Into<String>, help: Option<String>) {
        let place = self.peek(key).map_or(self.place, |node| &node.place);
        self.out
            .findings
            .add(place, &self.out.join(key), rule, help);
    }

    fn finish(mut self) {
        for (key, _) in self.entries {
            if self.known.contains(&key.text.as_str()) {
                continue;
            }
            let rule = format!("unknown key `{}`", key.text);
            let help = elsewhere(&self.out.path, &key.text)
                .or_else(|| suggest(&key.text, self.known.iter().copied()))
                .unwrap_or_else(|| {
                    self.known.sort_unstable();
                    format!("known keys: {}", self.known.join(", "))
                });
            let path = self.out.join(&key.text);
            self.out.findings.add(&key.place, &path, rule, Some(help));
        }
    }
}

impl Read for bool {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let value = match plain(node) {
            Some("true" | "True" | "TRUE") => Some(true),
            Some("false" | "False" | "FALSE") => Some(false),
            _ => None,
        };
        if value.is_none() {
            out.expected(node, "true or false");
        }
        value
    }
}

impl Read for u64 {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        integer(node, out, MAX_EXACT)
    }
}

impl Read for u32 {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let value = integer(node, out, Self::MAX.into())?;
        Self::try_from(value).ok()
    }
}

/// An integer up to 2^64 − 1 that may also be written as text, because a JSON number may not hold it.
pub(super) struct Big(pub(super) u64);

impl Read for Big {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        if let Kind::Scalar { text, plain: false } = &node.kind {
            let value = text.parse::<u64>().ok().filter(|v| v.to_string() == *text);
            if value.is_none() {
                let what = format!("a whole number from 0 to {}", u64::MAX);
                out.expected(node, &what);
            }
            return value.map(Self);
        }
        integer(node, out, u64::MAX).map(Self)
    }
}

impl Read for f64 {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let value = plain(node)
            .filter(|text| is_number(text))
            .and_then(|text| text.parse::<Self>().ok())
            .filter(|value| value.is_finite());
        if value.is_none() {
            out.expected(node, "a finite number");
        }
        value
    }
}

impl Read for String {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::Scalar { text, plain } = &node.kind else {
            out.expected(node, "text");
            return None;
        };
        if *plain && (node.is_null() || is_bool(text) || is_number(text)) {
            let rule = format!("expected text, got {}", out.describe(node));
            let help =
                format!("text that looks like a number or a word of YAML needs quotes: \"{text}\"");
            out.refuse(node, rule, Some(help));
            return None;
        }
        Some(text.clone())
    }
}

/// Any scalar but null, taken as the text it is written as: arguments, headers, environment variables.
pub(super) struct Loose(pub(super) String);

impl Read for Loose {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        match &node.kind {
            Kind::Scalar { text, .. } if !node.is_null() => Some(Self(text.clone())),
            Kind::Scalar { .. } | Kind::List(_) | Kind::Map(_) => {
                out.refuse(node, "expected text", None);
                None
            }
        }
    }
}

impl Read for Digest {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let digest = match &node.kind {
            Kind::Scalar { text, .. } => text.parse().ok(),
            Kind::List(_) | Kind::Map(_) => None,
        };
        if digest.is_none() {
            out.expected(node, "64 lower-case hex digits");
        }
        digest
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            out.expected(node, "a list");
            return None;
        };
        // Every item is read, so that every fault is found.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(n, item)| T::read(item, &out.below(&n.to_string())))
            .collect();
        read.into_iter().collect()
    }
}

impl<T: Read> Read for (T, T) {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::List(items) = &node.kind else {
            out.expected(node, "a pair [from, to]");
            return None;
        };
        let [a, b] = items.as_slice() else {
            let rule = format!("expected a pair [from, to], got {} items", items.len());
            out.refuse(node, rule, None);
            return None;
        };
        let (a, b) = (T::read(a, &out.below("0")), T::read(b, &out.below("1")));
        Some((a?, b?))
    }
}

/// A mapping whose keys the author chooses.
impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let Kind::Map(entries) = &node.kind else {
            out.expected(node, "a mapping");
            return None;
        };
        let mut map = Self::new();
        for (key, value) in entries {
            if let Some(value) = T::read(value, &out.below(&key.text)) {
                map.insert(key.text.clone(), value);
            }
        }
        Some(map)
    }
}

/// Any value, typed as YAML's core schema types it: JSON written in place.
impl Read for Value {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        match &node.kind {
            Kind::List(_) => Vec::read(node, out).map(Self::Array),
            Kind::Map(entries) => {
                let read: Vec<Option<(String, Self)>> = entries
                    .iter()
                    .map(|(key, value)| {
                        let value = Self::read(value, &out.below(&key.text))?;
                        Some((key.text.clone(), value))
                    })
                    .collect();
                let map: Option<serde_json::Map<String, Self>> = read.into_iter().collect();
                map.map(Self::Object)
            }
            Kind::Scalar { .. } if node.is_null() => Some(Self::Null),
            Kind::Scalar { text, plain: true } if is_bool(text) => {
                bool::read(node, out).map(Self::Bool)
            }
            Kind::Scalar { text, plain: true } if is_number(text) => {
                if let Ok(integer) = text.parse::<i64>() {
                    return Some(Self::from(integer));
                }
                f64::read(node, out).map(Self::from)
            }
            Kind::Scalar { text, .. } => Some(Self::String(text.clone())),
        }
    }
}

/// A closed list of words.
pub(super) trait Choice: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: Choice> Read for T {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        choose(node, out, T::WORDS)
    }
}

/// The value that `node` names among `words`.
pub(super) fn choose<T: Copy>(node: &Node, out: &Out<'_>, words: &[(&str, T)]) -> Option<T> {
    let names = || words.iter().map(|(word, _)| *word);
    if let Kind::Scalar { text, .. } = &node.kind {
        if let Some((_, value)) = words.iter().find(|(word, _)| word == text) {
            return Some(*value);
        }
        let known: Vec<&str> = names().collect();
        let rule = format!(
            "expected one of {}, got {}",
            known.join(", "),
            out.describe(node)
        );
        out.refuse(node, rule, suggest(text, names()));
    } else {
        let known: Vec<&str> = names().collect();
        out.expected(node, &format!("one of {}", known.join(", ")));
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

fn integer(node: &Node, out: &Out<'_>, max: u64) -> Option<u64> {
    let text = plain(node).unwrap_or_default();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        out.expected(node, "a whole number");
        return None;
    }
    let value = text.parse::<u64>().ok().filter(|value| *value <= max);
    if value.is_none() {
        let rule = format!(
            "out of range: {} is not from 0 to {max}",
            out.describe(node)
        );
        out.refuse(node, rule, None);
    }
    value
}

fn is_bool(text: &str) -> bool {
    matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
}

/// Numbers of YAML's core schema, decimal ones, and the infinities and NaN that it also calls numbers.
fn is_number(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let first = body.bytes().next().unwrap_or_default();
    (first.is_ascii_digit() || first == b'.')
        && body.bytes().any(|b| b.is_ascii_digit())
        && body.parse::<f64>().is_ok()
}
