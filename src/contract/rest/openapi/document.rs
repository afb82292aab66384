//! The text of a description as a document, and references within it. Opens no other document.

use std::fmt::Display;

use serde_json::Value;

use super::fault::OpenapiFault;
use crate::contract::recorded_url;

/// The longest description that is read.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The most references that lead from one to the next.
const MOST_HOPS: usize = 32;
/// The most characters of a reference that a fault shows.
const MOST_SHOWN: usize = 200;

/// A description of a service.
#[derive(Debug)]
pub(super) struct SpecDocument {
    root: Value,
    version: SpecVersion,
}

/// The versions that are read. They differ in what a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecVersion {
    /// 3.0: a dialect of its own, in which nothing counts beside `$ref`.
    V30,
    /// 3.1: JSON Schema.
    V31,
}

impl SpecDocument {
    pub(super) fn parse(text: &str) -> Result<Self, OpenapiFault> {
        if text.len() > MOST_BYTES {
            return Err(OpenapiFault::TooLong {
                most: MOST_BYTES,
                size: text.len(),
            });
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let root = if text.trim_start().starts_with('{') {
            serde_json::from_str(text)
                .map_err(|fault| unreadable("JSON", (fault.line(), fault.column())))
        } else {
            serde_saphyr::from_str(text).map_err(|fault| {
                let place = fault.location().map(|at| (at.line(), at.column()));
                unreadable("YAML", place.unwrap_or_default())
            })
        };
        let root: Value = root.map_err(|reason| OpenapiFault::Unreadable { reason })?;
        if let Some(version) = root.get("swagger") {
            let version = plain(version);
            return Err(OpenapiFault::Swagger { version });
        }
        let version = root.get("openapi").map(plain).unwrap_or_default();
        let mut parts = version.split('.');
        let version = match (parts.next(), parts.next()) {
            (Some("3"), Some("0")) => SpecVersion::V30,
            (Some("3"), Some("1")) => SpecVersion::V31,
            _ => return Err(OpenapiFault::Version { version }),
        };
        Ok(Self { root, version })
    }

    pub(super) const fn version(&self) -> SpecVersion {
        self.version
    }

    pub(super) const fn root(&self) -> &Value {
        &self.root
    }

    /// What a value is, references followed.
    pub(super) fn resolved<'d>(&'d self, value: &'d Value) -> Result<&'d Value, OpenapiFault> {
        let mut value = value;
        for _ in 0..MOST_HOPS {
            let Some(reference) = reference_of(value) else {
                return Ok(value);
            };
            value = self.at(reference)?;
        }
        let reference = shown(reference_of(value).unwrap_or_default());
        Err(OpenapiFault::Circular { reference })
    }

    /// What a reference leads to.
    pub(super) fn at(&self, reference: &str) -> Result<&Value, OpenapiFault> {
        let found = reference.strip_prefix('#').and_then(|pointer| {
            let pointer = percent_decoded(pointer)?;
            self.root.pointer(&pointer)
        });
        found.ok_or_else(|| OpenapiFault::Reference {
            reference: shown(reference),
        })
    }
}

/// Why a text cannot be read. The parser's own words would show its content; line and column are enough.
fn unreadable<N: Default + Display + PartialEq>(form: &str, (line, column): (N, N)) -> String {
    if line == N::default() {
        return format!("it is no {form}");
    }
    format!("it is no {form} at line {line}, column {column}")
}

/// A reference as a fault may show it: of one to another document what a contract would show of its address.
fn shown(reference: &str) -> String {
    let shown = if reference.starts_with('#') {
        reference.to_owned()
    } else {
        match reference.split_once("#/") {
            // Behind it stands a place of the other document.
            Some((document, place)) => format!("{}#/{place}", recorded_url(document)),
            None => recorded_url(reference),
        }
    };
    shown.chars().take(MOST_SHOWN).collect()
}

/// The reference that a value is.
pub(super) fn reference_of(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()
}

fn plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    text.chars().take(20).collect()
}

/// RFC 6901 §6: a pointer in a fragment is percent-encoded.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2);
        let digits = digits.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(byte) = digits.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            bytes.push(b'%');
            rest = after;
            continue;
        };
        bytes.push(byte);
        rest = after.get(2..)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}
