//! The value types of tool parameters, read from their schemas. Does not validate arguments.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::contract::{Terms, WireNames};

/// Maximum number of references that are followed from one schema to the next.
const MAX_REFERENCES: usize = 8;

/// The value kinds of the offered tools' parameters: for a form of calls that writes values as bare text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ParameterTypes(BTreeMap<String, BTreeMap<String, Vec<Kind>>>);

/// A kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Array,
    Boolean,
    Null,
    Number,
    Object,
    String,
}

impl ParameterTypes {
    /// Gathers the types of all tools that a contract offers, including the session's own tools; by wire name.
    pub(super) fn of(terms: &Terms) -> Self {
        let tool = |(name, schema): (&String, &Value)| {
            let properties = schema.get("properties").and_then(Value::as_object);
            let kinds = properties.into_iter().flatten().map(|(key, property)| {
                let mut kinds = Vec::new();
                gather(property, schema, MAX_REFERENCES, &mut kinds);
                kinds.sort_unstable();
                kinds.dedup();
                (key.clone(), kinds)
            });
            (name.clone(), kinds.collect())
        };
        let names = WireNames::of(terms);
        let offered = terms.offered_tools(false);
        Self(
            offered
                .map(|offer| tool((&names.wire(&offer.name), &offer.input_schema)))
                .collect(),
        )
    }

    /// The kinds that a parameter takes; none if nothing is known of it.
    pub(super) fn kinds(&self, tool: &str, parameter: &str) -> &[Kind] {
        let parameters = self.0.get(tool);
        let kinds = parameters.and_then(|parameters| parameters.get(parameter));
        kinds.map_or(&[], Vec::as_slice)
    }
}

/// Adds the kinds that `schema` names; a schema that names none allows every value, and so a string.
fn gather(schema: &Value, root: &Value, references: usize, kinds: &mut Vec<Kind>) {
    let before = kinds.len();
    match schema.get("type") {
        Some(Value::String(word)) => kinds.extend(Kind::named(word)),
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str);
            kinds.extend(words.filter_map(Kind::named));
        }
        _ => {}
    }
    if kinds.len() > before {
        return;
    }
    let listed = schema.get("enum").and_then(Value::as_array);
    let values = listed.into_iter().flatten().chain(schema.get("const"));
    kinds.extend(values.map(Kind::of));
    for key in ["anyOf", "oneOf", "allOf"] {
        let branches = schema.get(key).and_then(Value::as_array);
        for branch in branches.into_iter().flatten() {
            gather(branch, root, references, kinds);
        }
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
    if let Some(target) = pointer.and_then(|pointer| root.pointer(pointer))
        && let Some(left) = references.checked_sub(1)
    {
        gather(target, root, left, kinds);
    }
    if kinds.len() == before {
        kinds.push(Kind::String);
    }
}

impl Kind {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "array" => Self::Array,
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            "integer" | "number" => Self::Number,
            "object" => Self::Object,
            "string" => Self::String,
            _ => return None,
        })
    }

    const fn of(value: &Value) -> Self {
        match value {
            Value::Array(_) => Self::Array,
            Value::Bool(_) => Self::Boolean,
            Value::Null => Self::Null,
            Value::Number(_) => Self::Number,
            Value::Object(_) => Self::Object,
            Value::String(_) => Self::String,
        }
    }

    /// The kind of the one JSON value that `text` is; none if it is none.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Some(match raw.get().as_bytes().first()? {
            b'[' => Self::Array,
            b't' | b'f' => Self::Boolean,
            b'n' => Self::Null,
            b'{' => Self::Object,
            b'"' => Self::String,
            _ => Self::Number,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(property: &Value, expect: &[Kind]) {
        let root = json!({
            "$defs": {"count": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
            "properties": {"p": property},
        });
        let mut kinds = Vec::new();
        gather(property, &root, MAX_REFERENCES, &mut kinds);
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, expect, "{property}");
    }

    #[test]
    fn a_schema_names_kinds_or_allows_a_string() {
        use Kind::{Array, Boolean, Null, Number, Object, String};
        check(&json!({"type": "integer"}), &[Number]);
        check(&json!({"type": ["string", "null"]}), &[Null, String]);
        check(
            &json!({"anyOf": [{"type": "array"}, {"type": "object"}]}),
            &[Array, Object],
        );
        check(&json!({"enum": [1, true]}), &[Boolean, Number]);
        check(&json!({"const": "a"}), &[String]);
        check(&json!({"$ref": "#/$defs/count"}), &[Number]);
        for any in [
            json!({}),
            json!(true),
            json!({"type": "file"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "#/$defs/loop"}),
            json!({"$ref": "https://example.org/x"}),
        ] {
            check(&any, &[String]);
        }
    }
}
