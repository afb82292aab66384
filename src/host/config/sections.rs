//! The checks and values of the layers as a whole, whatever a contract names: bindings to queues (000 §7), unknown sections,
//! and the folder of snapshots.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::builder::Builder;
use super::fault::{ConfigFault, DefinitionFault};
use super::layer::{OF_OTHERS, PERSISTENCE, QUEUES, SECTIONS, UNUSED, section_of};
use super::layers::{Layers, names};
use super::merged::Merged;
use monolith_core::contract::{DefinitionKind, LayerValue, QueueTerms, placeholders, suggest};

/// Kinds of definitions that wait in queues.
const BOUND: [DefinitionKind; 3] = [
    DefinitionKind::Server,
    DefinitionKind::RestTool,
    DefinitionKind::Openapi,
];
/// The key of `persistence` that names the folder of snapshots.
const SESSIONS_DIR: &str = "sessionsDir";

/// The sections that name keys, headers and variables.
const NAMING: [&str; 4] = ["mcpServers", "openapiSpecs", "providers", "restTools"];
/// Mappings whose values are handed on as they are.
const MAPS: [&str; 2] = [".env", ".headers"];

impl Layers {
    /// Each binding to a queue that neither the layers define nor `own`: what the layers come to counts, and of a layer that another one
    /// overrides only the rest. What `is_named` is judged where it is named; a server that is switched off is none.
    pub(super) fn unbound(
        &self,
        own: &[&str],
        is_named: &dyn Fn(DefinitionKind, &str) -> bool,
    ) -> Result<Vec<String>, ConfigFault> {
        let layers = self.all()?;
        let defined = names(layers, QUEUES);
        let Ok(builder) = self.builder() else {
            return Ok(Vec::new());
        };
        let mut rules = Vec::new();
        for kind in BOUND {
            let (section, scope) = section_of(kind);
            for name in names(layers, section) {
                if is_named(kind, name) {
                    continue;
                }
                let Some(merged) = self.merged(section, name)? else {
                    continue;
                };
                let enabled = merged.member("enabled");
                if enabled.is_some_and(|enabled| enabled.value() == json!(false)) {
                    continue;
                }
                let Some(bound) = merged.member("queue") else {
                    continue;
                };
                let at = format!("{section}.{name}");
                let file = self.file_of(bound.layer());
                let (queue, origin) = match builder.expanded("queue", bound) {
                    Ok((Value::String(queue), origin)) => (queue, origin),
                    // A variable that is missing is a fault of the file that names the tool.
                    Ok((Value::Null, _)) | Err(_) => continue,
                    Ok(_) => {
                        let rule = "expected the name of a queue";
                        let fault = DefinitionFault::of("queue", bound.layer(), rule);
                        rules.push(fault.render(scope, name, &at, &file));
                        continue;
                    }
                };
                let known = |queue: &str| defined.contains(&queue) || own.contains(&queue);
                if queue == QueueTerms::DEFAULT || known(&queue) {
                    continue;
                }
                let missing = if origin.is_expanded() {
                    "of the name that a variable holds".to_owned()
                } else {
                    format!("`{queue}`")
                };
                let fault = DefinitionFault {
                    key: "queue".to_owned(),
                    layer: bound.layer(),
                    rule: format!(
                        "no queue {missing} is defined under `queues`; define it there, or leave `queue` out"
                    ),
                    variable: None,
                };
                rules.push(fault.render(scope, name, &at, &file));
            }
        }
        // Those that are named were read.
        for name in defined.iter().filter(|name| !own.contains(name)) {
            let Some(merged) = self.merged(QUEUES, name)? else {
                continue;
            };
            if let Some(fault) = queue_fault(&builder, &merged) {
                let file = self.file_of(fault.layer);
                rules.push(fault.render("queue", name, &format!("{QUEUES}.{name}"), &file));
            }
        }
        Ok(rules)
    }

    /// The keys that mean nothing, by layer.
    pub(super) fn unused_keys(&self) -> Result<Vec<String>, ConfigFault> {
        let mut notes = Vec::new();
        for layer in self.all()? {
            let file = layer.path.display();
            for (path, owner, unused) in UNUSED {
                let mut mappings = vec![&layer.value];
                for step in path.split('.') {
                    let members = mappings.iter().copied().filter_map(Value::as_object);
                    let members = members.flatten();
                    let below = members.filter(|(name, _)| step == "*" || name.as_str() == step);
                    mappings = below.map(|(_, value)| value).collect();
                }
                let members = mappings.into_iter().filter_map(Value::as_object);
                let keys = members.flatten().map(|(name, _)| name.as_str());
                let keys: BTreeSet<&str> = keys.filter(|key| unused.contains(key)).collect();
                let ignored = keys.into_iter();
                notes.extend(ignored.map(|key| format!("{file}: `{key}` of {owner} is ignored")));
            }
        }
        Ok(notes)
    }

