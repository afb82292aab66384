//! The form in which a protocol takes a tool's input schema. A call is validated against the tool's own schema, never this one.
//!
//! Providers take an object with `properties` and no alternatives at the top. What has that meaning gets that form; of the rest the
//! properties are gathered, and the rule is kept as text in the description, so nothing is lost. A schema that cannot get the form
//! leaves its tool out of the target's requests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{TargetTerms, Terms, TextProfile, ToolTransport, wire_version};

/// Keywords that no provider is sure to take at the top of a schema.
pub(super) const NOT_AT_THE_TOP: [&str; 7] =
    ["$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf"];
/// Keywords that hold no rule about a value; those of an inlined schema are not taken over.
const NO_RULES: [&str; 10] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "description",
    "examples",
    "title",
];
/// Keywords that hold data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// The most references that are followed, one from the next.
const MAX_REFERENCES: usize = 16;
/// The words before a rule that the form cannot hold.
pub(super) const RULE: &str = "The arguments must also fit this JSON Schema: ";
/// The most bytes of a property's name in Anthropic's protocol.
const MAX_KEY_BYTES: usize = 64;

/// A provider's rules beyond the form that all of them take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SchemaRules {
    /// No further rules.
    Common,
    /// Property names of a few characters, and valid JSON Schema of 2020-12.
    Anthropic,
}

impl SchemaRules {
    /// The rules of a target's requests; `None` if they carry schemas as text, which every model reads as they are.
    pub(super) fn of(terms: &Terms, target: &TargetTerms) -> Option<Self> {
        let version = target.adapter_version.as_str();
        let in_text = terms.tool_transport == ToolTransport::Xml
            || TextProfile::of_version(version).is_some()
            || version == wire_version::LOCAL_HERMES;
        let rules = if version == wire_version::ANTHROPIC {
            Self::Anthropic
        } else {
            Self::Common
        };
        (!in_text).then_some(rules)
    }

    /// The schema in the form that the provider takes.
    ///
    /// # Errors
    /// The reason that the schema cannot have the form, in words for people.
    pub(super) fn wire_schema(self, schema: &Value) -> Result<Value, String> {
        let mut form = object_form(schema)?;
        add_items(&mut form);
        if self == Self::Anthropic {
            check_anthropic(&form)?;
        }
        Ok(form)
    }
}

/// True if an object may fit the schema; where that cannot be told quickly it is assumed.
pub(super) fn may_take_objects(schema: &Value) -> bool {
    takes_objects(schema, schema, MAX_REFERENCES)
}

fn takes_objects(schema: &Value, root: &Value, references: usize) -> bool {
    let Value::Object(map) = schema else {
        return *schema != Value::Bool(false);
    };
    let by_type = match map.get("type") {
        Some(Value::String(word)) => word == "object",
        Some(Value::Array(words)) => words.iter().any(|word| word == "object"),
        _ => true,
    };
    let listed = |key: &str| map.get(key).and_then(Value::as_array);
    let takes = |branch: &Value| match references.checked_sub(1) {
        Some(left) => takes_objects(branch, root, left),
        None => true,
    };
    by_type
        && map.get("const").is_none_or(Value::is_object)
        && listed("enum").is_none_or(|values| values.iter().any(Value::is_object))
        && target_of(map, root).is_none_or(takes)
        && listed("allOf").is_none_or(|all| all.iter().all(takes))
        && listed("anyOf").is_none_or(|any| any.iter().any(takes))
        && listed("oneOf").is_none_or(|one| one.iter().any(takes))
}

/// The schema that a schema's `$ref` leads to.
fn target_of<'s>(schema: &Map<String, Value>, root: &'s Value) -> Option<&'s Value> {
    let reference = schema.get("$ref")?.as_str()?;
    root.pointer(reference.strip_prefix('#')?)
}

