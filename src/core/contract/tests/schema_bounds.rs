//! Limits on the cost of a schema, checked before anything is compiled from it.

use serde_json::{Value, json};

use super::fixture::make;
use crate::contract::schema_bounds::{MULTIPLY, NO_ARGUMENTS};
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

/// Arguments are an object: a schema under which none could be checked refuses the tool, and not each of its calls.
#[test]
fn a_schema_that_would_refuse_every_call_is_refused_itself() {
    let twice = |next: String| json!({"anyOf": [{"$ref": next}, {"$ref": next}]});
    let often = |times: usize| {
        let mut schema = ladder(7, twice);
        schema["$ref"] = Value::Null;
        let member = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}});
        schema["allOf"] = json!(vec![member; times]);
        schema.as_object_mut().unwrap().remove("$ref");
        schema
    };
    assert_eq!(Validators::fault_of(&often(2)), None);
    refused(&often(64), "", NO_ARGUMENTS);
    // Too much to compare, however small the arguments are.
    let long: Vec<String> = (0..4000).map(|n| format!("{n:050}")).collect();
    let apply = |next: &str| json!({"allOf": vec![json!({"$ref": next}); 40]});
    let mut compared = apply("#/$defs/a");
    compared["$defs"] = json!({"a": apply("#/$defs/b"), "b": {"enum": long}});
    refused(&compared, "", NO_ARGUMENTS);
}

#[test]
fn an_unused_alias_bomb_is_refused_at_its_position() {
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

/// A second compilation would find the changed schema.
#[test]
fn what_was_found_out_of_a_schema_is_not_found_out_again() {
    let mut terms = (*make(&["allowed_tools=[read_file]"])).clone();
    let good = terms.tool("read_file").unwrap().input_schema.clone();
    let bad = json!({"type": 1});
    let mut offered_tools = |schema: &Value| {
        for tool in &mut terms.tools {
            tool.input_schema = schema.clone();
        }
        terms.clone()
    };
    let compiled = Validators::compile(&offered_tools(&good));
    let broken = Validators::compile(&offered_tools(&bad));
    let faults = |validators: &Validators, terms: &Terms| {
        let faults = tool_faults_with(terms, validators);
        let texts = faults.into_iter().map(|(_, fault)| fault.text);
        texts.collect::<Vec<_>>()
    };
    let fault = faults(&broken, &offered_tools(&bad));
    assert_eq!(fault, faults(&Validators::default(), &offered_tools(&bad)));
    assert_eq!(fault.len(), 1);
    assert_eq!(faults(&broken, &offered_tools(&good)), fault);
    assert_eq!(
        faults(&compiled, &offered_tools(&bad)),
        Vec::<String>::new()
    );
    let mut other = offered_tools(&bad);
    other.tools.iter_mut().for_each(|t| t.pin = Digest::ZERO);
    assert_eq!(faults(&compiled, &other), fault);
}

/// S20: only what a linear engine can do.
#[test]
fn a_pattern_that_cannot_be_matched_in_linear_time_is_refused_with_its_place() {
    let around = "its pattern cannot be matched in linear time: look-around, including look-ahead and look-behind, is not supported";
    let back = "its pattern cannot be matched in linear time: backreferences are not supported";
    for (pattern, rule) in [
        ("^(?=a)b", around),
        ("^(?!(a+)+$)", around),
        ("(a)\\1", back),
        ("(", "its pattern is no regular expression"),
        ("(?:a{99}){99}", "its pattern has more than 8192 states"),
    ] {
        let value = json!({"properties": {"a": {"pattern": pattern}}});
        refused(&value, "/properties/a/pattern", rule);
        let fault = Validators::fault_of(&json!({"patternProperties": {pattern: true}}));
        let fault =
            fault.map(|fault| (fault.pointer.starts_with("/patternProperties/"), fault.rule));
        assert_eq!(fault, Some((true, rule.to_owned())));
    }
    for honest in [
        "^[a-zA-Z0-9_-]{1,64}$",
        "^\\d{4}-\\d{2}-\\d{2}$",
        "^\\p{L}+$",
        "\\/\\w+\\.",
    ] {
        assert_eq!(
            Validators::fault_of(&json!({"pattern": honest})),
            None,
            "{honest}"
        );
    }
}

/// The schema of the finding: 900 patterns that go back over what they read, and 4 MB of arguments. No clock is read: the
/// arguments are refused by their size.
#[test]
fn arguments_are_refused_by_their_size_times_what_the_schema_does_with_them() {
    let patterns: serde_json::Map<String, Value> = (0..900)
        .map(|n| (format!("^(a+)+(b|a){n}$"), json!(true)))
        .collect();
    let schema = json!({"patternProperties": patterns});
    let members: serde_json::Map<String, Value> = (0..40_000)
        .map(|n| (format!("{}{n}", "a".repeat(90)), json!(n)))
        .collect();
    let fault = checked(&schema, &Value::Object(members)).unwrap_err();
    assert_eq!(fault.pointer, "");
    assert!(
        fault.rule.starts_with("too large for this schema: "),
        "{}",
        fault.rule
    );
    // What a model writes is checked.
    let few = json!({"a".repeat(90): 1, "b": "x".repeat(1000)});
    assert_eq!(checked(&schema, &few), Ok(()));
    let plain = json!({"properties": {"path": {"type": "string"}, "content": {"type": "string"}}});
    let large = json!({"path": "p", "content": "x".repeat(4_000_000)});
    assert_eq!(checked(&plain, &large), Ok(()));
    // A long list of alternatives is compared with each item.
    let options: Vec<String> = (0..10_000).map(|n| format!("option-{n}")).collect();
    let listed = json!({"properties": {"a": {"items": {"enum": options}}}});
    let one = json!({"a": ["option-1"]});
    assert_eq!(checked(&listed, &one), Ok(()));
    let many = json!({"a": vec!["option-1"; 100_000]});
    assert!(checked(&listed, &many).is_err());
}

fn checked(schema: &Value, arguments: &Value) -> Result<(), crate::contract::ArgumentFault> {
    let mut terms = (*make(&["allowed_tools=[read_file]"])).clone();
    for tool in &mut terms.tools {
        tool.input_schema = schema.clone();
    }
    let arguments = crate::message::ObjectText::parse(arguments.to_string()).unwrap();
    Validators::compile(&terms).validate("read_file", &arguments)
}

#[test]
fn the_patterns_of_a_schema_are_bounded_together() {
    let patterns: serde_json::Map<String, Value> = (0..20)
        .map(|n| (format!("^[a-f]{{4000}}{n}$"), json!(true)))
        .collect();
    let fault = Validators::fault_of(&json!({"patternProperties": patterns})).unwrap();
    assert!(
        fault.rule.starts_with("the regular expressions up to here"),
        "{}",
        fault.rule
    );
    // Texts that cost the translation of a pattern a step for each sign.
    let long = [
        "\\d".repeat(2000),
        "\\ca".repeat(1300),
        "[^\\w]".repeat(800),
    ];
    for pattern in long {
        let _ = Validators::fault_of(&json!({"pattern": pattern}));
    }
}
