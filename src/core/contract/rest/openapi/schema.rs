//! Schemas of a description as schemas of arguments: written out without references, bounded, in the one dialect that validators and models
//! read. Judges no arguments.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::document::{SpecDocument, SpecVersion, reference_of};
use super::fault::OpenapiFault;
use crate::contract::inexact_integer_at;

/// Maximum depth of a schema that is written out; deeper values accept anything.
const MOST_DEPTH: usize = 12;
/// Maximum number of schemas in one tool's arguments, with all references expanded; further ones accept anything.
const MOST_SCHEMAS: usize = 600;
/// Bytes of the schemas of one tool, all references written out; what does not fit is left out.
const MOST_BYTES: usize = 160 * 1024;
/// Steps to compile one byte of a regular expression.
const STEPS_PER_PATTERN_BYTE: u64 = 8;
/// The most references that are followed from one schema to the next.
const MOST_OPEN: usize = 64;

/// Keywords whose values are taken over as they are.
const PLAIN: [&str; 19] = [
    "const",
    "default",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "uniqueItems",
];

/// Writes out the schemas of one tool.
pub(super) struct SchemaWriter<'d> {
    /// Bytes that may still be written.
    bytes: usize,
    document: &'d SpecDocument<'d>,
    /// Read-only properties of the value that is being described.
    in_answers: BTreeSet<&'d str>,
    /// Set once a property or an item of the schema that is being written had no room.
    is_cut: bool,
    left: usize,
    /// The references that are being written out.
    open: Vec<String>,
}

impl<'d> SchemaWriter<'d> {
    pub(super) const fn new(document: &'d SpecDocument<'d>) -> Self {
        Self {
            bytes: MOST_BYTES,
            document,
            in_answers: BTreeSet::new(),
            is_cut: false,
            left: MOST_SCHEMAS,
            open: Vec::new(),
        }
    }

    /// A schema written out. One that contains itself takes anything where it does.
    pub(super) fn write(&mut self, schema: &'d Value) -> Result<Value, OpenapiFault> {
        self.value(schema, MOST_DEPTH)
    }

    /// Writes the schema of a nested value: a member or an item.
    fn value(&mut self, schema: &'d Value, depth: usize) -> Result<Value, OpenapiFault> {
        let has_room = depth > 0 && self.left > 0;
        let within = if has_room {
            self.read_only(schema)?
        } else {
            BTreeSet::new()
        };
        let around = std::mem::replace(&mut self.in_answers, within);
        let written = self.at_depth(schema, depth);
        self.in_answers = around;
        written
    }

    /// The properties that only answers have, wherever what describes the same value says so.
    fn read_only(&self, schema: &'d Value) -> Result<BTreeSet<&'d str>, OpenapiFault> {
        let (mut found, mut followed) = (BTreeSet::new(), BTreeSet::new());
        let (mut open, mut left) = (vec![schema], MOST_SCHEMAS);
        while let Some(schema) = open.pop().filter(|_| left > 0) {
            left -= 1;
            self.document.budget.spend(1)?;
            if let Some(reference) = reference_of(schema)
                && followed.insert(reference)
            {
                open.extend(self.document.at(reference).ok());
            }
            let list = |key: &str| schema.get(key).and_then(Value::as_array);
            let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(list);
            open.extend(parts.flatten());
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                self.document.budget.spend(1)?;
                if self.is_read_only(property) {
                    found.insert(name.as_str());
                }
            }
        }
        Ok(found)
    }

    fn is_read_only(&self, property: &Value) -> bool {
        let says = |schema: &Value| schema.get("readOnly") == Some(&json!(true));
        let beside =
            self.document.version() == SpecVersion::V31 || reference_of(property).is_none();
        beside && says(property) || self.document.resolved(property).is_ok_and(says)
    }

    fn at_depth(&mut self, schema: &'d Value, depth: usize) -> Result<Value, OpenapiFault> {
        let Some(reference) = reference_of(schema) else {
            return self.own(schema, depth);
        };
        let found = self.document.at(reference)?;
        let is_deep = depth == 0 || self.open.len() >= MOST_OPEN;
        if is_deep || self.open.iter().any(|open| open == reference) {
            return Ok(anything_like(found));
        }
        self.open.push(reference.to_owned());
        let there = self.at_depth(found, depth);
        self.open.pop();
        let there = there?;
        let is_alone = schema.as_object().is_some_and(|members| members.len() == 1);
        Ok(match self.document.version() {
            _ if is_alone => there,
            SpecVersion::V30 => with_description_of(schema, there),
            SpecVersion::V31 => both(there, self.own(schema, depth)?),
        })
    }