/// The schema as an object with properties and without alternatives at the top.
fn object_form(schema: &Value) -> Result<Value, String> {
    if !may_take_objects(schema) {
        return Err("it takes no object, and arguments are one".to_owned());
    }
    let mut form = schema.as_object().cloned().unwrap_or_default();
    // False once the form is more or less than the schema for a value that is no object, or holds a rule as text.
    let mut is_equal = form.get("type").is_some_and(Value::is_string);
    for _ in 0..MAX_REFERENCES {
        let Some((key, inner)) = only_rule(&form, schema) else {
            break;
        };
        is_equal = key == "$ref";
        form.shift_remove(key);
        for (key, value) in inner {
            if !NO_RULES.contains(&key.as_str()) || key == "description" {
                form.entry(key).or_insert(value);
            }
        }
    }
    let removed = NOT_AT_THE_TOP.iter();
    let removed = removed.filter_map(|key| form.shift_remove_entry(*key));
    let rule: Map<String, Value> = removed.collect();
    if !rule.is_empty() {
        is_equal = false;
        gather(&mut form, &rule, schema);
        let own = form.get("description").and_then(Value::as_str);
        let own = own.map_or_else(String::new, |own| format!("{own}\n"));
        let text = format!("{own}{RULE}{}", Value::Object(rule));
        form.insert("description".to_owned(), text.into());
    }
    form.insert("type".to_owned(), json!("object"));
    form.entry("properties").or_insert_with(|| json!({}));
    let form = Value::Object(form);
    check_references(&form, &form, schema, is_equal)?;
    Ok(form)
}

/// The only rule of a schema, where it stands for another schema: a reference, or the one alternative that takes objects.
fn only_rule(
    schema: &Map<String, Value>,
    root: &Value,
) -> Option<(&'static str, Map<String, Value>)> {
    let is_rule = |key: &&String| !NO_RULES.contains(&key.as_str());
    let mut rules = schema.keys().filter(is_rule).filter(|key| *key != "type");
    let (only, None) = (rules.next()?, rules.next()) else {
        return None;
    };
    let inner = match only.as_str() {
        "$ref" => target_of(schema, root)?,
        "allOf" | "anyOf" | "oneOf" => {
            let branches = schema.get(only)?.as_array()?.iter();
            let takes = |branch: &&Value| takes_objects(branch, root, MAX_REFERENCES);
            let mut takes = branches.filter(takes);
            let (one, None) = (takes.next()?, takes.next()) else {
                return None;
            };
            one
        }
        _ => return None,
    };
    let key = NOT_AT_THE_TOP.iter().find(|key| *key == only)?;
    Some((key, inner.as_object().cloned().unwrap_or_default()))
}

/// The members that schemas name, and those that a value must have.
#[derive(Default)]
struct NamedMembers {
    properties: BTreeMap<String, Vec<Value>>,
    required: BTreeSet<String>,
}

impl NamedMembers {
    fn of(schema: &Value, root: &Value, references: usize) -> Self {
        let (Value::Object(map), Some(left)) = (schema, references.checked_sub(1)) else {
            return Self::default();
        };
        let mut found = Self::default();
        for (name, property) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            found.add(name, std::slice::from_ref(property));
        }
        let required = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        found
            .required
            .extend(required.filter_map(Value::as_str).map(str::to_owned));
        let list = |key: &str| map.get(key).and_then(Value::as_array).into_iter().flatten();
        for part in list("allOf").chain(target_of(map, root)) {
            let part = Self::of(part, root, left);
            found.required.extend(part.required.iter().cloned());
            found.take(&part);
        }
        for key in ["anyOf", "oneOf"] {
            let branches = list(key).filter(|branch| takes_objects(branch, root, left));
            let branches: Vec<Self> = branches
                .map(|branch| Self::of(branch, root, left))
                .collect();
            let mut all = branches.iter().map(|branch| branch.required.clone());
            if let Some(first) = all.next() {
                found
                    .required
                    .extend(all.fold(first, |all, one| &all & &one));
            }
            for branch in &branches {
                found.take(branch);
            }
        }
        found
    }

    fn take(&mut self, other: &Self) {
        for (name, schemas) in &other.properties {
            self.add(name, schemas);
        }
    }

    fn add(&mut self, name: &str, schemas: &[Value]) {
        let known = self.properties.entry(name.to_owned()).or_default();
        for schema in schemas {
            if !known.contains(schema) {
                known.push(schema.clone());
            }
        }
    }
}

