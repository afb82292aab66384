//! The keywords of JSON Schema, and which of them a grammar can express. Knows names only.

use serde_json::{Map, Value};

use crate::contract::schema_bounds::{SchemaFault, join};

/// Keywords that constrain the value in a way that no grammar of this form can.
pub(super) const REFUSED: [&str; 17] = [
    "$dynamicRef",
    "$recursiveRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "multipleOf",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
];
/// Keywords that constrain a value, apart from the combining ones.
pub(super) const STRUCTURE: [&str; 19] = [
    "additionalProperties",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "properties",
    "required",
    "unevaluatedProperties",
    "uniqueItems",
];
pub(super) const COMBINING: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// True if a keyword that cannot be expressed allows every value.
pub(super) fn is_vacuous(key: &str, schema: &Map<String, Value>) -> bool {
    match (key, schema.get(key)) {
        ("patternProperties", Some(Value::Object(patterns))) => patterns.is_empty(),
        ("propertyNames" | "unevaluatedItems", Some(Value::Bool(true))) => true,
        ("if", _) => !schema.contains_key("then") && !schema.contains_key("else"),
        ("then" | "else", _) => !schema.contains_key("if"),
        ("minContains" | "maxContains", _) => !schema.contains_key("contains"),
        ("multipleOf", Some(step)) => {
            step.as_u64() == Some(1) && types_of(schema).is_some_and(|t| !t.contains(&"number"))
        }
        _ => false,
    }
}

/// The types that a schema names, or that its keywords are about; None if it names none.
pub(super) fn types_of(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type") {
        Some(Value::String(kind)) => return Some(vec![kind]),
        Some(Value::Array(kinds)) => return Some(kinds.iter().filter_map(Value::as_str).collect()),
        _ => {}
    }
    let about = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
    if about(&["properties", "required", "additionalProperties"]) {
        Some(vec!["object"])
    } else if about(&["items", "minItems", "maxItems", "uniqueItems"]) {
        Some(vec!["array"])
    } else if about(&["minLength", "maxLength", "pattern"]) {
        Some(vec!["string"])
    } else if about(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) {
        Some(vec!["number"])
    } else {
        None
    }
}

/// True if a value has that type.
pub(super) fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => false,
    }
}

/// A pair of counts, the upper one within `limit`.
pub(super) fn span(
    schema: &Map<String, Value>,
    (least, most): (&str, &str),
    limit: u32,
    at: &str,
) -> Result<(u32, u32), SchemaFault> {
    let count = |key: &str| schema.get(key).and_then(Value::as_f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float-to-int casts saturate"
    )]
    let whole = |number: f64| number as u32;
    let low = whole(count(least).unwrap_or(0.0));
    let high = count(most).map_or(limit, |most| whole(most).min(limit));
    if low > limit {
        let rule = format!("it is more than {limit}, the most that the gate's grammar offers");
        return Err(fault(&join(at, least), &rule));
    }
    if low > high {
        return Err(fault(
            &join(at, least),
            &format!("it is more than `{most}`"),
        ));
    }
    Ok((low, high))
}

pub(super) fn fault(pointer: &str, rule: &str) -> SchemaFault {
    SchemaFault {
        pointer: pointer.to_owned(),
        rule: rule.to_owned(),
    }
}
