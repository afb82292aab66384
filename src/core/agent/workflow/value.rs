//! What steps came to, kept once by the number of their run. Does not know which step is asked about.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::contract::{Label, StepId};
use crate::message::{Digest, DigestContext};

static OUTPUTS: DigestContext = DigestContext::new("monolith workflow v1 outputs");

/// The outputs of step runs, and a digest that grows with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outputs {
    bytes: u64,
    digest: Digest,
    labels: BTreeMap<u64, BTreeSet<Label>>,
    texts: BTreeMap<u64, String>,
}

/// What a step came to, by the runs in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub(crate) enum Value {
    /// Nothing was run.
    #[default]
    Empty,
    /// What the run of that number came to.
    Run(u64),
    /// What each iteration came to.
    List(Vec<Value>),
    /// What each step of a group came to that has completed.
    Members(Vec<(StepId, Value)>),
}

impl Outputs {
    /// Keeps the output of a run, and its labels.
    pub(super) fn keep(&mut self, number: u64, text: &str, labels: BTreeSet<Label>) {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        let words: Vec<&str> = labels.iter().map(|label| label.word()).collect();
        let words = words.join(" ");
        let item = OUTPUTS.framed(&[&number.to_le_bytes(), text.as_bytes(), words.as_bytes()]);
        self.digest = OUTPUTS.rolled(self.digest, item.as_bytes());
        self.labels.insert(number, labels);
        self.texts.insert(number, text.to_owned());
    }

    /// How many bytes they have.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of all of them.
    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    /// What the run of that number came to.
    pub(crate) fn text(&self, number: u64) -> &str {
        self.texts.get(&number).map_or("", String::as_str)
    }
}

impl Value {
    /// The labels of all runs in it.
    pub(super) fn labels(&self, outputs: &Outputs) -> BTreeSet<Label> {
        let all = |values: &mut dyn Iterator<Item = &Self>| {
            values.flat_map(|value| value.labels(outputs)).collect()
        };
        match self {
            Self::Empty => BTreeSet::new(),
            Self::Run(number) => outputs.labels.get(number).cloned().unwrap_or_default(),
            Self::List(items) => all(&mut items.iter()),
            Self::Members(members) => all(&mut members.iter().map(|(_, value)| value)),
        }
    }

    /// The text of it: of a loop a JSON array, of a group a JSON object.
    pub(super) fn text(&self, outputs: &Outputs) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Run(number) => outputs.text(*number).to_owned(),
            Self::List(_) | Self::Members(_) => self.json(outputs).to_string(),
        }
    }

    fn json(&self, outputs: &Outputs) -> serde_json::Value {
        match self {
            Self::Empty | Self::Run(_) => serde_json::Value::String(self.text(outputs)),
            Self::List(items) => items.iter().map(|item| item.json(outputs)).collect(),
            Self::Members(members) => members
                .iter()
                .map(|(id, value)| (id.to_string(), value.json(outputs)))
                .collect(),
        }
    }
}
