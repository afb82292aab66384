//! The recorded types are the one source of the key tables that both foreign verifiers carry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::sample::action;
use super::sample_actions::{full_action, sparse_action};
use super::sample_values::{every_event, sparse_events};
use crate::kernel::{EntryKind, State};
use crate::message::Digest;

/// Row name → keys, `?` behind those that may be left out.
type Rows = BTreeMap<String, BTreeSet<String>>;

/// The number of sightings of one row's objects, and of each of their keys.
#[derive(Default)]
struct Seen {
    objects: usize,
    keys: BTreeMap<String, usize>,
}

/// Walks a value as the verifiers do: an object has the row of its key, or of its kind.
fn walk(value: &Value, name: &str, seen: &mut BTreeMap<String, Seen>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, name, seen)),
        Value::Object(members) => {
            let kind = members.get("kind").filter(|_| name != "action");
            if let Some(kind) = kind {
                let kind = kind.as_str().unwrap();
                seen.entry(kind.to_owned()).or_default();
                if let Some(value) = members.get("value") {
                    walk(value, kind, seen);
                }
                return;
            }
            let row = seen.entry(name.to_owned()).or_default();
            row.objects += 1;
            for key in members.keys() {
                *row.keys.entry(key.clone()).or_default() += 1;
            }
            for (key, member) in members {
                walk(member, key, seen);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Everything that an entry may hold, each with its key.
fn samples() -> Vec<(&'static str, Value)> {
    let events = every_event().into_iter().chain(sparse_events());
    let events = events.map(|event| ("event", serde_json::to_value(&event).unwrap()));
    let minimal = action(0, EntryKind::Transition, State::Infer, State::Infer);
    let actions = [full_action(), sparse_action(), minimal];
    let actions = actions.map(|action| ("action", serde_json::to_value(&action).unwrap()));
    events.chain(actions).collect()
}

/// The rows of everything that an entry may hold.
fn rows_of_the_types() -> Rows {
    let mut seen = BTreeMap::new();
    for (name, sample) in samples() {
        walk(&sample, name, &mut seen);
    }
    let row = |(name, seen): (String, Seen)| {
        let key = |(key, count): (String, usize)| {
            let always = count == seen.objects;
            if always { key } else { format!("{key}?") }
        };
        (name, seen.keys.into_iter().map(key).collect())
    };
    seen.into_iter().map(row).collect()
}

/// The rows that a verifier carries between two texts of its source.
fn rows_of(file: &str, begin: &str, end: &str) -> Rows {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    let table = text.split_once(begin).unwrap().1.split_once(end).unwrap().0;
    let row = |row: &str| {
        let (names, keys) = row.split_once(':').unwrap();
        let keys: BTreeSet<String> = keys.split_whitespace().map(str::to_owned).collect();
        let names = names.split_whitespace();
        let rows: Vec<_> = names.map(|name| (name.to_owned(), keys.clone())).collect();
        rows
    };
    table.split(';').flat_map(row).collect()
}

#[test]
fn both_verifiers_know_every_key_of_the_recorded_types_and_no_other() {
    let types = rows_of_the_types();
    let page = "src/service/export/html/transcript.js";
    let mut lines = Vec::new();
    for (file, begin, end) in [
        ("verifier/verify.py", "ROWS = \"\"\"", "\"\"\""),
        (page, "ROWS = new Map(`", "`"),
    ] {
        let mut rows = rows_of(file, begin, end);
        // These are lines of the file, not recorded types.
        let of_lines = ["header", "entry", "blob_line", "checkpoint", "tombstone"];
        lines.push(of_lines.map(|line| rows.remove(line).unwrap()));
        for (name, keys) in &types {
            assert_eq!(rows.get(name), Some(keys), "{file}: {name}");
        }
        assert_eq!(rows.len(), types.len(), "{file}");
    }
    assert_eq!(lines[0], lines[1]);
}

/// 002/4.adapter.2, 002/4.adapter.3, 002/4.message.3: null or empty, and never left out.
#[test]
fn verdicts_and_messages_have_every_member_that_their_contract_lists() {
    let rows = rows_of_the_types();
    for (row, keys) in [
        ("result", &["canonical_message", "failure_code"][..]),
        ("messages", &["content", "role", "tool_calls"]),
        ("canonical_message", &["content", "role", "tool_calls"]),
    ] {
        for key in keys {
            assert!(rows[row].contains(*key), "{row}: {key}");
        }
    }
}

#[test]
fn the_description_of_the_format_names_every_key_of_the_recorded_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit/transcript-format.md");
    let text = fs::read_to_string(path).unwrap();
    for (name, keys) in rows_of_the_types() {
        for key in keys {
            let written = match key.strip_suffix('?') {
                Some(key) => format!("`{key}`?"),
                None => format!("`{key}`"),
            };
            assert!(text.contains(&written), "{name}: {written}");
        }
    }
}

/// The types of a verifier's table, by `key` or by `row.key`.
fn types_of(file: &str, begin: &str, end: &str) -> BTreeMap<String, String> {
    let rows = rows_of(file, begin, end);
    let types = rows.into_iter().flat_map(|(kind, keys)| {
        let typed = move |key| (key, kind.clone());
        keys.into_iter().map(typed)
    });
    types.collect()
}

/// True if a value has that type of the tables.
fn fits(value: &Value, kind: &str) -> bool {
    let is_hash = |text: &str| text.parse::<Digest>().is_ok();
    match kind {
        "hash" => value.as_str().is_some_and(is_hash),
        "number" => value.is_u64(),
        "object" => value.is_object(),
        "objects" => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_object)),
        "text" => value.as_str().is_some_and(|text| !is_hash(text)),
        "texts" => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string)),
        "numbers" => value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_u64)),
        "truth" => value.is_boolean(),
        _ => kind
            .strip_suffix('?')
            .is_some_and(|kind| value.is_null() || fits(value, kind)),
    }
}

/// Holds every value of a sample against a table.
fn judge(value: &Value, name: &str, place: &str, types: &BTreeMap<String, String>) {
    match value {
        Value::Array(items) => items
            .iter()
            .for_each(|item| judge(item, name, place, types)),
        Value::Object(members) => {
            let kind = members.get("kind").filter(|_| name != "action");
            let row = kind.map_or(name, |kind| kind.as_str().unwrap());
            for (key, member) in members {
                let here = format!("{row}.{key}");
                let declared = types.get(&here).or_else(|| types.get(key));
                // A wait has a value as an effect alone.
                let timed = here == "wait.value" && place == "action.effects";
                let declared = if timed {
                    "object"
                } else {
                    declared.map_or("text", |declared| declared)
                };
                assert!(
                    fits(member, declared),
                    "{place}: {here} is {declared}: {member}"
                );
                judge(member, if key == "value" { row } else { key }, &here, types);
            }
            if kind.is_some() {
                let declared = types.get(&format!("{row}.value"));
                let timed = row == "wait" && place == "action.effects";
                let has_one = timed || declared.is_none_or(|declared| declared != "nothing");
                assert_eq!(members.contains_key("value"), has_one, "{place}: {row}");
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn both_verifiers_know_the_type_of_every_key() {
    let python = types_of("verifier/verify.py", "\nTYPES = \"\"\"", "\"\"\"");
    let page = "src/service/export/html/transcript.js";
    assert_eq!(types_of(page, "TYPES = new Map(`", "`"), python);
    for (name, sample) in samples() {
        judge(&sample, name, "", &python);
    }
}
