//! JSON Schema of the author's file, for editors: made from the table of keys, so it knows what the reader knows.
//!
//! It sees the form of a file. What takes more than one place (a provider that nothing defines, a key that occurs twice) is the
//! reader's alone.

use serde_json::{Map, Value, json};

use super::agent_file::AGENT_PROFILE;
use super::form::{Choice as _, Form, Need, Null, OFF_WORDS, RenderedDefault, Row, Schemas};
use super::keys::FILE;
use super::work_file::{OneItem, WORK_BUDGET, WORK_FILE, WORK_ITEM, WORK_LIMITS, camel_case};
use super::workflow_file::WORKFLOW_FILE;
use crate::contract::ProviderType;

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The JSON Schema of a contract file. `contracts/contract-file.schema.json` holds it.
#[must_use]
pub fn contract_file_schema() -> Value {
    let about =
        "What an author writes: monolith run --contract FILE makes the execution contract of it.";
    schema_of(&FILE, about)
}

/// The JSON Schema of an agent's profile. `contracts/agent-profile.schema.json` holds it.
#[must_use]
pub fn agent_profile_schema() -> Value {
    let about = "An agent: what it can do, which tasks it is for, and under which contract it runs. \
                 monolith agent add FILE registers it.";
    schema_of(&AGENT_PROFILE, about)
}

/// The JSON Schema of a workflow's file. `contracts/workflow-file.schema.json` holds it.
#[must_use]
pub fn workflow_file_schema() -> Value {
    let about =
        "A workflow: its steps, and the contract that they run under. monolith run FILE runs it.";
    schema_of(&WORKFLOW_FILE, about)
}

/// The JSON Schema of a file of work items. `contracts/work-file.schema.json` holds it.
#[must_use]
pub fn work_file_schema() -> Value {
    let mut definitions = Schemas::default();
    let list = definitions.form(&WORK_FILE);
    let one = definitions.form(&OneItem);
    let forms: [&dyn Form; 5] = [&WORK_FILE, &OneItem, &WORK_ITEM, &WORK_LIMITS, &WORK_BUDGET];
    for form in forms {
        if let Some(Value::Object(schema)) = definitions.0.get_mut(form.id()) {
            add_camel_case(schema);
        }
    }
    json!({
        "$schema": DIALECT,
        "description": "Work items: changes that agents make to a folder, each completely or not at all. \
                        monolith work run FILE runs them.",
        "title": WORK_FILE.title(),
        "if": {"required": [WORK_FILE.items.name]},
        "then": list,
        "else": one,
        "$defs": definitions.0,
    })
}

/// Adds the camelCase spelling of each key. A mapping has one of both.
fn add_camel_case(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    let names = properties.keys().filter(|name| name.contains('_'));
    let names: Vec<String> = names.cloned().collect();
    let mut apart = Map::new();
    for name in names {
        let camel = camel_case(&name);
        let mut twin = properties.get(&name).cloned().unwrap_or_default();
        if let Value::Object(twin) = &mut twin {
            let meaning = format!("`{name}` in camelCase.");
            twin.insert("description".to_owned(), json!(meaning));
        }
        properties.insert(camel.clone(), twin);
        apart.insert(camel, without(&[name.as_str()]));
    }
    let mut rules = Vec::new();
    if let Some(Value::Array(needed)) = schema.get_mut("required") {
        needed.retain(|name| {
            let camel = name.as_str().map(camel_case);
            let camel = camel.filter(|camel| name != camel);
            if let Some(camel) = &camel {
                rules.push(json!({"anyOf": [{"required": [name]}, {"required": [camel]}]}));
            }
            camel.is_none()
        });
    }
    schema.insert("dependentSchemas".to_owned(), Value::Object(apart));
    if !rules.is_empty() {
        schema.insert("allOf".to_owned(), json!(rules));
    }
}

fn schema_of(form: &dyn Form, about: &str) -> Value {
    let mut definitions = Schemas::default();
    let mut root = Map::new();
    root.insert("$schema".to_owned(), json!(DIALECT));
    root.insert("description".to_owned(), json!(about));
    root.extend(definitions.object(form));
    root.insert("$defs".to_owned(), Value::Object(definitions.0));
    Value::Object(root)
}

