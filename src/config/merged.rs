use serde_json::{Map, Value};

/// Values of several layers as one: where both have a mapping they are laid over each other key by key, else the higher counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Merged {
    Leaf {
        /// Index of the layer that says so.
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

    /// Lays a lower layer below this one.
    pub(super) fn over(&mut self, lower: Self) {
        if let (Self::Map(own), Self::Map(lower)) = (self, lower) {
            for (key, value) in lower {
                match own.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => known.over(value),
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
