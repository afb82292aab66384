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
pub(in crate::contract) struct Labels;

impl Read for Labels {
    type Output = BTreeSet<Label>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(BTreeSet::from([Label::read(node, reporter)?]));
        }
        let labels = Vec::<Label>::read(node, reporter)?;
        if labels.is_empty() {
            reporter.expected(node, "at least one label");
            return None;
        }
        Some(labels.into_iter().collect())
    }

    fn schema(definitions: &mut Schemas) -> Value {
        let label = Label::schema(definitions);
        json!({"anyOf": [label, {"type": "array", "items": label, "minItems": 1}]})
    }
}

/// A list of rules, or the word for some.
pub(in crate::contract) struct FlowRules;

impl Read for FlowRules {
    type Output = Vec<FlowRule>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        match &node.kind {
            Kind::Scalar { text, .. } if text == TRIFECTA => Some(vec![FlowRule::trifecta()]),
            Kind::Scalar { .. } | Kind::Map(_) => {
                reporter.expected(node, "a list of rules, or `trifecta`");
                None
            }
            Kind::List(_) => Vec::<FlowRule>::read(node, reporter),
        }
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [{"const": TRIFECTA}, Vec::<FlowRule>::schema(definitions)]})
    }
}