    /// The sections that mean nothing and are called nearly as one that does; the same of what is kept of runs.
    pub(super) fn unknown_sections(&self) -> Result<Vec<String>, ConfigFault> {
        let known = || SECTIONS.into_iter().chain([PERSISTENCE]);
        let mut notes = Vec::new();
        for layer in self.all()? {
            let sections = layer.value.as_object().into_iter().flatten();
            let sections = sections.map(|(name, _)| name.as_str());
            let file = layer.path.display();
            let means_something =
                |name: &&str| known().chain(OF_OTHERS).any(|known| known == *name);
            for name in sections.filter(|name| !means_something(name)) {
                if let Some(meant) = suggest(name, known()) {
                    notes.push(format!("{file}: `{name}` is ignored; {meant}"));
                }
            }
            match layer.value.get(PERSISTENCE) {
                Some(Value::Object(kept)) => {
                    for name in kept.keys().filter(|name| *name != SESSIONS_DIR) {
                        if let Some(meant) = suggest(name, [SESSIONS_DIR].into_iter()) {
                            let at = format!("{PERSISTENCE}.{name}");
                            notes.push(format!("{file}: `{at}` means nothing; {meant}"));
                        }
                    }
                }
                Some(Value::Null) | None => {}
                Some(_) => notes.push(format!(
                    "{file}: `{PERSISTENCE}` is no JSON object, so it means nothing"
                )),
            }
        }
        Ok(notes)
    }

    /// The values of all layers that may be secrets, also of servers and providers that no contract names: variables and headers, and
    /// every text with a placeholder.
    pub fn stated_values(&self) -> Vec<LayerValue> {
        let mut found = Vec::new();
        for layer in self.all().unwrap_or_default() {
            let mut take = |place: &str, name: &str, text: &str| {
                found.push(LayerValue {
                    file: layer.path.clone(),
                    name: name.to_owned(),
                    place: place.to_owned(),
                    text: text.to_owned(),
                    variables: layer.variables.clone(),
                });
            };
            for section in NAMING {
                let Some(section_value) = layer.value.get(section) else {
                    continue;
                };
                stated(section_value, section, &mut take);
            }
        }
        found
    }

    /// The folder of snapshots (001 §12), where a layer names one. It begins in the folder of that layer.
    ///
    /// # Errors
    /// [`ConfigFault`] where the value there names no folder.
    pub fn sessions_dir(&self) -> Result<Option<PathBuf>, ConfigFault> {
        let Some(merged) = self.merged(PERSISTENCE, SESSIONS_DIR)? else {
            return Ok(None);
        };
        self.take(&[PERSISTENCE, SESSIONS_DIR]);
        let at = format!("{PERSISTENCE}.{SESSIONS_DIR}");
        let file = PathBuf::from(self.file_of(merged.layer()));
        let refuse = |rule: &str| ConfigFault {
            path: file.clone(),
            rule: format!("{at}: {rule}"),
        };
        let builder = self.builder().map_err(|rule| refuse(&rule))?;
        let expanded = builder.expanded(SESSIONS_DIR, &merged);
        let expanded = expanded.map_err(|fault| match fault.variable {
            Some(name) => refuse(&format!(
                "the variable ${{{name}}} is not set; {}",
                fault.rule
            )),
            None => refuse(&fault.rule),
        });
        match expanded?.0 {
            Value::Null => Ok(None),
            // No path of a layer begins in a home by that sign: a folder of that name would be made.
            Value::String(path) if path.starts_with('~') => Err(refuse(
                "`~` is no folder there; ${HOME} is that of the user",
            )),
            Value::String(path) if !path.trim().is_empty() => {
                let folder = file.parent().map(|folder| folder.join(&path));
                Ok(Some(folder.unwrap_or_else(|| path.into())))
            }
            _ => Err(refuse("it is no path of a folder")),
        }
    }
}

/// Hands on each value that may be a secret, with its place and its own name.
fn stated(value: &Value, place: &str, take: &mut dyn FnMut(&str, &str, &str)) {
    let Some(members) = value.as_object() else {
        return;
    };
    let is_map = MAPS.iter().any(|map| place.ends_with(map));
    for (name, value) in members {
        let mut of_text = |text: &str| {
            if is_map || placeholders(text).next().is_some() {
                take(place, name, text);
            }
        };
        match value {
            Value::String(text) => of_text(text),
            Value::Array(items) => items.iter().filter_map(Value::as_str).for_each(of_text),
            Value::Object(_) => stated(value, &format!("{place}.{name}"), take),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the fault of an invalid entry of `queues`. A missing variable is a fault of the file that names a tool of the entry.
fn queue_fault(builder: &Builder<'_>, merged: &Merged) -> Option<DefinitionFault> {
    if let Merged::Leaf { layer, .. } = merged {
        return Some(DefinitionFault::of("", *layer, "it is no JSON object"));
    }
    let Some(concurrent) = merged.member("concurrent") else {
        let rule = "`concurrent` is missing, how many calls run at once";
        return Some(DefinitionFault::of("", merged.layer(), rule));
    };
    let (value, _) = builder.expanded("concurrent", concurrent).ok()?;
    let number = match &value {
        Value::String(text) => text.parse().ok(),
        value => value.as_u64(),
    };
    let fits = number.is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number));
    let rule = "expected a whole number of at least 1";
    (!fits).then(|| DefinitionFault::of("concurrent", concurrent.layer(), rule))
}
