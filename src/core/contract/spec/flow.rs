//! Reads the rules of `labels` and of `flow`. Does not judge whether they say anything of the tools that there are.

use serde_json::Value;

use super::flow_values::Labels;
use super::form::{Read, Schemas};
use super::keys::{FLOW_RULE, LABEL_RULE};
use super::reporter::Reporter;
use super::section::Section;
use super::tree::Node;
use crate::contract::{FlowRule, LabelRule};

impl Read for LabelRule {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &LABEL_RULE, |section| {
            let tool = section.get(&LABEL_RULE.tool);
            let labels = section.get(&LABEL_RULE.labels);
            let Labels(labels) = labels?;
            Some(Self {
                labels,
                tool: tool?,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&LABEL_RULE)
    }
}

impl Read for FlowRule {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &FLOW_RULE, |section| {
            let from = section.get(&FLOW_RULE.from);
            let to = section.get(&FLOW_RULE.to);
            let unless_given = section.get(&FLOW_RULE.unless_given).unwrap_or_default();
            let action = section.get(&FLOW_RULE.action);
            let Labels(from) = from?;
            Some(Self {
                action: action?,
                from,
                to,
                unless_given,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&FLOW_RULE)
    }
}
