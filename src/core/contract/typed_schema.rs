//! A schema whose keywords accept only values of the keyword's type. Judges no value.
//!
//! JSON Schema passes a keyword over where the value has another type: `pattern` says nothing of a number. A rule that allows calls
//! means the opposite: what its keyword cannot look at it does not allow.

use serde_json::{Map, Value, json};

/// Keywords with the type that they are about.
const TYPES: [(&str, &[&str]); 4] = [
    (
        "array",
        &[
            "additionalItems",
            "contains",
            "items",
            "maxContains",
            "maxItems",
            "minContains",
            "minItems",
            "prefixItems",
            "unevaluatedItems",
            "uniqueItems",
        ],
    ),
    (
        "number",
        &[
            "exclusiveMaximum",
            "exclusiveMinimum",
            "maximum",
            "minimum",
            "multipleOf",
        ],
    ),
    (
        "object",
        &[
            "additionalProperties",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "maxProperties",
            "minProperties",
            "patternProperties",
            "properties",
            "propertyNames",
            "required",
            "unevaluatedProperties",
        ],
    ),
    (
        "string",
        &[
            "contentEncoding",
            "contentMediaType",
            "contentSchema",
            "maxLength",
            "minLength",
            "pattern",
        ],
    ),
];
/// Formats of numbers (OpenAPI). Every other format is one of strings.
const NUMBER_FORMATS: [&str; 12] = [
    "decimal",
    "double",
    "double-int",
    "float",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
];
/// Keywords with one schema, or a list of them.
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords with schemas by name.
const NAMED_SCHEMAS: [&str; 6] = [
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Keywords whose value is compared with the judged one.
const VALUES: [&str; 2] = ["const", "enum"];

/// The schema where each schema in it has the types that its keywords are about. Its depth is bounded before.
pub(super) fn typed_schema(schema: &Value) -> Value {
    let Value::Object(stated) = schema else {
        return schema.clone();
    };
    let mut typed = stated.clone();
    for key in SCHEMAS {
        match typed.get_mut(key) {
            Some(Value::Array(all)) => all.iter_mut().for_each(|one| *one = typed_schema(one)),
            Some(one) => *one = typed_schema(one),
            None => {}
        }
    }
    for key in NAMED_SCHEMAS {
        if let Some(Value::Object(all)) = typed.get_mut(key) {
            all.values_mut().for_each(|one| *one = typed_schema(one));
        }
    }
    // A reference may lead to a schema below any other keyword.
    for (key, value) in &mut typed {
        let is_done = SCHEMAS.contains(&key.as_str()) || NAMED_SCHEMAS.contains(&key.as_str());
        if !is_done && !VALUES.contains(&key.as_str()) {
            *value = typed_below(value);
        }
    }
    let about = TYPES.iter().filter(|(_, keys)| {
        let mut keys = keys.iter();
        keys.any(|key| stated.contains_key(*key))
    });
    let mut about: Vec<&str> = about.map(|(name, _)| *name).collect();
    // A format judges no value, so it restricts no type that the schema states: `{type: string, format: int64}` is an ordinary one.
    let format = stated.get("format").and_then(Value::as_str);
    if let Some(format) = format.filter(|_| !stated.contains_key("type")) {
        let is_number = NUMBER_FORMATS.contains(&format);
        let name = if is_number { "number" } else { "string" };
        if !about.contains(&name) {
            about.push(name);
        }
    }
    if !about.is_empty() {
        restrict(&mut typed, &about);
    }
    Value::Object(typed)
}

/// Types every schema that a reference could reach in the value of an unknown keyword.
fn typed_below(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(typed_below).collect(),
        _ => typed_schema(value),
    }
}

