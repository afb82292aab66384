//! The schema of files of work items against their reader and against the files that the documentation shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use super::error::{Findings, Origin};
use super::form::{Form, Read as _};
use super::reporter::Reporter;
use super::work_file::{OneItem, WORK_BUDGET, WORK_FILE, WORK_ITEM, WORK_LIMITS, camel_case};
use super::{WorkFile, tree, work_file_schema};
use crate::contract::tests_document_schema::is_shipped;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// An item with every key.
const ITEM: &str = r#"{
  "id": "w", "agent_id": "agent-1", "description": "do it", "dependencies": ["v.1"], "reconciles": true,
  "constraints": {"max_files": 0, "max_tool_ops": 1, "max_delta_size": 2, "timeout_ms": 1},
  "budget": {"time_estimate_ms": 0, "complexity": "low"},
  "input_files": ["/a/b", "./c"], "output_files": ["d"], "test_command": "true",
  "excludes": ["*.log"], "include_ignored": ["dist/"], "allow_external": ["http_*"],
  "tool_errors": "fail", "on_conflict": "serialize", "max_copy_bytes": 1,
  "sandbox": {"network": "on", "memory_mb": 64}
}"#;

fn validator() -> Validator {
    let schema = work_file_schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::options().offline().build(&schema).unwrap()
}

/// A file as an editor sees it: typed as YAML's core schema types it.
fn document(text: &str) -> Value {
    let findings = Findings::new(text, &[]);
    let root = tree::parse(text, Origin::File, &findings).unwrap();
    let reporter = Reporter {
        findings: &findings,
        path: String::new(),
    };
    Value::read(&root, &reporter).unwrap()
}

/// The reader and the schema agree about a file.
#[track_caller]
fn check(text: &str, is_taken: bool) {
    let read = WorkFile::parse("w.yaml", text, |_| Ok(()));
    let read = read.map_err(|errors| errors.to_string());
    assert_eq!(read.is_ok(), is_taken, "{text}: {read:?}");
    let document = document(text);
    let errors = validator()
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect::<Vec<_>>();
    assert_eq!(errors.is_empty(), is_taken, "{text}: {errors:?}");
}

fn item() -> Map<String, Value> {
    serde_json::from_str(ITEM).unwrap()
}

/// A file of this item alone.
fn file(item: Map<String, Value>) -> String {
    let file = [
        ("work_tree".to_owned(), "tree".into()),
        ("agents".to_owned(), json!({"agent-1": "a.yaml"})),
    ];
    Value::Object(item.into_iter().chain(file).collect()).to_string()
}

/// A file with a list of this item.
fn list(item: &Map<String, Value>) -> String {
    let agents = json!({"agent-1": "a.yaml"});
    json!({"work_tree": "tree", "agents": agents, "items": [item]}).to_string()
}

/// The item with each of its keys in camelCase; the keys of `sandbox` are those of a contract file.
fn in_camel_case(item: Map<String, Value>) -> Map<String, Value> {
    let each = item.into_iter().map(|(name, value)| {
        let value = match value {
            Value::Object(below) if name != WORK_ITEM.sandbox.name => {
                Value::Object(in_camel_case(below))
            }
            value => value,
        };
        (camel_case(&name), value)
    });
    each.collect()
}

#[test]
fn the_shipped_schema_of_items_is_the_one_that_the_table_gives() {
    is_shipped("contracts/work-file.schema.json", &work_file_schema());
}

#[test]
fn the_schema_has_the_keys_of_the_reader_in_both_spellings_and_no_other() {
    let schema = work_file_schema();
    let forms: [&dyn Form; 5] = [&WORK_FILE, &OneItem, &WORK_ITEM, &WORK_LIMITS, &WORK_BUDGET];
    for form in forms {
        let known = form.rows().into_iter().map(|row| row.name.to_owned());
        let known: Vec<String> = known.collect();
        let both = known.iter().map(|name| camel_case(name));
        let both: BTreeSet<String> = both.chain(known.clone()).collect();
        let properties = schema["$defs"][form.id()]["properties"].as_object();
        let properties: BTreeSet<String> = properties.unwrap().keys().cloned().collect();
        assert_eq!(properties, both, "{}", form.id());
    }
}

