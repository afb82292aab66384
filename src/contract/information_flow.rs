//! Where data may flow: how the results of tools are labelled, and which calls may not follow which results. Plain data and what it
//! says of a tool; what a run has seen is the kernel's (docs/design/information-flow.md).

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Terms;
use super::offered_tools::BUILTIN;
use super::tool_pattern::pattern_takes;

/// Tools inside monolith whose results come from nowhere but the call and the clock.
const TRUSTED_BUILTINS: [&str; 2] = ["clock", "echo"];
/// Tools inside monolith whose results come from the workspace.
const WORKSPACE_BUILTINS: [&str; 7] = [
    "apply_patch",
    "edit_file",
    "glob",
    "grep",
    "list_directory",
    "read_file",
    "write_file",
];
/// Tools inside monolith whose results come from the network.
const NETWORK_BUILTINS: [&str; 1] = ["http_get"];

/// Where a result comes from, and whom it may reach.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Not everyone may read it.
    Private,
    /// Neither of the others; it stands alone.
    Trusted,
    /// A stranger may have written it, instructions to the model included.
    Untrusted,
}

/// How the results of tools are labelled. The first rule that takes a tool's name decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// The labels.
    pub labels: BTreeSet<Label>,
    /// Exposed name of a tool; `*` stands for any characters.
    pub tool: String,
}

/// What is done with a call that a rule of `flow` holds for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FlowAction {
    /// A person is asked first.
    Ask,
    /// It is not made.
    Deny,
}

/// A flow of data that needs a person, or may not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowRule {
    /// What is done with such a call.
    pub action: FlowAction,
    /// The rule holds once the model was shown results of all these labels.
    pub from: BTreeSet<Label>,
    /// Exposed name of the tools that may not be called then; `*` stands for any characters. Left out: every tool that may send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Arguments. The rule does not hold for a call whose values of them all stand in what is not so labelled: the system prompt, the
    /// user's messages, other results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless_given: Vec<String>,
}

impl FlowRule {
    /// `flow: trifecta`: private data, a stranger's words, and a way out.
    #[must_use]
    pub(crate) fn trifecta() -> Self {
        Self {
            action: FlowAction::Ask,
            from: BTreeSet::from([Label::Private, Label::Untrusted]),
            to: None,
            unless_given: Vec::new(),
        }
    }

    /// Its labels as a sentence names them.
    #[must_use]
    pub(crate) fn from_words(&self) -> String {
        let words: Vec<&str> = self.from.iter().map(|label| label.word()).collect();
        words.join(" and ")
    }
}

impl Label {
    /// As a contract writes it.
    #[must_use]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Terms {
    /// The labels of a tool's results, `trusted` left out: by the first rule of `labels` that takes its name, else by its kind.
    ///
    /// A tool that is not pinned is one of an earlier run: nothing is known of it, so its results have every label.
    #[must_use]
    pub(crate) fn labels_of(&self, tool: &str) -> BTreeSet<Label> {
        let stated = self.labels.iter().find(|r| pattern_takes(&r.tool, tool));
        let mut labels = match stated {
            Some(rule) => rule.labels.clone(),
            None => self.labels_by_kind(tool),
        };
        labels.remove(&Label::Trusted);
        labels
    }

    fn labels_by_kind(&self, tool: &str) -> BTreeSet<Label> {
        let builtin = self.tool(tool).is_some_and(|t| t.origin == BUILTIN);
        if builtin && TRUSTED_BUILTINS.contains(&tool) {
            BTreeSet::new()
        } else if builtin && WORKSPACE_BUILTINS.contains(&tool) {
            BTreeSet::from([Label::Private])
        } else if builtin && NETWORK_BUILTINS.contains(&tool) {
            BTreeSet::from([Label::Untrusted])
        } else {
            BTreeSet::from([Label::Private, Label::Untrusted])
        }
    }

    /// Whether a call of the tool may carry data away: its pinned annotations do not say `openWorldHint: false`.
    #[must_use]
    pub(crate) fn may_send(&self, tool: &str) -> bool {
        let pinned = self.tool(tool);
        let hint = pinned.and_then(|tool| tool.annotations.get("openWorldHint"));
        hint.and_then(serde_json::Value::as_bool) != Some(false)
    }

    /// Whether a rule of `flow` is about calls of the tool.
    #[must_use]
    pub(crate) fn flow_reaches(&self, rule: &FlowRule, tool: &str) -> bool {
        match &rule.to {
            Some(pattern) => pattern_takes(pattern, tool),
            None => self.may_send(tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::tests::make;

    fn labels(sets: &[&str], tool: &str) -> Vec<Label> {
        make(sets).labels_of(tool).into_iter().collect()
    }

    #[test]
    fn the_first_rule_that_takes_a_tool_labels_its_results_and_else_its_kind_does() {
        let rules =
            "labels=[{tool: read_file, labels: trusted}, {tool: 'read*', labels: [untrusted]}]";
        assert_eq!(labels(&[rules], "read_file"), []);
        assert_eq!(labels(&[rules], "list_directory"), [Label::Private]);
        assert_eq!(labels(&[], "read_file"), [Label::Private]);
        let both = [Label::Private, Label::Untrusted];
        assert_eq!(labels(&[], "of_an_earlier_run"), both);
        assert_eq!(
            labels(&[rules], "read_of_an_earlier_run"),
            [Label::Untrusted]
        );
    }

    #[test]
    fn a_tool_may_send_unless_its_annotations_say_that_it_reaches_nothing() {
        let mut contract = (*make(&[])).clone();
        assert!(contract.tool("read_file").is_some());
        for (hint, expect) in [
            (serde_json::json!({"openWorldHint": false}), false),
            (serde_json::json!({"openWorldHint": true}), true),
            (serde_json::json!({"openWorldHint": "false"}), true),
            (serde_json::json!({}), true),
            (serde_json::Value::Null, true),
        ] {
            for tool in &mut contract.tools {
                tool.annotations = hint.clone();
            }
            assert_eq!(contract.may_send("read_file"), expect, "{hint}");
        }
    }
}
