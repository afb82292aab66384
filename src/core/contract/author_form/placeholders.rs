//! Placeholders in a file for values that no contract holds. Does not know whose they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Values of headers or variables, of which a contract holds the names and the variables that they are made of.
pub(super) fn values(names: &[String], variables: &BTreeMap<String, Vec<String>>) -> Value {
    let value = |name: &String| {
        let variables = variables.get(name).into_iter().flatten();
        let placeholders = variables.map(|variable| format!("${{{variable}}}"));
        placeholders.collect::<Vec<_>>().concat()
    };
    names
        .iter()
        .map(|name| (name.clone(), json!(value(name))))
        .collect()
}
