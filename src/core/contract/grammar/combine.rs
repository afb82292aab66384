//! Merges schemas that apply to one value. Does not know grammars.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::keywords::{STRUCTURE, is, types_of};

/// Maximum length of a chain of references.
const MAX_STEPS: usize = 8;
/// Maximum depth of a comparison.
const MAX_DEPTH: usize = 4;
/// Keywords about the members of an object: those of one schema bind the members that another one adds.
const MEMBERS: [&str; 4] = [
    "additionalProperties",
    "maxProperties",
    "properties",
    "unevaluatedProperties",
];

/// The schema that a local reference names, with its pointer.
pub(super) fn resolve<'v, 'r>(root: &'v Value, target: &'r str) -> Option<(&'v Value, &'r str)> {
    let pointer = target.strip_prefix('#')?;
    root.pointer(pointer).map(|found| (found, pointer))
}

/// Follows references that have no other keywords.
fn followed<'v>(root: &'v Value, mut schema: &'v Value) -> &'v Value {
    for _ in 0..MAX_STEPS {
        let Some(map) = schema.as_object() else { break };
        let has_key = |key: &&str| map.contains_key(*key);
        let alone = !STRUCTURE.iter().any(has_key)
            && !["type", "allOf", "anyOf", "oneOf"].iter().any(has_key);
        let target = map.get("$ref").and_then(Value::as_str).filter(|_| alone);
        match target.and_then(|target| resolve(root, target)) {
            Some((found, _)) => schema = found,
            None => break,
        }
    }
    schema
}

/// One schema with the constraints of two.
///
/// # Errors
/// The rule by which they cannot be made one.
pub(super) fn merge(
    root: &Value,
    base: &Map<String, Value>,
    other: &Value,
) -> Result<Map<String, Value>, String> {
    let other = match followed(root, other) {
        Value::Object(other) => other,
        Value::Bool(true) => return Ok(base.clone()),
        _ => return Err("it cannot be merged with the keywords beside it".to_owned()),
    };
    let mut merged = base.clone();
    let speaks = |schema: &Map<String, Value>| MEMBERS.iter().any(|key| schema.contains_key(*key));
    if speaks(base) && speaks(other) {
        return Err("two schemas of one object's members cannot be made one".to_owned());
    }
    for (key, value) in other {
        match (merged.get_mut(key), key.as_str()) {
            (None, _) => {
                merged.insert(key.clone(), value.clone());
            }
            (Some(before), _) if before == value => {}
            (Some(Value::Array(before)), "required") => {
                let more = value.as_array().into_iter().flatten();
                before.extend(more.cloned());
            }
            (Some(_), key) if is_annotation(key) => {}
            (Some(_), _) => {
                return Err(format!("`{key}` is here and beside it, with another value"));
            }
        }
    }
    Ok(merged)
}

/// True if a keyword does not constrain the value.
fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "$comment"
            | "$defs"
            | "$id"
            | "$schema"
            | "default"
            | "definitions"
            | "deprecated"
            | "description"
            | "examples"
            | "format"
            | "readOnly"
            | "title"
            | "writeOnly"
    )
}

/// True if no value can fit both; only obvious cases count.
pub(super) fn disjoint(root: &Value, one: &Value, other: &Value, depth: usize) -> bool {
    let (one, other) = (followed(root, one), followed(root, other));
    if one == &Value::Bool(false) || other == &Value::Bool(false) {
        return true;
    }
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return false;
    };
    if depth > MAX_DEPTH {
        return false;
    }
    if let (Some(some), Some(others)) = (types_named(one), types_named(other)) {
        let number = |kind: &str| if kind == "integer" { "number" } else { kind }.to_owned();
        let some: BTreeSet<String> = some.into_iter().map(number).collect();
        let others: BTreeSet<String> = others.into_iter().map(number).collect();
        if some.is_disjoint(&others) {
            return true;
        }
    }
    match (values_of(one), values_of(other)) {
        (Some(some), Some(others)) => {
            return !some
                .iter()
                .any(|value| others.iter().any(|v| same(v, value)));
        }
        (Some(values), None) => {
            if excluded(&values, other) {
                return true;
            }
        }
        (None, Some(values)) => {
            if excluded(&values, one) {
                return true;
            }
        }
        (None, None) => {}
    }
    // Objects that both must have a member whose schemas exclude each other.
    let objects = [one, other].map(|schema| types_named(schema) == Some(vec!["object"]));
    let needs = |schema: &Map<String, Value>, name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.into_iter().flatten().any(|n| n == name)
    };
    objects == [true, true]
        && properties(one).any(|(name, member)| {
            properties(other).any(|(n, m)| {
                name == n
                    && needs(one, name)
                    && needs(other, name)
                    && disjoint(root, member, m, depth + 1)
            })
        })
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let members = schema.get("properties").and_then(Value::as_object);
    members.into_iter().flat_map(Map::iter)
}

/// The types that a schema states; what its keywords are merely about excludes nothing.
fn types_named(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    schema.get("type").and_then(|_| types_of(schema))
}

fn values_of(schema: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// True if two values may be equal by the rules of JSON Schema: 1 and 1.0 are the same number at any depth.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => true,
        _ => one == other,
    }
}

/// True if the schema names types, and none of the values has one.
fn excluded(values: &[&Value], schema: &Map<String, Value>) -> bool {
    types_named(schema).is_some_and(|types| {
        !values
            .iter()
            .any(|value| types.iter().any(|t| is(value, t)))
    })
}
