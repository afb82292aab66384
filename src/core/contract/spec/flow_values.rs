//! The values of `labels` and `flow` that may be written in two ways. Does not read their rules.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::reporter::Reporter;
use super::tree::{Kind, Node};
use crate::contract::{FlowRule, Label};

/// The word for the rules against private data, a stranger's words and a way out together.
const TRIFECTA: &str = "trifecta";

/// One label, or a list of them.
pub(in crate::contract) struct Labels(pub(super) BTreeSet<Label>);

impl Read for Labels {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(Self(BTreeSet::from([Label::read(node, reporter)?])));
        }
        let labels = Vec::read(node, reporter)?;
        if labels.is_empty() {
            reporter.expected(node, "at least one label");
            return None;
        }
        Some(Self(labels.into_iter().collect()))
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let label = Label::schema(definitions);
        json!({"anyOf": [label, {"type": "array", "items": label, "minItems": 1}]})
    }
}

/// A list of rules, or the word for some.
pub(in crate::contract) struct FlowRules(pub(super) Vec<FlowRule>);

impl Read for FlowRules {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        match &node.kind {
            Kind::Scalar { text, .. } if text == TRIFECTA => Some(Self(vec![FlowRule::trifecta()])),
            Kind::Scalar { .. } | Kind::Map(_) => {
                reporter.expected(node, "a list of rules, or `trifecta`");
                None
            }
            Kind::List(_) => Vec::read(node, reporter).map(Self),
        }
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [{"const": TRIFECTA}, Vec::<FlowRule>::schema(definitions)]})
    }
}
