//! Tests of `wire_schema`.

use serde_json::{Value, json};

use crate::contract::wire_schema::*;

#[expect(clippy::needless_pass_by_value, reason = "its callers make the values")]
fn check(schema: Value, expect: Value) {
    let form = SchemaRules::Common.wire_schema(&schema);
    assert_eq!(form, Ok(expect), "{schema}");
}

#[expect(clippy::needless_pass_by_value, reason = "its callers make the values")]
fn refused(rules: SchemaRules, schema: Value, expect: &str) {
    let fault = rules.wire_schema(&schema).unwrap_err();
    assert!(fault.contains(expect), "{schema}: {fault}");
}

#[test]
fn a_schema_in_the_form_stays_and_a_missing_type_or_properties_are_added() {
    let kept =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}});
    check(kept.clone(), kept);
    let empty = json!({"type": "object", "properties": {}});
    check(json!({"type": "object"}), empty.clone());
    check(json!({}), empty.clone());
    check(json!({"type": ["null", "object"]}), empty);
    check(
        json!({"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"], "items": {"type": "array"}}}}),
        json!({
            "properties": {
                "a": {"type": "array", "items": {}},
                "b": {"type": ["array", "null"], "items": {"type": "array", "items": {}}},
            },
            "type": "object",
        }),
    );
}

#[test]
fn a_reference_at_the_top_is_replaced_by_what_it_leads_to_and_definitions_stay() {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "title": "Node"});
    check(
        json!({"$ref": "#/$defs/node", "$defs": {"node": node}, "description": "A list."}),
        json!({
            "$defs": {"node": node},
            "description": "A list.",
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}},
        }),
    );
    // The whole is still the same schema.
    let top = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    check(
        json!({"$ref": "#/$defs/top", "$defs": {"top": top}}),
        json!({"$defs": {"top": top}, "type": "object", "properties": {"next": {"$ref": "#"}}}),
    );
}

#[test]
fn the_only_alternative_that_takes_objects_takes_the_place_of_all() {
    let one = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
    for key in ["anyOf", "oneOf"] {
        check(json!({key: [{"type": "null"}, one]}), one.clone());
    }
    check(json!({"allOf": [one]}), one);
}

#[test]
fn alternatives_give_their_members_and_stay_as_a_rule_in_words() {
    let union = json!([
        {"properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["kind", "id"]},
        {"properties": {"kind": {"const": "name"}, "name": {"type": "string"}}, "required": ["kind", "name"]},
    ]);
    let form = SchemaRules::Common
        .wire_schema(&json!({"type": "object", "oneOf": union}))
        .unwrap();
    assert_eq!(
        form,
        json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer"},
                "kind": {"anyOf": [{"const": "id"}, {"const": "name"}]},
                "name": {"type": "string"},
            },
            "required": ["kind"],
            "description": format!("{RULE}{}", json!({"oneOf": union})),
        })
    );
    // Only a rule about members that the schema names itself.
    let needs = json!([{"required": ["a"]}, {"required": ["b"]}]);
    check(
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": needs, "description": "x"}),
        json!({
            "type": "object",
            "properties": {"a": {}, "b": {}},
            "description": format!("x\n{RULE}{}", json!({"anyOf": needs})),
        }),
    );
}

#[test]
fn no_keyword_of_alternatives_is_ever_left_at_the_top() {
    let inner = json!({"properties": {"a": {}}});
    for key in NOT_AT_THE_TOP.iter().filter(|key| **key != "$ref") {
        let value = match *key {
            "const" => json!({}),
            "enum" => json!([{}]),
            "not" => inner.clone(),
            _ => json!([inner, inner, {"required": ["b"]}]),
        };
        let schema = json!({"type": "object", (*key): value, "maxProperties": 3});
        let form = SchemaRules::Common.wire_schema(&schema).unwrap();
        assert!(
            NOT_AT_THE_TOP.iter().all(|key| form.get(key).is_none()),
            "{form}"
        );
        assert_eq!(form["maxProperties"], 3);
    }
}

#[test]
fn a_schema_without_the_form_says_why() {
    let common = SchemaRules::Common;
    refused(common, json!({"type": "string"}), "it takes no object");
    refused(
        common,
        json!({"type": ["string", "null"]}),
        "it takes no object",
    );
    refused(
        common,
        json!({"anyOf": [{"type": "string"}, {"enum": [1]}]}),
        "it takes no object",
    );
    refused(
        common,
        json!({"oneOf": [{"properties": {"a": {}}}, {}], "properties": {"b": {"$ref": "#/oneOf/0"}}}),
        "its reference #/oneOf/0",
    );
    refused(
        common,
        json!({"anyOf": [{}, {}], "properties": {"b": {"$ref": "#"}}}),
        "its reference #",
    );
}

#[test]
fn anthropic_takes_property_names_of_few_characters_and_schemas_of_2020() {
    let anthropic = SchemaRules::Anthropic;
    let named = |name: &str| json!({"type": "object", "properties": {name: {}}});
    for name in ["a", "a.b-c_D", &"x".repeat(64)] {
        assert!(anthropic.wire_schema(&named(name)).is_ok(), "{name}");
    }
    for name in ["$top", "filter[id]", "Account Number", "", &"x".repeat(65)] {
        refused(anthropic, named(name), "property names");
        assert!(
            SchemaRules::Common.wire_schema(&named(name)).is_ok(),
            "{name}"
        );
    }
    let inner = json!({"properties": {"filter": {"properties": {"$top": {}}}}});
    assert!(anthropic.wire_schema(&inner).is_ok());
    let draft4 = json!({"properties": {"n": {"minimum": 0, "exclusiveMinimum": true}}});
    refused(anthropic, draft4, "2020-12");
}
