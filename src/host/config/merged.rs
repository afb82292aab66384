//! Layers laid over each other, each value with its layer. Does not know what a key means.

use serde_json::{Map, Value};

/// The one name of a key that may be written in several ways.
pub(super) type KeyName = fn(&str) -> &str;

/// Sections whose keys are free names: they are taken as written.
const FREE: [&str; 7] = [
    "bodyTemplate",
    "body_template",
    "custom",
    "env",
    "headers",
    "parametersSchema",
    "parameters_schema",
];

fn below(key: &str, one_name: KeyName) -> KeyName {
    if FREE.contains(&key) {
        |key| key
    } else {
        one_name
    }
}

/// Values of several layers as one: where both have a mapping they are laid over each other key by key, else the higher counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Merged {
    Leaf {
        /// Index of the layer that it comes from.
        layer: usize,
        value: Value,
    },
    Map(Vec<(String, Merged)>),
}

impl Merged {
    pub(super) fn of(layer: usize, value: &Value) -> Self {
        match value {
            Value::Object(members) => Self::Map(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::of(layer, value)))
                    .collect(),
            ),
            value => Self::Leaf {
                layer,
                value: value.clone(),
            },
        }
    }

    /// Lays a lower layer below this one. `one_name` gives the name of a key that may be written in several ways: what a layer says
    /// by one of them counts before what a lower one says by another.
    pub(super) fn over(&mut self, lower: Self, one_name: KeyName) {
        if let (Self::Map(own), Self::Map(lower)) = (self, lower) {
            let spoken: Vec<String> = own.iter().map(|(key, _)| key.clone()).collect();
            for (key, value) in lower {
                let by_another_name =
                    |known: &String| *known != key && one_name(known) == one_name(&key);
                match own.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => known.over(value, below(&key, one_name)),
                    None if spoken.iter().any(by_another_name) => {}
                    None => own.push((key, value)),
                }
            }
        }
    }

    /// The members; none of what is no mapping.
    pub(super) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Map(members) => members,
            Self::Leaf { .. } => &[],
        }
    }

    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        let found = self.members().iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value)
    }

    /// Removes the value at a dotted path; whether there was one.
    pub(super) fn remove(&mut self, path: &str) -> bool {
        let Self::Map(members) = self else {
            return false;
        };
        let before = members.len();
        members.retain(|(key, _)| key != path);
        if members.len() < before {
            return true;
        }
        let Some((first, rest)) = path.split_once('.') else {
            return false;
        };
        let mut members = members.iter_mut();
        let found = members.find(|(key, _)| key == first);
        found.is_some_and(|(_, value)| value.remove(rest))
    }

    /// The text that it is, and whose.
    pub(super) fn text(&self) -> Option<(usize, &str)> {
        match self {
            Self::Leaf {
                layer,
                value: Value::String(text),
            } => Some((*layer, text)),
            Self::Leaf { .. } | Self::Map(_) => None,
        }
    }

    /// The layer of its first value.
    pub(super) fn layer(&self) -> usize {
        match self {
            Self::Leaf { layer, .. } => *layer,
            Self::Map(members) => members.first().map_or(0, |(_, member)| member.layer()),
        }
    }

    /// As plain JSON.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Leaf { value, .. } => value.clone(),
            Self::Map(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), value.value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }
}