    /// Writes a schema's own keywords, without its reference.
    fn own(&mut self, schema: &'d Value, depth: usize) -> Result<Value, OpenapiFault> {
        let members = match schema {
            Value::Bool(false) => return Ok(json!({"not": {}})),
            Value::Object(members) => members,
            _ => return Ok(json!({})),
        };
        self.document.budget.spend(1)?;
        self.left = self.left.saturating_sub(1);
        let Some(below) = depth.checked_sub(1).filter(|_| self.left > 0) else {
            return Ok(anything_like(schema));
        };
        let mut out = Map::new();
        let around = std::mem::take(&mut self.is_cut);
        if let Some(kind) = type_of(members) {
            out.insert("type".to_owned(), kind);
        }
        for (key, value) in members {
            if let Some(value) = self.keyword(key, value, below)? {
                out.insert(key.clone(), value);
            }
        }
        if std::mem::replace(&mut self.is_cut, around) {
            // They hold for everything that is not named: they would refuse what had no room.
            for key in ["additionalProperties", "items"] {
                out.remove(key);
            }
        }
        bounds_of_30(&mut out);
        any_of_several(&mut out);
        keep_required(&mut out);
        let is_nullable = members.get("nullable") == Some(&json!(true));
        Ok(match self.document.version() {
            SpecVersion::V30 if is_nullable => nullable(out),
            _ => Value::Object(out),
        })
    }

    /// Takes the room of so many bytes; false where there is less.
    fn takes(&mut self, bytes: usize) -> bool {
        let rest = self.bytes.checked_sub(bytes);
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }

    /// A value as it stands, if there is room for it.
    fn copied(&mut self, value: &Value) -> Result<Option<Value>, OpenapiFault> {
        let size = size_within(value, self.bytes);
        self.document
            .budget
            .spend_bytes(size.unwrap_or(self.bytes))?;
        let fits = self.takes(size.unwrap_or(usize::MAX));
        Ok(fits.then(|| value.clone()))
    }

    /// Every schema of a list; nothing if not all have room, since a list that is cut may take less.
    fn list(
        &mut self,
        items: &'d [Value],
        mut write: impl FnMut(&mut Self, &'d Value) -> Result<Value, OpenapiFault>,
    ) -> Result<Option<Value>, OpenapiFault> {
        let mut out = Vec::new();
        for item in items {
            if !self.takes(OVERHEAD) {
                self.is_cut = true;
                return Ok(None);
            }
            out.push(write(self, item)?);
        }
        Ok(Some(Value::Array(out)))
    }

    fn keyword(
        &mut self,
        key: &str,
        value: &'d Value,
        depth: usize,
    ) -> Result<Option<Value>, OpenapiFault> {
        self.document.budget.spend(1)?;
        if !self.takes(key.len().saturating_add(OVERHEAD)) {
            return Ok(None);
        }
        let written = match (key, value) {
            ("properties", Value::Object(properties)) => {
                let mut out = Map::new();
                for (name, property) in properties {
                    if !self.takes(name.len().saturating_add(OVERHEAD)) {
                        self.is_cut = true;
                        break;
                    }
                    self.document.resolved(property)?;
                    // What only answers have is no argument.
                    if !self.is_read_only(property) {
                        out.insert(name.clone(), self.value(property, depth)?);
                    }
                }
                Value::Object(out)
            }
            ("items" | "contains", Value::Object(_) | Value::Bool(_)) => {
                self.value(value, depth)?
            }
            ("not", Value::Object(members)) => {
                let Some(copied) = self.copied(value)? else {
                    return Ok(None);
                };
                if !members.iter().all(is_exact) {
                    return Ok(None);
                }
                copied
            }
            ("additionalProperties", Value::Bool(_)) => value.clone(),
            ("additionalProperties", Value::Object(_)) => self.value(value, depth)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(items)) if !items.is_empty() => {
                return self.list(items, |this, item| this.at_depth(item, depth));
            }
            ("prefixItems", Value::Array(items)) if !items.is_empty() => {
                return self.list(items, |this, item| this.value(item, depth));
            }
            ("required", Value::Array(_)) => {
                let Some(Value::Array(mut names)) = self.copied(value)? else {
                    return Ok(None);
                };
                names.retain(Value::is_string);
                names.dedup();
                let in_answers = &self.in_answers;
                names.retain(|name| !name.as_str().is_some_and(|name| in_answers.contains(name)));
                Value::Array(names)
            }
            (key, value) if PLAIN.contains(&key) => {
                if key == "pattern" {
                    // An expression takes far more steps to compile than to copy.
                    let bytes = value.as_str().map_or(0, str::len);
                    let steps = u64::try_from(bytes).unwrap_or(u64::MAX);
                    self.document
                        .budget
                        .spend(steps.saturating_mul(STEPS_PER_PATTERN_BYTE))?;
                }
                let copied = self.copied(value)?;
                return Ok(copied.filter(|value| is_sound(key, value)));
            }
            _ => return Ok(None),
        };
        Ok(Some(written))
    }
}

/// Bytes of JSON around a name or a value.
const OVERHEAD: usize = 4;

/// The bytes of a value as JSON, about; `None` if they are more than `most`.
fn size_within(value: &Value, most: usize) -> Option<usize> {
    let own = match value {
        Value::String(text) => text.len().saturating_add(OVERHEAD),
        Value::Null | Value::Bool(_) | Value::Number(_) => 2 * OVERHEAD,
        Value::Array(items) => items.iter().try_fold(OVERHEAD, |sum, item| {
            let item = size_within(item, most.checked_sub(sum)?)?;
            sum.checked_add(item)
        })?,
        Value::Object(members) => members.iter().try_fold(OVERHEAD, |sum, (key, member)| {
            let sum = sum.checked_add(key.len())?.checked_add(OVERHEAD)?;
            let member = size_within(member, most.checked_sub(sum)?)?;
            sum.checked_add(member)
        })?,
    };
    (own <= most).then_some(own)
}

