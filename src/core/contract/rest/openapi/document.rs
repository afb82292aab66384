//! The text of a description as a document, and references within it. Opens no other document.

use std::fmt;

use serde::de::{self, DeserializeSeed, Visitor};
use serde_json::{Map, Value};

use super::budget::Budget;
use super::fault::OpenapiFault;
use crate::contract::recorded_url;
use crate::contract::yaml::yaml_value_while;
use crate::message::without_bom;

/// The longest description that is read.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The most references that lead from one to the next.
const MOST_HOPS: usize = 32;
/// The most characters of a reference that a fault shows.
const MOST_SHOWN: usize = 200;

/// A description of a service.
pub(super) struct SpecDocument<'w> {
    pub(super) budget: Budget<'w>,
    root: Value,
    version: SpecVersion,
}

/// The versions that are read. They differ in what a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecVersion {
    /// 3.0: a separate dialect that ignores every sibling of `$ref`.
    V30,
    /// 3.1: JSON Schema.
    V31,
}

impl<'w> SpecDocument<'w> {
    /// Reads a text while `awaited` says that somebody waits for it.
    pub(super) fn parse(text: &str, awaited: &'w dyn Fn() -> bool) -> Result<Self, OpenapiFault> {
        if text.len() > MOST_BYTES {
            return Err(OpenapiFault::TooLong {
                most: MOST_BYTES,
                size: text.len(),
            });
        }
        let text = without_bom(text);
        let budget = Budget::new(awaited);
        budget.value()?;
        let counted = Counted(&budget);
        let root = if text.trim_start().starts_with('{') {
            counted.json(text)
        } else {
            counted.yaml(text)
        };
        let root = match root {
            Ok(root) => root,
            Err(reason) => {
                budget.checked()?;
                return Err(OpenapiFault::Unreadable { reason });
            }
        };
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
        Ok(Self {
            budget,
            root,
            version,
        })
    }

    pub(super) const fn version(&self) -> SpecVersion {
        self.version
    }

    pub(super) const fn root(&self) -> &Value {
        &self.root
    }

    /// Returns a value after following its references.
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

    /// Returns a reference's target.
    pub(super) fn at(&self, reference: &str) -> Result<&Value, OpenapiFault> {
        self.budget.spend_bytes(reference.len())?;
        let found = reference.strip_prefix('#').and_then(|pointer| {
            let pointer = percent_decoded(pointer)?;
            self.root.pointer(&pointer)
        });
        found.ok_or_else(|| OpenapiFault::Reference {
            reference: shown(reference),
        })
    }
}

/// Reads a value, and counts everything in it: what YAML aliases repeat, too.
#[derive(Clone, Copy)]
struct Counted<'b>(&'b Budget<'b>);

impl Counted<'_> {
    fn json(self, text: &str) -> Result<Value, String> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = self.deserialize(&mut reader);
        read.and_then(|value| reader.end().map(|()| value))
            .map_err(|fault| unreadable(fault.line(), fault.column()))
    }

    fn yaml(self, text: &str) -> Result<Value, String> {
        // The budget knows the fault of a value that is one too many.
        let read = yaml_value_while(text, &mut || self.0.value().is_ok());
        read.map_err(|fault| fault.to_string())
    }

    fn counts<E: de::Error>(self) -> Result<Self, E> {
        // The budget knows the fault; the reader only has to end.
        self.0.value().map_err(E::custom).map(|()| self)
    }
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: de::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self.counts()?)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            object.insert(name, members.next_value_seed(self)?);
        }
        Ok(Value::Object(object))
    }
}

/// Returns the reason why JSON cannot be parsed. The parser's own message would show content; line and column are enough.
fn unreadable(line: usize, column: usize) -> String {
    if line == 0 {
        return "it is not JSON".to_owned();
    }
    format!("it is not JSON at line {line}, column {column}")
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
