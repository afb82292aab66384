//! Placeholders in a file for values that no contract holds. Does not know whose they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::document::Document;
use crate::contract::spec::SERVER;
use crate::contract::{QueueTerms, ServerTerms};

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

/// States the keys that servers and web services have under one name, where the contract records them under another one.
pub(super) fn state_reach(file: &mut Document, path: &[&str], terms: &ServerTerms) {
    if !terms.header_names.is_empty() {
        let headers = values(&terms.header_names, &terms.header_variables);
        file.state_below(path, SERVER.headers.name, headers);
    }
    if let Some(pin) = terms.expected_pin {
        file.state_below(path, SERVER.pin.name, json!(pin));
    }
    let queue = terms.queue.as_deref();
    if let Some(queue) = queue.filter(|queue| *queue != QueueTerms::DEFAULT) {
        file.state_below(path, SERVER.queue.name, json!(queue));
    }
}
