//! The arguments that a tool takes, in one line for a model. Does not validate them.

use std::collections::BTreeSet;

use serde_json::Value;

/// Maximum bytes of a signature.
const MAX_BYTES: usize = 400;
/// Maximum number of values or alternatives of one argument.
const MAX_CHOICES: usize = 6;
/// Maximum levels of lists.
const MAX_DEPTH: u8 = 3;

/// The signature of a schema, such as `{path: string, lines?: integer[]}`: the required arguments first.
pub(crate) fn signature(schema: &Value) -> String {
    let required: BTreeSet<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let none = serde_json::Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut properties: Vec<(&String, &Value)> = properties.unwrap_or(&none).iter().collect();
    properties.sort_by_key(|(name, _)| (!required.contains(name.as_str()), *name));
    let mut line = "{".to_owned();
    for (at, (name, schema)) in properties.into_iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let mark = if required.contains(name.as_str()) {
            ""
        } else {
            "?"
        };
        let argument = format!("{comma}{}{mark}: {}", word(name), kind(schema, 0));
        if line.len() + argument.len() + ", …}".len() > MAX_BYTES {
            line.push_str(comma);
            line.push('…');
            break;
        }
        line.push_str(&argument);
    }
    line.push('}');
    line
}

/// A name that is one word, else the text of a JSON string.
fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

fn kind(schema: &Value, depth: u8) -> String {
    let choices = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(values) = choices("enum") {
        return joined(values.iter().map(Value::to_string));
    }
    if let Some(branches) = choices("anyOf").or_else(|| choices("oneOf"))
        && depth < MAX_DEPTH
    {
        return joined(branches.iter().map(|branch| kind(branch, depth + 1)));
    }
    let named = |name: &str| match (name, schema.get("items")) {
        ("array", Some(items)) if depth < MAX_DEPTH => format!("{}[]", kind(items, depth + 1)),
        _ => name.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(name)) => named(name),
        Some(Value::Array(types)) => joined(types.iter().filter_map(Value::as_str).map(named)),
        _ => "any".to_owned(),
    }
}

fn joined(all: impl Iterator<Item = String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for one in all {
        if kept.len() == MAX_CHOICES {
            kept.push("…".to_owned());
            break;
        }
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept.join("|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn required_arguments_come_first_and_optional_ones_are_marked() {
        let check = |schema: Value, expect: &str| assert_eq!(signature(&schema), expect);
        check(
            json!({"type": "object", "required": ["text", "at"], "properties": {
                "text": {"type": "string"},
                "at": {"type": ["integer", "null"]},
                "all": {"type": "array", "items": {"type": "number"}},
                "mode": {"enum": ["a", "b", 1]},
                "who": {"anyOf": [{"type": "string"}, {"const": 7}, {"type": "string"}]},
                "odd name": {},
            }}),
            r#"{at: integer|null, text: string, all?: number[], mode?: "a"|"b"|1, "odd name"?: any, who?: string|7}"#,
        );
        check(json!({"type": "object"}), "{}");
        check(json!(true), "{}");
    }

    #[test]
    fn a_signature_has_a_bound() {
        let many: serde_json::Map<String, Value> = (0..200)
            .map(|n| (format!("argument_{n:03}"), json!({"type": "string"})))
            .collect();
        let line = signature(&json!({"properties": many}));
        assert!(line.len() <= MAX_BYTES, "{}", line.len());
        assert!(line.starts_with("{argument_000?: string, "), "{line}");
        assert!(line.ends_with(", …}"), "{line}");
        let values: Vec<usize> = (0..9).collect();
        let line = signature(&json!({"properties": {"n": {"enum": values}}}));
        assert_eq!(line, "{n?: 0|1|2|3|4|5|…}");
    }
}
