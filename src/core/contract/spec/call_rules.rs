//! Reads the rules about calls. Judges no call.

use serde_json::Value;

use super::form::{Read, Schemas};
use super::keys::{APPROVAL_RULE, CYCLE_EXCEPTION};
use super::reporter::Reporter;
use super::section::Section;
use super::tree::Node;
use crate::contract::{ApprovalRule, CycleException};

impl Read for CycleException {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &CYCLE_EXCEPTION, |section| {
            let from = section.get(&CYCLE_EXCEPTION.from);
            let to = section.get(&CYCLE_EXCEPTION.to);
            let max = section.get(&CYCLE_EXCEPTION.max);
            Some(Self {
                from: from?,
                max: max?,
                to: to?,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&CYCLE_EXCEPTION)
    }
}

impl Read for ApprovalRule {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &APPROVAL_RULE, |section| {
            let action = section.get(&APPROVAL_RULE.action);
            let arguments = section.get(&APPROVAL_RULE.arguments);
            let tool = section.get(&APPROVAL_RULE.tool);
            Some(Self {
                action: action?,
                arguments,
                tool: tool?,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&APPROVAL_RULE)
    }
}
