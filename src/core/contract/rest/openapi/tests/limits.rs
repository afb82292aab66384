//! Descriptions that cost far more than their text is long: the work is bounded, and the fault says where and what to do.

use std::cell::Cell;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{described, imported, imported_while, operation, terms, tools};
use crate::contract::rest::openapi::fault::OpenapiFault;

/// A description of so many operations whose bodies are the schema `o`.
fn service(operations: usize, schemas: &Value) -> Value {
    let body =
        json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/o"}}}});
    let paths = (0..operations).map(|n| {
        let post = json!({"operationId": format!("op{n}"), "requestBody": body});
        (format!("/p{n}"), json!({"post": post}))
    });
    let mut description = described(&Value::Object(paths.collect()));
    description["components"] = json!({"schemas": schemas});
    description
}

/// An object schema with so many properties.
fn object(properties: usize, of: impl Fn(usize) -> Value) -> Value {
    let properties = (0..properties).map(|n| (format!("f{n}"), of(n)));
    json!({"type": "object", "properties": Value::Object(properties.collect())})
}

fn to(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn fault(description: &Value) -> String {
    match imported(&description.to_string(), &terms()) {
        Ok(found) => format!("{} tools, {:?}", found.tools.len(), found.left_out.first()),
        Err(fault) => fault.to_string(),
    }
}

/// 11: each of these held bring-up for a minute or longer.
#[test]
fn a_short_description_that_describes_a_lot_is_refused_with_its_place_and_advice() {
    let values: Vec<String> = (0..8_000).map(|n| format!("{n:0>40}")).collect();
    let nodes = |of: &dyn Fn(usize) -> Value| {
        let nodes = (1..20).map(|n| (format!("n{n}"), of(n)));
        let mut all: Map<String, Value> = nodes.collect();
        all.insert("o".to_owned(), of(0));
        Value::Object(all)
    };
    let all_of = nodes(&|from| {
        let parts: Vec<Value> = (1..20)
            .map(|n| to(&format!("n{}", (from + n) % 19 + 1)))
            .collect();
        let mut schema = object(500, |n| to(&format!("n{}", (from + n) % 19 + 1)));
        schema["allOf"] = json!(parts);
        schema
    });
    let names: Vec<String> = (0..5_000).map(|n| format!("f{n}")).collect();
    let mut required = object(5_000, |_| json!({}));
    required["required"] = json!(names);
    for (shape, description) in [
        ("allOf", service(200, &all_of)),
        (
            "many",
            service(
                1_000,
                &json!({"o": object(400, |n| json!({"type": "string", "description": format!("{n:0>200}")}))}),
            ),
        ),
        ("required", service(1_000, &json!({"o": required}))),
        (
            "enums",
            service(
                1_000,
                &json!({"o": object(300, |_| to("e")), "e": {"enum": values}}),
            ),
        ),
    ] {
        let fault = fault(&description);
        assert!(
            fault.starts_with("the operations up to \"#/paths/~1p"),
            "{shape}: {fault}"
        );
        assert!(
            fault.ends_with("`tags` and `include_methods` take fewer operations"),
            "{shape}: {fault}"
        );
    }
}

/// One operation that costs too much is left out, and the others are tools.
#[test]
fn an_operation_that_costs_too_much_is_left_out_alone() {
    let parameters: Vec<Value> = (0..30_000)
        .map(|n| json!({"in": "query", "name": format!("q{n}"), "schema": {"type": "string"}}))
        .collect();
    let description = described(&json!({
        "/large": {"get": {"operationId": "large", "parameters": parameters}},
        "/small": {"get": {"operationId": "small"}},
    }));
    let found = tools(&description);
    assert_eq!(found.tools.len(), 1);
    let [(at, fault)] = &found.left_out[..] else {
        panic!("{:?}", found.left_out)
    };
    assert_eq!(at, "#/paths/~1large/get");
    assert!(
        matches!(fault, OpenapiFault::TooLargeOperation { .. }),
        "{fault}"
    );
    assert!(
        fault
            .to_string()
            .ends_with("state the operation under `rest` instead")
    );
}

/// A schema drops the parts that have no room, and so accepts more, never less.
#[test]
fn a_schema_without_room_takes_more_than_the_service() {
    let values: Vec<String> = (0..8_000).map(|n| format!("{n:0>40}")).collect();
    let body = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "enum": values},
            "b": {"type": "string", "description": "x".repeat(200_000)},
            "c": {"type": "integer", "minimum": 3},
        },
        "additionalProperties": false,
    });
    let tool = operation(
        "/p",
        "post",
        &json!({"requestBody": {"content": {"application/json": {"schema": body}}}}),
    );
    let body = &tool.input_schema["properties"]["body"];
    assert_eq!(
        body["properties"],
        json!({
            "a": {"type": "string"},
            "b": {"type": "string"},
            "c": {"type": "integer", "minimum": 3},
        })
    );
    assert_eq!(body["additionalProperties"], false);
    let mut long = object(40_000, |_| json!({}));
    long["additionalProperties"] = json!(false);
    let body = json!({"content": {"application/json": {"schema": {"properties": {"deep": long, "next": true}}}}});
    let tool = operation("/p", "post", &json!({"requestBody": body}));
    let deep = &tool.input_schema["properties"]["body"]["properties"]["deep"];
    assert_eq!(
        deep.get("additionalProperties"),
        None,
        "a property without room is taken"
    );
}

/// A chain of references is followed as far as a schema is deep, on a stack that does not grow with the text.
#[test]
fn a_chain_of_references_ends_in_anything() {
    let mut schemas: Map<String, Value> = (1..20_000)
        .map(|n| (format!("c{n}"), to(&format!("c{}", n + 1))))
        .collect();
    schemas.insert("o".to_owned(), to("c1"));
    schemas.insert("c20000".to_owned(), json!({"type": "string"}));
    let found = tools(&service(1, &Value::Object(schemas)));
    assert_eq!(found.left_out, []);
    let body = found.tools[0].input_schema["properties"]["body"]
        .as_object()
        .unwrap();
    assert_eq!(body.get("type"), None);
}

/// The values of a description are bounded, those that YAML aliases repeat included.
#[test]
fn a_description_of_too_many_values_is_refused_before_it_is_built() {
    let cut = "the description holds more than 524288 values; cut it down to the operations that you need";
    let flat = format!(
        "{{\"openapi\": \"3.1.0\", \"x-l\": [{}0]}}",
        "0,".repeat(1 << 20)
    );
    assert_eq!(imported(&flat, &terms()).unwrap_err().to_string(), cut);
    let mut aliases = "openapi: 3.1.0\nx-a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let of = vec![format!("*a{}", n - 1); 10].join(", ");
        writeln!(aliases, "x-a{n}: &a{n} [{of}]").unwrap();
    }
    assert_eq!(imported(&aliases, &terms()).unwrap_err().to_string(), cut);
}

/// Reading ends soon after nobody waits for it.
#[test]
fn reading_ends_once_nobody_waits() {
    let description = service(
        500,
        &json!({"o": object(100, |_| json!({"type": "string"}))}),
    )
    .to_string();
    let asked = Cell::new(0);
    let awaited = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    let read = imported_while(&description, &terms(), &awaited);
    assert_eq!(read.unwrap_err(), OpenapiFault::GivenUp);
    assert_eq!(asked.get(), 3);
}