impl Schemas {
    /// A reference to the schema of that mapping.
    pub(super) fn form(&mut self, form: &dyn Form) -> Value {
        let id = form.id();
        if !self.0.contains_key(id) {
            self.0.insert(id.to_owned(), Value::Null);
            let schema = self.object(form);
            self.0.insert(id.to_owned(), Value::Object(schema));
        }
        json!({"$ref": format!("#/$defs/{id}")})
    }

    /// The same, or null, where the mapping may be defined outside the file.
    pub(super) fn form_or_elsewhere(&mut self, form: &dyn Form) -> Value {
        json!({"anyOf": [self.form(form), {"type": "null"}]})
    }

    /// The schema of a mapping, written out.
    pub(super) fn object(&mut self, form: &dyn Form) -> Map<String, Value> {
        let rows = form.rows();
        let mut properties = Map::new();
        let mut apart: Map<String, Value> = Map::new();
        let mut rules = Vec::new();
        for row in &rows {
            properties.insert(row.name.to_owned(), self.property(row));
            if !row.only_for.is_empty() {
                let others = ProviderType::WORDS.iter();
                let others = others.filter(|(_, known)| !row.only_for.contains(known));
                let others: Vec<&str> = others.map(|(word, _)| *word).collect();
                rules.push(of_types(&others, &without(&[row.name])));
            }
        }
        for other in form.names() {
            let barred = rows.iter().filter(|row| row.not_with.contains(other));
            let barred: Vec<&str> = barred.map(|row| row.name).collect();
            if !barred.is_empty() {
                apart.insert((*other).to_owned(), without(&barred));
            }
        }
        let needed = rows.iter().filter(|row| row.need == Need::Here);
        let needed: Vec<&str> = needed.map(|row| row.name).collect();
        let facts = [
            ("title", json!(form.title())),
            ("type", json!("object")),
            ("properties", Value::Object(properties)),
            ("required", json!(needed)),
            ("dependentSchemas", Value::Object(apart)),
            ("allOf", json!(rules)),
            ("additionalProperties", json!(false)),
        ];
        let is_empty = |fact: &Value| match fact {
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let facts = facts.into_iter().filter(|(_, fact)| !is_empty(fact));
        facts.map(|(name, fact)| (name.to_owned(), fact)).collect()
    }

    fn property(&mut self, row: &Row) -> Value {
        let mut value = (row.schema)(self);
        if let (true, Value::Object(list)) = (row.at_least_one, &mut value) {
            list.insert("minItems".to_owned(), json!(1));
        }
        if let (Some((least, most)), Value::Object(number)) = (row.within, &mut value) {
            number.insert("minimum".to_owned(), json!(least));
            number.insert("maximum".to_owned(), json!(most));
        }
        let mut value = match row.null {
            Null::Refused => value,
            Null::LeftOut | Null::Off => json!({"anyOf": [value, {"type": "null"}]}),
            Null::OffAsWords => {
                json!({"anyOf": [value, {"enum": OFF_WORDS}, {"type": "null"}]})
            }
        };
        if let Value::Object(property) = &mut value {
            let meaning = json!(without_links(row.meaning));
            property.insert("description".to_owned(), meaning);
            if let RenderedDefault::Value(default_value) = &row.default_value {
                property.insert("default".to_owned(), default_value.clone());
            }
        }
        value
    }
}

/// A mapping without these keys.
fn without(names: &[&str]) -> Value {
    let names = names.iter().map(|name| ((*name).to_owned(), json!(false)));
    json!({"properties": names.collect::<Map<_, _>>()})
}

/// Returns the rule for providers of these types.
fn of_types(types: &[&str], rule: &Value) -> Value {
    json!({
        "if": {"properties": {"type": {"enum": types}}, "required": ["type"]},
        "then": rule,
    })
}

/// Markdown with the words of its links alone.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, words, after)) = link_in(rest) {
        out.push_str(before);
        out.push_str(words);
        rest = after;
    }
    out + rest
}

/// The text before the first link, the link's text, and the text behind it.
fn link_in(text: &str) -> Option<(&str, &str, &str)> {
    let (head, target) = text.split_once("](")?;
    let (before, words) = head.rsplit_once('[')?;
    let (_, after) = target.split_once(')')?;
    Some((before, words, after))
}
