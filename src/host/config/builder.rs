//! A definition in the making: keys of a contract file with the values of layers, and where each value is from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fault::DefinitionFault;
use super::layer::{Layer, is_name, snake};
use super::merged::Merged;
use crate::driver::Environment;
use monolith_core::contract::{Definition, ValueOrigin};

/// Gathers the members of one definition.
#[derive(Clone)]
pub(super) struct Builder<'l> {
    /// The contract's folder, where the paths of a contract begin.
    contract_dir: &'l Path,
    environment: &'l Environment,
    layers: &'l [Arc<Layer>],
    pub(super) members: Map<String, Value>,
    origins: BTreeMap<String, ValueOrigin>,
}

impl<'l> Builder<'l> {
    pub(super) fn new(
        layers: &'l [Arc<Layer>],
        environment: &'l Environment,
        contract_dir: &'l Path,
    ) -> Self {
        Self {
            contract_dir,
            environment,
            layers,
            members: Map::new(),
            origins: BTreeMap::new(),
        }
    }

    pub(super) fn finish(self) -> Definition {
        Definition {
            files: Vec::new(),
            members: self.members,
            origins: self.origins,
        }
    }

    /// Takes a value over, its placeholders expanded.
    pub(super) fn put(
        &mut self,
        name: &str,
        key: &str,
        value: &Merged,
    ) -> Result<(), DefinitionFault> {
        let (expanded, origin) = self.expanded(key, value)?;
        self.insert(name, expanded, origin);
        Ok(())
    }

    /// The same for a path, or an address: a path begins in the folder of its layer.
    pub(super) fn located(
        &mut self,
        name: &str,
        key: &str,
        value: &Merged,
    ) -> Result<(), DefinitionFault> {
        let (mut expanded, origin) = self.expanded(key, value)?;
        if let Value::String(text) = &mut expanded
            && !text.contains("://")
        {
            let file = self.file(value.layer());
            let folder = file.parent().unwrap_or(&file);
            let known = |path: &Path| fs::canonicalize(path.join(".")).ok();
            if folder != self.contract_dir && known(folder) != known(self.contract_dir) {
                let path = std::path::absolute(folder.join(&*text));
                let path = path.unwrap_or_else(|_| folder.join(&*text));
                *text = path.to_string_lossy().into_owned();
            }
        }
        self.insert(name, expanded, origin);
        Ok(())
    }

    /// A word of a command that names a file beside its layer, `./server.js`, as the path of that file; every other word as it is.
    pub(super) fn beside_layer(&self, layer: usize, word: Value) -> Value {
        let file = self.file(layer);
        let folder = file.parent().unwrap_or(&file);
        let known = |path: &Path| fs::canonicalize(path.join(".")).ok();
        let path = word.as_str().filter(|text| {
            (text.starts_with("./") || text.starts_with("../"))
                && known(folder) != known(self.contract_dir)
                && folder.join(text).exists()
        });
        let path = path.and_then(|text| std::path::absolute(folder.join(text)).ok());
        path.map_or(word, |path| {
            Value::String(path.to_string_lossy().into_owned())
        })
    }

    /// The same for parameters, whose names differ.
    pub(super) fn renamed(
        &mut self,
        name: &str,
        key: &str,
        value: &Merged,
    ) -> Result<(), DefinitionFault> {
        let (expanded, origin) = self.expanded(key, value)?;
        self.insert(name, snake(expanded), origin);
        Ok(())
    }

    /// Takes the name of a variable over, which is looked up where it is used.
    pub(super) fn named(&mut self, key: &str, layer: usize, name: Value) {
        let origin = self.deferred(layer);
        self.insert(key, name, origin);
    }

    /// Takes a mapping over as it is: its placeholders are expanded where it is used, with the variables of each value's layer.
    pub(super) fn later(&mut self, name: &str, value: &Merged) {
        if let Merged::Leaf { layer, .. } = value {
            // What is no mapping is refused, and its file named.
            let file = self.file(*layer);
            self.from(name, ValueOrigin::Layer { file });
        }
        for (key, value) in value.members() {
            let origin = self.deferred(value.layer());
            self.from(&format!("{name}.{key}"), origin);
        }
        self.members.insert(name.to_owned(), value.value());
    }

