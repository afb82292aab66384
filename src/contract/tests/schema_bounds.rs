//! What a schema may cost, judged before anything is compiled from it.

use serde_json::{Value, json};

use super::fixture::make;
use crate::contract::schema_bounds::MULTIPLY;
use crate::contract::{Terms, Validators, tool_faults_with};
use crate::message::Digest;

fn refused(schema: &Value, pointer: &str, rule: &str) {
    let fault = Validators::fault_of(schema).map(|f| (f.pointer, f.rule));
    assert_eq!(
        fault,
        Some((pointer.to_owned(), rule.to_owned())),
        "{schema}"
    );
}

#[test]
fn schemas_are_bounded_in_size_and_depth() {
    let long = "x".repeat(300_000);
    refused(
        &json!({"description": long}),
        "",
        "it is longer than 262144 bytes",
    );
    let mut deep = json!({});
    for _ in 0..60 {
        deep = json!({"not": deep});
    }
    let fault = Validators::fault_of(&deep).unwrap();
    assert_eq!(fault.rule, "nested deeper than 48 levels");
}

#[test]
fn a_schema_holds_so_many_objects_and_keys_of_such_a_length() {
    let members: serde_json::Map<String, Value> =
        (0..1022).map(|n| (format!("p{n:04}"), json!({}))).collect();
    let mut wide = json!({"properties": members});
    assert_eq!(Validators::fault_of(&wide), None);
    wide["properties"]["p9999"] = json!({});
    refused(&wide, "/properties/p9999", "more than 1024 objects");
    let key = "é".repeat(3000);
    let fault = Validators::fault_of(&json!({"properties": {key: {"not": {}}}})).unwrap();
    assert_eq!(fault.rule, "its keys are longer than 4096 bytes up to here");
    assert!(fault.pointer.len() <= 200);
}

/// `levels` definitions, each of which applies the next one twice.
fn ladder(levels: usize, step: impl Fn(String) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for n in 0..levels {
        definitions.insert(format!("d{n}"), step(format!("#/$defs/d{}", n + 1)));
    }
    definitions.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$defs": definitions, "$ref": "#/$defs/d0"})
}

#[test]
fn alternatives_that_multiply_are_refused_before_they_cost_anything() {
    let twice = |next: String| json!({"anyOf": [{"$ref": next}, {"$ref": next}]});
    refused(&ladder(40, twice), "/$defs/d29", MULTIPLY);
    assert_eq!(Validators::fault_of(&ladder(5, twice)), None);
    let loops = "it refers to itself without looking at a smaller value";
    refused(&json!({"$ref": "#"}), "", loops);
    let two = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"not": {"$ref": "#/$defs/b"}}, "b": {"if": {"$ref": "#/$defs/a"}}}});
    assert_eq!(
        Validators::fault_of(&two).map(|f| f.rule),
        Some(loops.to_owned())
    );
}

#[test]
fn a_bomb_that_nothing_sets_off_is_refused_where_it_stands() {
    let twice = |next: String| json!({"anyOf": [{"$ref": next}, {"$ref": next}]});
    let mut unused = ladder(40, twice);
    unused["$ref"] = json!("#/$defs/d40");
    let fault = Validators::fault_of(&unused).unwrap();
    assert_eq!(fault.rule, MULTIPLY);
    assert!(fault.pointer.starts_with("/$defs/d"), "{}", fault.pointer);
}

/// Each place is looked at less often than is allowed, and yet the pairs of schemas grow with the square.
#[test]
fn a_long_chain_is_refused_before_it_is_followed_to_its_end() {
    let once = |next: String| json!({"$ref": next});
    assert_eq!(Validators::fault_of(&ladder(100, once)), None);
    let fault = Validators::fault_of(&ladder(1000, once)).unwrap();
    assert_eq!(fault.rule, "its schemas apply one another too often");
    let member = |next: String| json!({"properties": {"a": {"$ref": next}}});
    let deep = ladder(330, member);
    assert_eq!(Validators::fault_of(&deep), None);
    let deep = ladder(510, |next| json!({"items": {"$ref": next}}));
    assert_eq!(Validators::fault_of(&deep), None);
}

/// A second compilation would find what the schema says now.
#[test]
fn what_was_found_out_of_a_schema_is_not_found_out_again() {
    let mut terms = (*make(&["allowed_tools=[read_file]"])).clone();
    let good = terms.tool("read_file").unwrap().input_schema.clone();
    let bad = json!({"type": 1});
    let mut say = |schema: &Value| {
        for tool in &mut terms.tools {
            tool.input_schema = schema.clone();
        }
        terms.clone()
    };
    let compiled = Validators::compile(&say(&good));
    let broken = Validators::compile(&say(&bad));
    let faults = |validators: &Validators, terms: &Terms| {
        let faults = tool_faults_with(terms, validators);
        faults.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let fault = faults(&broken, &say(&bad));
    assert_eq!(fault, faults(&Validators::default(), &say(&bad)));
    assert_eq!(fault.len(), 1);
    assert_eq!(faults(&broken, &say(&good)), fault);
    assert_eq!(faults(&compiled, &say(&bad)), Vec::<String>::new());
    let mut other = say(&bad);
    other.tools.iter_mut().for_each(|t| t.pin = Digest::ZERO);
    assert_eq!(faults(&compiled, &other), fault);
}
