//! The record of a decision by a rule of `flow`, and of the text that tainted the call. Decides nothing.

use serde::{Deserialize, Serialize};

use crate::contract::{FlowAction, Label};

/// A call that a rule of `flow` decided about (semantics §6), and what tainted it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowRecord {
    /// The rule's action on the call.
    pub action: FlowAction,
    /// The call's id in its message; of one in a container, the container's id, a slash, and its number from 1.
    pub call: String,
    /// The rule's place in the contract's `flow`, from 0.
    pub rule: u32,
    /// For each label of the rule the result that showed it first.
    pub seen: Vec<FlowSource>,
    /// The exposed tool name of the call.
    pub tool: String,
}

impl FlowRecord {
    /// The rule, the call and what tainted it, for people: `flow.0 denies send: the model has seen untrusted (entry 5: search)`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let seen = self.seen.iter().map(|source| {
            let FlowSource { entry, label, tool } = source;
            match tool.as_str() {
                "" => format!("{label} (entry {entry}: inherited)"),
                tool => format!("{label} (entry {entry}: {tool})"),
            }
        });
        let seen: Vec<String> = seen.collect();
        let does = match self.action {
            FlowAction::Ask => "has a person asked about",
            FlowAction::Deny => "denies",
        };
        let (rule, tool, seen) = (self.rule, &self.tool, seen.join(", "));
        format!("flow.{rule} {does} {tool}: the model has seen {seen}")
    }
}

/// A result that the model was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSource {
    /// The entry that records it; 0 for one of an earlier run.
    pub entry: u64,
    /// The label that it showed.
    pub label: Label,
    /// The tool that it is of; empty for inherited text whose tool is not stated.
    pub tool: String,
}
