//! Schemas of a description as schemas of arguments: written out without references, bounded, in the one dialect that validators and models
//! read. Judges no arguments.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::document::{SpecDocument, SpecVersion, reference_of};
use super::fault::OpenapiFault;
use crate::contract::inexact_integer_at;

/// How deeply a schema is written out; below it anything is taken.
const MOST_DEPTH: usize = 12;
/// How many schemas the arguments of one tool have, all references written out; beyond it anything is taken.
const MOST_SCHEMAS: usize = 600;

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
    document: &'d SpecDocument,
    /// What of the value that is being described only answers have.
    in_answers: BTreeSet<&'d str>,
    left: usize,
    /// The references that are being written out.
    open: Vec<String>,
}

impl<'d> SchemaWriter<'d> {
    pub(super) const fn new(document: &'d SpecDocument) -> Self {
        Self {
            document,
            in_answers: BTreeSet::new(),
            left: MOST_SCHEMAS,
            open: Vec::new(),
        }
    }

    /// A schema written out. One that contains itself takes anything where it does.
    pub(super) fn write(&mut self, schema: &'d Value) -> Result<Value, OpenapiFault> {
        self.value(schema, MOST_DEPTH)
    }

    /// The schema of a value of its own: a member, an item.
    fn value(&mut self, schema: &'d Value, depth: usize) -> Result<Value, OpenapiFault> {
        let within = self.read_only(schema);
        let around = std::mem::replace(&mut self.in_answers, within);
        let written = self.at_depth(schema, depth);
        self.in_answers = around;
        written
    }

    /// The properties that only answers have, wherever what describes the same value says so.
    fn read_only(&self, schema: &'d Value) -> BTreeSet<&'d str> {
        let (mut found, mut followed) = (BTreeSet::new(), BTreeSet::new());
        let (mut open, mut left) = (vec![schema], MOST_SCHEMAS);
        while let Some(schema) = open.pop().filter(|_| left > 0) {
            left -= 1;
            if let Some(reference) = reference_of(schema)
                && followed.insert(reference)
            {
                open.extend(self.document.at(reference).ok());
            }
            let list = |key: &str| schema.get(key).and_then(Value::as_array);
            let parts = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(list);
            open.extend(parts.flatten());
            let properties = schema.get("properties").and_then(Value::as_object);
            let properties = properties.into_iter().flatten();
            let of_answers = properties.filter(|(_, property)| self.is_read_only(property));
            found.extend(of_answers.map(|(name, _)| name.as_str()));
        }
        found
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
        if depth == 0 || self.open.iter().any(|open| open == reference) {
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

    /// What a schema says itself, but for where it refers to.
    fn own(&mut self, schema: &'d Value, depth: usize) -> Result<Value, OpenapiFault> {
        let members = match schema {
            Value::Bool(false) => return Ok(json!({"not": {}})),
            Value::Object(members) => members,
            _ => return Ok(json!({})),
        };
        self.left = self.left.saturating_sub(1);
        let Some(below) = depth.checked_sub(1).filter(|_| self.left > 0) else {
            return Ok(anything_like(schema));
        };
        let mut out = Map::new();
        if let Some(kind) = type_of(members) {
            out.insert("type".to_owned(), kind);
        }
        for (key, value) in members {
            if let Some(value) = self.keyword(key, value, below)? {
                out.insert(key.clone(), value);
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

    fn keyword(
        &mut self,
        key: &str,
        value: &'d Value,
        depth: usize,
    ) -> Result<Option<Value>, OpenapiFault> {
        let written = match (key, value) {
            ("properties", Value::Object(properties)) => {
                let mut out = Map::new();
                for (name, property) in properties {
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
            ("not", Value::Object(members)) if members.iter().all(is_exact) => value.clone(),
            ("additionalProperties", Value::Bool(_)) => value.clone(),
            ("additionalProperties", Value::Object(_)) => self.value(value, depth)?,
            ("allOf" | "anyOf" | "oneOf", Value::Array(items)) if !items.is_empty() => {
                let items = items.iter().map(|item| self.at_depth(item, depth));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            ("prefixItems", Value::Array(items)) if !items.is_empty() => {
                let items = items.iter().map(|item| self.value(item, depth));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            ("required", Value::Array(names)) => {
                let mut names: Vec<Value> =
                    names.iter().filter(|n| n.is_string()).cloned().collect();
                names.dedup();
                let in_answers = &self.in_answers;
                names.retain(|name| !name.as_str().is_some_and(|name| in_answers.contains(name)));
                Value::Array(names)
            }
            (key, value) if PLAIN.contains(&key) && is_sound(key, value) => value.clone(),
            _ => return Ok(None),
        };
        Ok(Some(written))
    }
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

/// Whether a keyword is written as it stands. What is simplified takes more, and the opposite of that less.
fn is_exact((key, value): (&String, &Value)) -> bool {
    let is_plain = PLAIN.contains(&key.as_str()) && is_sound(key, value) && !value.is_boolean();
    is_plain
        || matches!((key.as_str(), value), ("required", Value::Array(_)))
        || key == "type" && value.is_string()
}

/// Whether a keyword has a value that it can have.
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

/// What is not an argument is not needed either.
fn keep_required(schema: &mut Map<String, Value>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let known: Vec<String> = properties.keys().cloned().collect();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| {
            name.as_str()
                .is_some_and(|name| known.iter().any(|k| k == name))
        });
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