/// Names in the form the members that a rule is about, so that a model finds them where it looks.
fn gather(form: &mut Map<String, Value>, rule: &Map<String, Value>, root: &Value) {
    let members = NamedMembers::of(&Value::Object(rule.clone()), root, MAX_REFERENCES);
    let is_closed = form.get("additionalProperties") == Some(&Value::Bool(false));
    let properties = form.entry("properties").or_insert_with(|| json!({}));
    let Some(properties) = properties.as_object_mut() else {
        return;
    };
    for (name, mut schemas) in members.properties {
        if !is_closed && !properties.contains_key(&name) {
            let schema = match (schemas.pop(), schemas.is_empty()) {
                (Some(only), true) => only,
                (last, _) => json!({"anyOf": schemas.into_iter().chain(last).collect::<Vec<_>>()}),
            };
            properties.insert(name, schema);
        }
    }
    let own = form.get("required").and_then(Value::as_array);
    let own = own.into_iter().flatten().filter_map(Value::as_str);
    let mut required: Vec<String> = own.map(str::to_owned).collect();
    let missing = members
        .required
        .into_iter()
        .filter(|name| !required.contains(name));
    let missing: Vec<String> = missing.collect();
    required.extend(missing);
    if !required.is_empty() {
        form.insert("required".to_owned(), required.into());
    }
}

/// Checks that every reference leads to what it led to before.
fn check_references(
    part: &Value,
    form: &Value,
    schema: &Value,
    is_equal: bool,
) -> Result<(), String> {
    match part {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| check_references(item, form, schema, is_equal)),
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            match (key.as_str(), member) {
                ("$ref", Value::String(reference)) => {
                    let pointer = reference.strip_prefix('#').unwrap_or(reference);
                    let is_kept = match pointer {
                        "" => is_equal,
                        pointer => form.pointer(pointer) == schema.pointer(pointer),
                    };
                    if is_kept {
                        return Ok(());
                    }
                    Err(format!(
                        "its reference {reference} leads to a part that has no place in a schema without alternatives at the top"
                    ))
                }
                (word, _) if DATA.contains(&word) => Ok(()),
                _ => check_references(member, form, schema, is_equal),
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Gives each array without `items` the `items` that take everything: OpenAI demands them, and they change nothing.
fn add_items(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(add_items),
        Value::Object(members) => {
            let is_array = match members.get("type") {
                Some(Value::String(word)) => word == "array",
                Some(Value::Array(words)) => words.iter().any(|word| word == "array"),
                _ => false,
            };
            for (key, member) in members.iter_mut() {
                if !DATA.contains(&key.as_str()) {
                    add_items(member);
                }
            }
            if is_array {
                members.entry("items").or_insert_with(|| json!({}));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_anthropic(form: &Value) -> Result<(), String> {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    let is_key = |key: &str| (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(word);
    let properties = form.get("properties").and_then(Value::as_object);
    let mut keys = properties.into_iter().flatten().map(|(key, _)| key);
    if let Some(key) = keys.find(|key| !is_key(key)) {
        let key: String = key.chars().take(100).collect();
        return Err(format!(
            "Anthropic takes property names of 1 to {MAX_KEY_BYTES} characters A-Z a-z 0-9 _ . - and not {key:?}"
        ));
    }
    if let Err(fault) = jsonschema::draft202012::meta::validate(form) {
        let place = fault.instance_path();
        return Err(format!(
            "Anthropic takes JSON Schema of 2020-12, and at {:?} it is none",
            place.as_str()
        ));
    }
    Ok(())
}