/// Leaves a schema those types that it states and its keywords are about.
fn restrict(schema: &mut Map<String, Value>, about: &[&str]) {
    let stated = match schema.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => about.iter().map(|name| (*name).to_owned()).collect(),
    };
    let is_about = |name: &String| {
        let number = name == "integer" && about.contains(&"number");
        number || about.contains(&name.as_str())
    };
    let left: Vec<String> = stated.into_iter().filter(is_about).collect();
    if left.is_empty() {
        // It takes no value at all.
        schema.insert("not".to_owned(), json!({}));
    } else {
        schema.insert("type".to_owned(), json!(left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(schema: &Value, value: &Value) -> bool {
        jsonschema::is_valid(&typed_schema(schema), value)
    }

    #[test]
    fn a_keyword_takes_no_value_of_another_type() {
        let cases = [
            (
                json!({"pattern": "^a"}),
                json!("ab"),
                vec![json!(1), json!(["a"]), json!(null)],
            ),
            (
                json!({"maximum": 10}),
                json!(10),
                vec![json!("11"), json!([11]), json!({})],
            ),
            (
                json!({"type": "integer", "minimum": 1}),
                json!(2),
                vec![json!(0), json!("2")],
            ),
            (
                json!({"items": {"pattern": "a"}}),
                json!(["a"]),
                vec![json!("b"), json!([1])],
            ),
            (
                json!({"required": ["a"]}),
                json!({"a": 1}),
                vec![json!("a"), json!(["a"])],
            ),
            (
                json!({"anyOf": [{"pattern": "a"}, {"type": "integer"}]}),
                json!(5),
                vec![json!(0.5), json!([])],
            ),
            (
                json!({"not": {"not": {"pattern": "a"}}}),
                json!("a"),
                vec![json!(5), json!("b")],
            ),
        ];
        for (schema, good, bad) in cases {
            assert!(takes(&schema, &good), "{schema} {good}");
            for value in bad {
                assert!(!takes(&schema, &value), "{schema} {value}");
            }
        }
        for (place, pointer) in [
            (json!({"schemas": {"w": {"maximum": 5}}}), "schemas/w"),
            (json!([{"maximum": 5}]), "0"),
            (json!({"a": {"x-b": {"maximum": 5}}}), "a/x-b"),
        ] {
            let reference = format!("#/components/{pointer}");
            let schema = json!({"$ref": reference, "components": place});
            assert!(takes(&schema, &json!(5)), "{schema}");
            assert!(!takes(&schema, &json!("100")), "{schema}");
        }
        let union = json!({"type": ["string", "integer"], "pattern": "a"});
        assert!(takes(&union, &json!("a")) && !takes(&union, &json!(1)));
        let none = json!({"type": "object", "pattern": "a"});
        assert!(!takes(&none, &json!("a")) && !takes(&none, &json!({})));
    }

    #[test]
    fn a_format_takes_no_value_of_another_type() {
        let values = [
            json!("a@b.c"),
            json!(5),
            json!(0.5),
            json!(true),
            json!(null),
            json!(["a"]),
            json!({"a": 1}),
        ];
        let check = |schema: Value, taken: &[usize]| {
            for (n, value) in values.iter().enumerate() {
                assert_eq!(
                    takes(&schema, value),
                    taken.contains(&n),
                    "{schema} {value}"
                );
            }
        };
        for format in ["email", "date-time", "uuid", "unknown"] {
            check(json!({ "format": format }), &[0]);
            check(json!({"type": "string", "format": format}), &[0]);
            check(
                json!({"type": ["string", "null"], "format": format}),
                &[0, 4],
            );
        }
        for format in NUMBER_FORMATS {
            check(json!({ "format": format }), &[1, 2]);
            check(json!({"type": "integer", "format": format}), &[1]);
            check(json!({"type": "string", "format": format}), &[0]);
        }
        check(json!({"maximum": 9, "format": "int64"}), &[1, 2]);
        check(
            json!({"type": "integer", "minimum": 9, "format": "int64"}),
            &[],
        );
        for keyword in ["contentEncoding", "contentMediaType"] {
            check(json!({keyword: "base64"}), &[0]);
        }
        check(json!({"contentSchema": {"maximum": 1}}), &[0]);
    }

    #[test]
    fn names_of_members_and_data_are_no_keywords() {
        let named = json!({"properties": {"pattern": {}, "items": true}});
        assert_eq!(
            typed_schema(&named),
            json!({"properties": {"pattern": {}, "items": true}, "type": ["object"]})
        );
        for data in [
            json!({"const": {"pattern": "a"}}),
            json!({"enum": [{"maximum": 1}]}),
            json!(true),
        ] {
            assert_eq!(typed_schema(&data), data);
        }
    }
}
