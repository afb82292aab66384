//! A manifest, a file and the contract made of both.

use serde_json::{Value, json};

use crate::contract::spec::tests::DEMO;
use crate::contract::*;

pub(in crate::contract) fn tool(name: &str, input_schema: Value) -> ToolCapability {
    ToolCapability {
        annotations: Value::Null,
        description: format!("the tool {name}"),
        input_schema,
        name: name.to_owned(),
        schema_tokens: 20,
    }
}

fn path_schema() -> Value {
    json!({
        "type": "object",
        "required": ["path"],
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "maximum": 1.5e3}},
        "additionalProperties": false,
    })
}

fn server(kind: ServerKind, tools: Vec<ToolCapability>) -> ServerCapability {
    ServerCapability {
        available: true,
        kind,
        tools,
    }
}

pub(in crate::contract) fn manifest() -> CapabilityManifest {
    let builtin = ["read_file", "list_directory", "echo", "clock"];
    let builtin = builtin.map(|name| tool(name, path_schema())).into();
    let mut search = tool("search", json!({"type": "object"}));
    search.annotations = json!({"title": "search", "readOnlyHint": true, "weight": 1.0});
    CapabilityManifest {
        servers: [
            ("builtin".to_owned(), server(ServerKind::Builtin, builtin)),
            ("web".to_owned(), server(ServerKind::Http, vec![search])),
        ]
        .into(),
        targets: vec![TargetCapability::default()],
    }
}

pub(in crate::contract) fn spec(sets: &[&str]) -> ContractSpec {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    ContractSpec::parse("demo.yaml", DEMO, &sets).unwrap_or_else(|e| panic!("{e}"))
}

pub(in crate::contract) fn make(sets: &[&str]) -> ExecutionContract {
    let made = ContractFactory.make(&spec(sets), &manifest(), None);
    made.unwrap_or_else(|e| panic!("{e}"))
}

/// As [`tool_faults_with`], with validators made from the terms, as text.
pub(in crate::contract) fn tool_faults(terms: &Terms) -> Vec<(ToolFault, String)> {
    let faults = tool_faults_with(terms, &Validators::default()).into_iter();
    faults.map(|(kind, fault)| (kind, fault.text)).collect()
}

/// The text of each fault of the structure.
pub(in crate::contract) fn structure_faults(terms: &Terms) -> Vec<String> {
    texts(crate::contract::structure_faults(terms))
}

/// The text of each fault of the profile.
pub(in crate::contract) fn profile_faults(terms: &Terms) -> Vec<String> {
    texts(crate::contract::profile_faults(terms))
}

fn texts(faults: Vec<TermFault>) -> Vec<String> {
    faults.into_iter().map(|fault| fault.text).collect()
}