#[test]
fn every_key_of_an_item_is_read_and_the_schema_takes_it() {
    let whole = item();
    let is_whole = |form: &dyn Form, written: &Map<String, Value>| {
        let names: BTreeSet<&str> = form.names().iter().copied().collect();
        let written: BTreeSet<&str> = written.keys().map(String::as_str).collect();
        assert_eq!(written, names, "{}", form.id());
    };
    is_whole(&WORK_ITEM, &whole);
    is_whole(&WORK_LIMITS, whole["constraints"].as_object().unwrap());
    is_whole(&WORK_BUDGET, whole["budget"].as_object().unwrap());
    check(&file(whole.clone()), true);
    check(&list(&whole), true);
    let camel = in_camel_case(whole);
    assert!(camel.contains_key("maxCopyBytes"));
    check(&file(camel.clone()), true);
    check(&list(&camel), true);
    check("{id: w, agentId: agent-1, description: do it}", true);
    check(
        "{id: w, agent_id: agent-1, description: do it, sandbox: off}",
        true,
    );
}

#[test]
fn an_item_that_is_faulty_in_one_place_both_refuse() {
    for name in ["id", "agent_id", "description"] {
        let mut item = item();
        item.remove(name);
        check(&file(item.clone()), false);
        check(&list(&item), false);
    }
    for (name, value) in [
        ("id", "\"\""),
        ("id", "\"-w\""),
        ("id", "\"a/b\""),
        ("id", "7"),
        ("agent_id", "\"Agent 1\""),
        ("agentId", "\"agent-1\""),
        ("description", "\" \""),
        ("dependencies", "\"v\""),
        ("dependencies", "[\"a b\"]"),
        ("reconciles", "\"yes\""),
        ("constraints", "{\"max_files\": -1}"),
        ("constraints", "{\"max_files\": \"5\"}"),
        ("constraints", "{\"max_file\": 5}"),
        ("constraints", "{\"max_files\": 5, \"maxFiles\": 5}"),
        ("constraints", "{\"timeout_ms\": 0}"),
        ("budget", "{\"complexity\": \"hard\"}"),
        ("budget", "{\"time_estimate_ms\": \"1h\"}"),
        ("input_files", "\"a\""),
        ("test_command", "\"\""),
        ("test_command", "null"),
        ("tool_errors", "\"ignore\""),
        ("on_conflict", "\"retry\""),
        ("max_copy_bytes", "\"10 GiB\""),
        ("sandbox", "{\"memoryMb\": 64}"),
        ("sandbox", "\"on\""),
        ("workTree", "\"tree\""),
        ("more", "1"),
    ] {
        let mut item = item();
        item.insert(name.to_owned(), serde_json::from_str(value).unwrap());
        check(&file(item), false);
    }
    let many: Vec<Value> = vec![Value::Object(item()); 1_001];
    for items in [Value::Array(many), Value::Array(Vec::new()), Value::Null] {
        check(&json!({"items": items}).to_string(), false);
    }
    check(
        &file([("items".to_owned(), 1.into())].into_iter().collect()),
        false,
    );
    check(
        "items: [{id: w, agent_id: agent-1, description: a}]\nid: w\n",
        false,
    );
    check("[]", false);
    let item = "id: w, agent_id: agent-1, description: a";
    check(&format!("{{{item}, work_tree: tree}}"), true);
    check(&format!("{{{item}, work_tree: ''}}"), false);
}

#[test]
fn the_items_that_are_documented_are_ones() {
    let read = |name: &str| fs::read_to_string(Path::new(ROOT).join(name)).unwrap();
    let page = read("docs/work-items.md");
    for name in WORK_ITEM.names().iter().chain(WORK_LIMITS.names()) {
        let is_named = page.contains(&format!("`{name}`"));
        let is_named = is_named || page.contains(&format!("`constraints.{name}`"));
        assert!(
            is_named || *name == WORK_ITEM.constraints.name,
            "docs/work-items.md does not name {name}"
        );
    }
    let mut count = 0;
    for text in [page, read("docs/recipes/work-item.md")] {
        let blocks = text.split("```yaml\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split_once("```"));
        for (block, _) in blocks.filter(|(block, _)| block.contains("agent_id:")) {
            check(block, true);
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}