/// A schema that takes anything of the same type.
fn anything_like(schema: &Value) -> Value {
    let kind = schema.as_object().and_then(type_of);
    kind.map_or_else(|| json!({}), |kind| json!({"type": kind}))
}

/// The type that a schema names, if it is one that there is.
fn type_of(members: &Map<String, Value>) -> Option<Value> {
    const TYPES: [&str; 7] = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let known = |value: &Value| value.as_str().is_some_and(|kind| TYPES.contains(&kind));
    match members.get("type")? {
        Value::Array(kinds) => {
            let kinds: Vec<Value> = kinds.iter().filter(|kind| known(kind)).cloned().collect();
            Some(Value::Array(kinds)).filter(|kinds| kinds != &json!([]))
        }
        // Swagger's word, which many descriptions still have.
        Value::String(kind) if kind == "file" => Some(json!("string")),
        kind => Some(kind.clone()).filter(known),
    }
}

/// True if a keyword is written unchanged. A simplified keyword accepts more; under `not` it accepts less.
fn is_exact((key, value): (&String, &Value)) -> bool {
    let is_plain = PLAIN.contains(&key.as_str()) && is_sound(key, value) && !value.is_boolean();
    is_plain
        || matches!((key.as_str(), value), ("required", Value::Array(_)))
        || key == "type" && value.is_string()
}

/// True if a keyword has a valid value.
fn is_sound(key: &str, value: &Value) -> bool {
    if inexact_integer_at(value).is_some() {
        return false;
    }
    match key {
        "description" | "format" | "pattern" | "title" => value.is_string(),
        "enum" => value.as_array().is_some_and(|all| !all.is_empty()),
        "uniqueItems" => value.is_boolean(),
        "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength" | "minProperties" => {
            value.is_u64()
        }
        "maximum" | "minimum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "exclusiveMaximum" | "exclusiveMinimum" => value.is_number() || value.is_boolean(),
        _ => true,
    }
}

/// A schema with the words that stand beside its reference.
fn with_description_of(stated: &Value, mut schema: Value) -> Value {
    let text = stated.get("description").filter(|text| text.is_string());
    if let (Some(text), Some(members)) = (text, schema.as_object_mut()) {
        members.insert("description".to_owned(), text.clone());
    }
    schema
}

/// Two schemas that both hold.
fn both(there: Value, beside: Value) -> Value {
    const WORDS: [&str; 3] = ["default", "description", "title"];
    match (there, beside) {
        (Value::Object(mut there), Value::Object(beside))
            if beside.keys().all(|key| WORDS.contains(&key.as_str())) =>
        {
            there.extend(beside);
            Value::Object(there)
        }
        (there, Value::Object(mut beside)) => {
            also(&mut beside, there);
            Value::Object(beside)
        }
        (there, _) => there,
    }
}

/// Adds a schema that holds, too.
fn also(schema: &mut Map<String, Value>, other: Value) {
    let all = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Value::Array(all) = all {
        all.push(other);
    }
}

/// Of simplified alternatives several may fit where one did: any of them is taken. Not every provider knows `oneOf` either.
fn any_of_several(schema: &mut Map<String, Value>) {
    let Some(several) = schema.remove("oneOf") else {
        return;
    };
    if schema.contains_key("anyOf") {
        also(schema, json!({"anyOf": several}));
    } else {
        schema.insert("anyOf".to_owned(), several);
    }
}

/// In 3.0 an exclusive bound is a word beside the bound.
fn bounds_of_30(schema: &mut Map<String, Value>) {
    for (exclusive, bound) in [
        ("exclusiveMaximum", "maximum"),
        ("exclusiveMinimum", "minimum"),
    ] {
        match schema.get(exclusive) {
            Some(Value::Bool(true)) => {
                schema.remove(exclusive);
                if let Some(value) = schema.remove(bound) {
                    schema.insert(exclusive.to_owned(), value);
                }
            }
            Some(Value::Bool(false)) => {
                schema.remove(exclusive);
            }
            _ => {}
        }
    }
}

/// Drops required names that are not arguments.
fn keep_required(schema: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let known: BTreeSet<String> = properties.keys().cloned().collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| name.as_str().is_some_and(|name| known.contains(name)));
    }
}

fn nullable(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(words)) = schema.get_mut("enum")
        && !words.contains(&Value::Null)
    {
        words.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(kind)) if kind != "null" => {
            schema.insert("type".to_owned(), json!([kind, "null"]));
            Value::Object(schema)
        }
        None if schema
            .keys()
            .any(|key| matches!(key.as_str(), "allOf" | "anyOf")) =>
        {
            json!({"anyOf": [Value::Object(schema), {"type": "null"}]})
        }
        _ => Value::Object(schema),
    }
}
