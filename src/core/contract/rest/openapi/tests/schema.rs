//! Tests of schemas of a description as schemas of arguments.

use serde_json::{Value, json};

use super::{described, tool, tools};

/// Returns the schema of argument `body` of a `POST`.
fn written(version: &str, schema: &Value, schemas: &Value) -> Value {
    let content = json!({"application/json": {"schema": schema}});
    let mut description =
        described(&json!({"/a": {"post": {"requestBody": {"content": content}}}}));
    description["openapi"] = json!(version);
    description["components"] = json!({"schemas": schemas});
    let mut body = tool(&description).input_schema["properties"]["body"].clone();
    body.as_object_mut().unwrap().remove("description");
    body
}

fn check(version: &str, schema: &Value, expect: &Value) {
    assert_eq!(
        written(version, schema, &json!({})),
        *expect,
        "{version} {schema}"
    );
}

#[test]
fn the_dialect_of_30_becomes_json_schema() {
    check(
        "3.0.3",
        &json!({"type": "string", "nullable": true}),
        &json!({"type": ["string", "null"]}),
    );
    check(
        "3.0.3",
        &json!({"type": "string", "enum": ["a"], "nullable": true}),
        &json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    check(
        "3.0.3",
        &json!({"allOf": [{"type": "object"}], "nullable": true}),
        &json!({"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]}),
    );
    check(
        "3.0.3",
        &json!({"type": "number", "minimum": 1, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": false}),
        &json!({"type": "number", "exclusiveMinimum": 1, "maximum": 5}),
    );
    check(
        "3.1.0",
        &json!({"type": ["string", "null"]}),
        &json!({"type": ["string", "null"]}),
    );
    // It is no word of 3.1.
    check(
        "3.1.0",
        &json!({"type": "string", "nullable": true}),
        &json!({"type": "string"}),
    );
    check(
        "3.0.3",
        &json!({"type": "file"}),
        &json!({"type": "string"}),
    );
}

#[test]
fn only_what_is_written_to_the_service_is_an_argument() {
    check(
        "3.0.3",
        &json!({
            "type": "object", "required": ["id", "name"], "example": {}, "discriminator": {"propertyName": "x"},
            "properties": {"id": {"type": "integer", "readOnly": true}, "name": {"type": "string", "xml": {"name": "n"}}},
        }),
        &json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}),
    );
}

/// OpenAPI 3.1: `required` of a property that is `readOnly` holds for answers alone, wherever the two are written.
#[test]
fn what_only_answers_have_is_not_required_by_what_is_written_beside_it() {
    let pet = json!({"Pet": {"type": "object", "required": ["id"], "properties": {
        "id": {"type": "integer", "readOnly": true}, "name": {"type": "string"},
    }}});
    let reference = json!({"$ref": "#/components/schemas/Pet"});
    let own = json!({"type": "object", "required": [], "properties": {"name": {"type": "string"}}});
    let check = |version: &str, schema: &Value, expect: &Value| {
        assert_eq!(
            written(version, schema, &pet),
            *expect,
            "{version} {schema}"
        );
    };
    for version in ["3.0.3", "3.1.0"] {
        let all = json!({"allOf": [reference, {"required": ["id", "name"]}]});
        check(
            version,
            &all,
            &json!({"allOf": [own, {"required": ["name"]}]}),
        );
        let any = json!({"required": ["id", "name"], "anyOf": [reference, {"type": "string"}]});
        let expect = json!({"required": ["name"], "anyOf": [own, {"type": "string"}]});
        check(version, &any, &expect);
        // A member of that name in another value is another one.
        let below = json!({"properties": {"pet": reference}, "allOf": [{"required": ["id"]}]});
        let expect = json!({"properties": {"pet": own}, "allOf": [{"required": ["id"]}]});
        check(version, &below, &expect);
    }
    let beside = json!({"$ref": "#/components/schemas/Pet", "required": ["id", "name"]});
    check(
        "3.1.0",
        &beside,
        &json!({"required": ["name"], "allOf": [own]}),
    );
    let word = json!({"properties": {"a": {"$ref": "#/components/schemas/Pet", "readOnly": true}}});
    check("3.1.0", &word, &json!({"properties": {}}));
}

/// Simplified schemas take more: what one of several rules out must not rule out what it took before.
#[test]
fn alternatives_and_opposites_refuse_nothing_that_the_service_takes() {
    check(
        "3.1.0",
        &json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        &json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    );
    check(
        "3.1.0",
        &json!({"oneOf": [{"type": "string"}], "anyOf": [{"minLength": 1}]}),
        &json!({"anyOf": [{"minLength": 1}], "allOf": [{"anyOf": [{"type": "string"}]}]}),
    );
    check(
        "3.1.0",
        &json!({"not": {"required": ["a", "b"]}}),
        &json!({"not": {"required": ["a", "b"]}}),
    );
    check(
        "3.1.0",
        &json!({"not": {"properties": {"a": {"if": {}}}}}),
        &json!({}),
    );
}

#[test]
fn what_stands_beside_a_reference_counts_as_its_version_says() {
    let schemas = json!({"A": {"type": "object", "description": "of A"}});
    let beside = json!({"$ref": "#/components/schemas/A", "description": "own", "required": ["x"]});
    let content = json!({"properties": {"a": beside}});
    assert_eq!(
        written("3.0.3", &content, &schemas)["properties"]["a"],
        json!({"type": "object", "description": "own"})
    );
    assert_eq!(
        written("3.1.0", &content, &schemas)["properties"]["a"],
        json!({"description": "own", "required": ["x"], "allOf": [{"type": "object", "description": "of A"}]})
    );
}

/// Fault S8: a description that contains itself is bounded, and the same each time.
#[test]
fn s8_a_circular_reference_is_written_out_once() {
    let schemas = json!({
        "Node": {"type": "object", "properties": {
            "name": {"type": "string"},
            "left": {"$ref": "#/components/schemas/Node"},
            "all": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
        }},
        "Loop": {"$ref": "#/components/schemas/Pool"},
        "Pool": {"$ref": "#/components/schemas/Loop"},
    });
    let node = json!({"$ref": "#/components/schemas/Node"});
    assert_eq!(
        written("3.1.0", &node, &schemas),
        json!({"type": "object", "properties": {
            "name": {"type": "string"},
            "left": {"type": "object"},
            "all": {"type": "array", "items": {"type": "object"}},
        }})
    );
    assert_eq!(
        written(
            "3.1.0",
            &json!({"$ref": "#/components/schemas/Loop"}),
            &schemas
        ),
        json!({})
    );
    // Sixty schemas, each of which has every other: written out they would be 60! and are bounded.
    let name = |n: usize| format!("S{n}");
    let many: serde_json::Map<String, Value> = (0..60)
        .map(|n| {
            let others: serde_json::Map<String, Value> = (0..60)
                .map(|m| {
                    (
                        name(m),
                        json!({"$ref": format!("#/components/schemas/S{m}")}),
                    )
                })
                .collect();
            (name(n), json!({"type": "object", "properties": others}))
        })
        .collect();
    let first = json!({"$ref": "#/components/schemas/S0"});
    let once = written("3.1.0", &first, &json!(many)).to_string();
    assert!(once.len() < 200_000, "{} bytes", once.len());
    assert_eq!(once, written("3.1.0", &first, &json!(many)).to_string());
    // A reference of a parameter that leads to itself costs its operation.
    let mut description = described(&json!({
        "/a": {"get": {"parameters": [{"$ref": "#/components/parameters/P"}]}},
        "/b": {"get": {}},
    }));
    description["components"] = json!({"parameters": {"P": {"$ref": "#/components/parameters/P"}}});
    let found = tools(&description);
    assert_eq!(found.tools.len(), 1);
    assert_eq!(found.left_out[0].0, "#/paths/~1a/get");
    let said = found.left_out[0].1.to_string();
    assert!(said.contains("leads back to itself"), "{said}");
}

#[test]
fn what_no_validator_reads_is_left_out_of_a_schema() {
    let (bad, good) = (
        json!({"type": "string", "pattern": "(?<=a"}),
        json!({"type": "string", "pattern": "^a$"}),
    );
    let description = described(&json!({"/a": {"get": {"parameters": [
        {"name": "bad", "in": "query", "schema": bad, "description": "d"},
        {"name": "good", "in": "query", "schema": good},
    ]}}}));
    let schema = tool(&description).input_schema;
    assert_eq!(
        schema["properties"]["bad"],
        json!({"type": "string", "description": "d"})
    );
    assert_eq!(schema["properties"]["good"]["pattern"], json!("^a$"));
}
