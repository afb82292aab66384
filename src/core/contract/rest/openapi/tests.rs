//! Tests of descriptions that become tools, and of requests as descriptions have them.

mod import;
mod limits;
mod schema;
mod styles;
mod wire;

use serde_json::{Map, Value, json};

use super::fault::OpenapiFault;
use super::import::{ImportTerms, Imported, ImportedTool, imported as imported_while};
use crate::contract::{RequestFault, RequestParts};

/// A description in 3.1 of a service with those paths.
fn described(paths: &Value) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://h.example/v1"}],
        "paths": paths,
    })
}

fn imported(text: &str, terms: &ImportTerms) -> Result<Imported, OpenapiFault> {
    imported_while(text, terms, &|| true)
}

fn terms() -> ImportTerms {
    ImportTerms {
        name_bytes: 50,
        ..ImportTerms::default()
    }
}

fn tools(description: &Value) -> Imported {
    imported(&description.to_string(), &terms()).unwrap()
}

/// The one tool of a description.
fn tool(description: &Value) -> ImportedTool {
    let found = tools(description);
    assert_eq!(found.left_out, []);
    let [tool] = found.tools.try_into().unwrap();
    tool
}

/// The only operation of a service.
fn operation(path: &str, method: &str, operation: &Value) -> ImportedTool {
    tool(&described(&json!({path: {method: operation}})))
}

fn request(tool: &ImportedTool, arguments: &Value) -> Result<RequestParts, RequestFault> {
    let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
    tool.operation.request(&arguments)
}

fn url(tool: &ImportedTool, arguments: &Value) -> String {
    match request(tool, arguments) {
        Ok(parts) => parts.url.to_string(),
        Err(fault) => fault.to_string(),
    }
}
