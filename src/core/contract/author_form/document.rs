//! A contract file that is being written. Does not know which keys it needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::execution_contract::canonical;
use crate::contract::spec::{FILE, PROVIDER, REST_TOOL, SERVER};

/// A contract file that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    members: Map<String, Value>,
    /// JSON text of `provider_options` by provider: its digits and its order are part of the contract.
    options: BTreeMap<String, String>,
}

impl Document {
    /// States the value at that path; mappings on the way are made where there are none.
    pub(super) fn state(&mut self, path: &[&str], value: Value) {
        let Some((last, way)) = path.split_last() else {
            return;
        };
        let mut section = &mut self.members;
        for key in way {
            let below = section
                .entry(*key)
                .or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(below) = below else {
                return;
            };
            section = below;
        }
        section.insert((*last).to_owned(), value);
    }

    /// States a key of the mapping at that path.
    pub(super) fn state_below(&mut self, path: &[&str], key: &str, value: Value) {
        let path: Vec<&str> = path.iter().copied().chain([key]).collect();
        self.state(&path, value);
    }

    /// States the keys of a mapping that `terms` record under the same names, unless they are recorded `otherwise`.
    pub(super) fn state_same(
        &mut self,
        path: &[&str],
        keys: &[&str],
        terms: &impl Serialize,
        otherwise: &[&str],
    ) {
        for (key, value) in members(terms) {
            let key = key.as_str();
            let is_empty = value.as_array().is_some_and(Vec::is_empty);
            let says_nothing = value.is_null() || is_empty && !EMPTY_LISTS.contains(&key);
            if keys.contains(&key) && !otherwise.contains(&key) && !says_nothing {
                self.state_below(path, key, value);
            }
        }
    }

    /// States a key of one of `targets`.
    pub(super) fn state_at_target(&mut self, index: usize, path: &[&str], value: Value) {
        let targets = self.members.get_mut(FILE.targets.name);
        let target = targets.and_then(|targets| targets.get_mut(index));
        if let Some(Value::Object(members)) = target {
            let mut part = Self {
                members: std::mem::take(members),
                options: BTreeMap::new(),
            };
            part.state(path, value);
            *members = part.members;
        }
    }

    /// States the `provider_options` of a provider.
    pub(super) fn state_options(&mut self, provider: &str, text: &str) {
        self.options.insert(provider.to_owned(), text.to_owned());
    }

    /// The value at that path.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        let first = self.members.get(*first)?;
        rest.iter().try_fold(first, |value, key| value.get(*key))
    }

    /// The text of the file: JSON, a line for each key.
    pub(super) fn text(&self) -> String {
        let members = self.members.iter().map(|(key, value)| {
            let value = if key == FILE.providers.name {
                self.providers(value)
            } else {
                canonical(value)
            };
            format!("{}: {value}", quoted(key))
        });
        let members: Vec<String> = members.collect();
        readable(&format!("{{\n{}\n}}\n", members.join(",\n")))
    }

    fn providers(&self, value: &Value) -> String {
        let providers = value.as_object().into_iter().flatten();
        let providers = providers.map(|(name, provider)| {
            let members = provider.as_object().into_iter().flatten();
            let members =
                members.map(|(key, value)| format!("{}: {}", quoted(key), canonical(value)));
            let options = self.options.get(name).map(|text| {
                let key = PROVIDER.provider_options.name;
                format!("{}: {text}", quoted(key))
            });
            let members: Vec<String> = members.chain(options).collect();
            format!("{}: {{{}}}", quoted(name), members.join(", "))
        });
        let providers: Vec<String> = providers.collect();
        format!("{{{}}}", providers.join(", "))
    }
}

/// Terms as they are stored.
pub(super) fn members(terms: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(terms) {
        Ok(Value::Object(members)) => members,
        // Terms serialise as a mapping.
        Ok(_) | Err(_) => Map::new(),
    }
}

/// Keys of which an empty list is a value: no tool is taken, and a body is an empty list.
static EMPTY_LISTS: [&str; 2] = [SERVER.tools_allowed.name, REST_TOOL.body_template.name];

fn quoted(text: &str) -> String {
    canonical(&Value::from(text))
}

/// JSON text that YAML reads as well: characters that it does not print (YAML 1.2 §5.1) are escaped.
fn readable(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        let plain = (c.is_ascii() && c != '\u{7f}') || c.is_alphanumeric() || c > '\u{ffff}';
        if plain {
            text.push(c);
        } else {
            // Characters outside ASCII occur in strings only.
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        }
    }
    text
}