    pub(super) fn insert(&mut self, name: &str, value: Value, origin: ValueOrigin) {
        self.members.insert(name.to_owned(), value);
        self.from(name, origin);
    }

    /// Notes where the value at a dotted path of the definition is from.
    pub(super) fn from(&mut self, path: &str, origin: ValueOrigin) {
        self.origins.insert(path.to_owned(), origin);
    }

    fn deferred(&self, layer: usize) -> ValueOrigin {
        let variables = self.layers.get(layer).map(|layer| &layer.variables);
        ValueOrigin::Deferred {
            file: self.file(layer),
            variables: variables.cloned().unwrap_or_default(),
        }
    }

    fn file(&self, layer: usize) -> Arc<Path> {
        let layer = self.layers.get(layer);
        layer.map_or_else(|| Path::new("").into(), |layer| layer.path.clone())
    }

    /// A value with its placeholders expanded, and whether one of a variable then stands in it.
    pub(super) fn expanded(
        &self,
        key: &str,
        merged: &Merged,
    ) -> Result<(Value, ValueOrigin), DefinitionFault> {
        let mut expansion = Expansion {
            environment: self.environment,
            layers: self.layers,
            variables: BTreeMap::new(),
        };
        let value = expansion.merged(key, merged)?;
        let file = self.file(merged.layer());
        let origin = if expansion.variables.is_empty() {
            ValueOrigin::Layer { file }
        } else {
            let variables = Arc::new(expansion.variables);
            ValueOrigin::Expanded { file, variables }
        };
        Ok((value, origin))
    }
}

/// Replaces placeholders and keeps the variables that it took.
struct Expansion<'l> {
    environment: &'l Environment,
    layers: &'l [Arc<Layer>],
    variables: BTreeMap<String, String>,
}

impl Expansion<'_> {
    fn merged(&mut self, key: &str, merged: &Merged) -> Result<Value, DefinitionFault> {
        Ok(match merged {
            Merged::Map(members) => {
                let mut expanded = Map::new();
                for (name, member) in members {
                    let at = format!("{key}.{name}");
                    expanded.insert(name.clone(), self.merged(&at, member)?);
                }
                Value::Object(expanded)
            }
            Merged::Leaf { layer, value } => self.value(key, *layer, value)?,
        })
    }

    fn value(&mut self, key: &str, layer: usize, value: &Value) -> Result<Value, DefinitionFault> {
        Ok(match value {
            Value::String(text) => Value::String(self.text(key, layer, text)?),
            Value::Array(items) => {
                let all = items.iter();
                let all = all.map(|item| self.value(key, layer, item));
                Value::Array(all.collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let all = members.iter();
                let all = all.map(|(name, item)| Ok((name.clone(), self.value(key, layer, item)?)));
                Value::Object(all.collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// Replaces each `${NAME}`: by the variable beside the layer, else by that of the process. What is no name, such as
    /// `${parameters.x}`, stays.
    fn text(&mut self, key: &str, layer: usize, text: &str) -> Result<String, DefinitionFault> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let named = after.split_once('}').filter(|(name, _)| is_name(name));
            let Some((name, tail)) = named else {
                out.push_str("${");
                rest = after;
                continue;
            };
            let beside = self.layers.get(layer);
            let beside = beside.and_then(|layer| layer.variables.get(name).cloned());
            let value = beside.or_else(|| self.environment.raw(name));
            let value = value.ok_or_else(|| DefinitionFault {
                key: key.to_owned(),
                layer,
                rule: "set it in the .ai-agent.env next to that file, or in the environment"
                    .to_owned(),
                variable: Some(name.to_owned()),
            })?;
            out.push_str(&value);
            self.variables.insert(name.to_owned(), value);
            rest = tail;
        }
        out.push_str(rest);
        Ok(out)
    }
}
